"""What a check says of a certificate, in words: what was proved, of which inputs, rule and clients."""

from collections.abc import Iterator

from fedcert_check.checking import Report, Verdict
from fedcert_check.digest import digest
from fedcert_check.document import Document
from fedcert_check.laws import is_exact
from fedcert_check.percent import percent_down, percent_up
from fedcert_check.stated import StatedGaussian
from fedcert_check.subject import Subject, singular

MAX_LISTED = 10  # clients, or layers
UNPROVED = "stated by its maker, not proved: these are"


def claim_name(document: Document) -> str:
    """Kind, rule and events, and the radius and a margin where they are stated.

    Args:
        document: the certificate.
    """
    subject = document.subject
    name = f"{document.kind} {document.rule.name} {document.events}"
    if subject is None:
        return name
    radius, margin = subject.common_radius, subject.margin
    at = f"{name} {radius!r}" if radius is not None else f"{name} radii"
    return f"{at} margin {margin!r}" if margin else at


def sentence(report: Report) -> str:
    """The verdict on a certificate as a sentence.

    Args:
        report: of the checker.
    """
    document = report.document
    count, looked_at = len(document.properties), len(report.proved)
    match report.outcome:
        case Verdict.PROVED:
            return f"proved: {statement(document, report.claimed_mean)}"
        case Verdict.NOT_REFUTED:
            begins = f"not refuted (sampled: {looked_at} of {count} properties)"
        case _:
            of = f"of {count}" if not report.sampled else f"of {looked_at} sampled, {count} in all,"
            begins = f"NOT PROVED ({len(report.failures)} {of} properties are not)"
    return f"{begins}: the claim is: {statement(document, report.claimed_mean)}"


def statement(document: Document, mean: tuple[float, float | None]) -> str:
    """What a certificate claims, in words.

    Args:
        document: the certificate.
        mean: of the claimed bounds over the properties, rounded to what they prove.
    """
    return f"{_asked(document)} {_probability(document, mean)}, {_drawn(document)}"


def subject_lines(subject: Subject) -> Iterator[str]:
    """The digest of what a certificate speaks about, and what its maker states of it.

    Args:
        subject: of the certificate.
    """
    yield f"digest of {subject.contents}: {subject.digest}"
    yield f"{UNPROVED} {subject.describe_choice()}"


def clients_line(document: Document) -> str:
    """Which clients a certificate is about, by name and digest.

    Args:
        document: the certificate.
    """
    listed = ", ".join(f"{client.name} {client.digest[:12]}" for client in document.clients[:MAX_LISTED])
    more = len(document.clients) - MAX_LISTED
    return f"clients, by name and message: {listed}{f' and {more} more' if more > 0 else ''}"


def _asked(document: Document) -> str:
    """Over what the mean of the bounds is taken, and what is asked."""
    subject, count = document.subject, len(document.properties)
    if subject is None:
        return f"{over(count, 'properties')}, the property holds ({subject_line(document)})"
    if subject.common_radius is None:
        reached = int((subject.radius > 0).sum())
        return f"for each of the {reached:,} {subject.noun} with a radius above 0, {subject.describe_one()}"
    return f"{over(count, subject.noun)}, {subject.describe_one()}"


def over(count: int, noun: str) -> str:
    """Over what a mean is taken.

    >>> over(10, "inputs"), over(1, "inputs")
    ('on average over 10 inputs', 'for 1 input')

    Args:
        count: of the properties.
        noun: what they are: inputs, boxes or properties.
    """
    return f"for 1 {singular(noun)}" if count == 1 else f"on average over {count:,} {noun}"


def _probability(document: Document, mean: tuple[float, float | None]) -> str:
    subject = document.subject
    if subject is not None and subject.common_radius is None:
        reached = document.lower[subject.radius > 0]
        return f"with probability at least {percent_down(float(reached.min()) if reached.size else 0.0)}"
    below, above = mean
    most = "" if above is None else f" and at most {percent_up(above)}"
    return f"with probability at least {percent_down(below)}{most}"


def _drawn(document: Document) -> str:
    count = len(document.clients)
    clients = f"{count} client{'' if count == 1 else 's'}"
    if not all(is_exact(client.law) for client in document.clients):
        return (
            f"for a model drawn from the law that {document.rule.name} makes of the posteriors of which"
            f" {document.clients[0].name} is the sum, whatever it is within the stated errors"
        )
    if document.kind == "local":
        return f"for a client's own model, drawn from its posterior, on average over {clients}"
    if isinstance(document.rule, StatedGaussian):
        return (
            f"for a model drawn from the law that {document.rule.name} makes of the posteriors of {clients}"
        )
    return f"for the model that {document.rule.name} makes of a draw from the posterior of each of {clients}"


def subject_line(document: Document) -> str:
    """What a certificate speaks about where it does not say so itself.

    Args:
        document: the certificate.
    """
    asked = document.properties
    named = {"lower": asked.lower, "upper": asked.upper, "C": asked.C, "d": asked.d}
    widths = [str(width) for width in document.network.widths]
    deep = "" if len(widths) <= MAX_LISTED else f"-…-{widths[-1]}"
    return (
        f"of {len(asked)} properties ({digest({}, named)[:12]}),"
        f" network {'-'.join(widths[:MAX_LISTED])}{deep}"
    )
