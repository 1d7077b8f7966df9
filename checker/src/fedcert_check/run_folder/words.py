"""What a check says of a whole run, in lines."""

from collections import Counter
from collections.abc import Iterator

from fedcert_check.confidence.level import allowed, confidence_words
from fedcert_check.percent import percent_down, percent_up
from fedcert_check.run_folder.compare import WORDS, Comparison
from fedcert_check.run_folder.confident import Recounted
from fedcert_check.run_folder.page import PAGE
from fedcert_check.run_folder.report import RunReport
from fedcert_check.visible import visible
from fedcert_check.words import over


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """What came of holding the run's files against its certificates.

    Args:
        comparison: what was found.
    """
    for finding in comparison.findings:
        yield f"DISAGREES: {finding.line}"
    for line in comparison.unreadable:
        yield f"NOT READABLE: {line}"
    yield from comparison.notes


def confidence_sentence(own: Recounted) -> str:
    """The verdict on a confidence bound as a sentence.

    Args:
        own: what was found.
    """
    statement, subject = own.statement, own.subject
    below, above = own.claimed_mean
    count = len(statement.properties)
    failed = f" ({len(own.failures)} of {count} properties are not)" if own.failures else ""
    clients = statement.rule.clients
    about = "the property holds" if subject is None else subject.describe_one()
    noun = "properties" if subject is None else subject.noun
    return (
        f"{own.outcome}{failed}: at a confidence of {confidence_words(1 - allowed(statement.beta))}, from"
        f" {statement.draws:,} drawn models, {over(count, noun)}, {about} with probability at least"
        f" {percent_down(below)} and at most {percent_up(above)}, for the model"
        f" that {statement.rule.name} makes of a draw from the posterior of each of {clients} clients"
    )


def last_line(report: RunReport) -> str:
    """The verdict on all of it, in one line.

    Args:
        report: of the check.
    """
    parts = [_certificates(report)] if report.outcomes or not report.confidence else []
    parts += [_confidence(report)] if report.confidence else []
    comparison, wrong = report.comparison, _wrong(report.comparison)
    if wrong and report.outcomes and all(own.verdict for own in report.reports) and not report.refused:
        parts[0] += " proved"
        return visible(f"{report.verdict}: {'; '.join(parts)}, but {wrong}")
    parts += [wrong] if wrong else []
    if report.refused:
        rest = "it" if len(report.refused) == 1 else "them"
        parts.append(f"nothing is said of the claims that rest on {rest}")
    elif comparison is not None and not wrong:
        parts.append(_follows(comparison))
    return visible(f"{report.verdict}: {'; '.join(parts)}")


def _wrong(comparison: Comparison | None) -> str:
    """That files do not follow from the certificates; nothing where they do."""
    if comparison is None or comparison.agrees:
        return ""
    wrong = len(comparison.findings) + len(comparison.unreadable)
    return f"the run's files do not follow from them: {wrong} line{'s' if wrong > 1 else ''} above"


def _follows(comparison: Comparison) -> str:
    """Which files follow from the certificates, and how much of the page."""
    if not comparison.compared:
        return "nothing else was compared"
    if WORDS not in comparison.notes:
        return f"all claims of {_list(comparison.compared)} follow from them"
    rest = tuple(name for name in comparison.compared if name != PAGE)
    return (
        f"all claims of {_list(rest)} follow from them; {PAGE}: its marked bounds and sentences follow; its"
        " pictures and other words are not checked"
    )


def _certificates(report: RunReport) -> str:
    count = len(report.outcomes)
    noun = f"{count} certificate{'' if count == 1 else 's'}"
    refused = count - len(report.reports)
    if refused:
        return f"{refused} of {noun} could not be checked"
    proved = sum(own.verdict for own in report.reports)
    sampled = [own for own in report.reports if own.sampled]
    if sampled:
        looked_at = sum(len(own.proved) for own in report.reports)
        properties = sum(len(own.document.properties) for own in report.reports)
        seed = "" if report.sample is None else f", seed {report.sample.seed}"
        failed = sum(bool(own.failures) for own in report.reports)
        result = f"{failed} of {noun} refuted" if failed else f"{noun}"
        return f"{result} (sampled: {looked_at} of {properties} properties{seed})"
    return noun if proved == count else f"{count - proved} of {noun} not proved"


def _confidence(report: RunReport) -> str:
    count = len(report.confidence)
    noun = f"{count} confidence bound{'' if count == 1 else 's'}"
    outcomes = Counter(own.outcome for own in report.recounted)
    refused = count - len(report.recounted)
    if refused:
        outcomes["could not be checked"] += refused
    if len(outcomes) == 1:
        return f"{noun} {next(iter(outcomes))}"
    return f"{noun}: {', '.join(f'{number} {what}' for what, number in sorted(outcomes.items()))}"


def _list(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
