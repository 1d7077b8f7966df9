"""The tables of one run, from the contents of its files."""

from fedcert.app.report.job import estimate
from fedcert.app.report.sheet import Heading, Item, Sheet, item, lower, share, upper
from fedcert.app.result import Summary, claim_of


def certificates(summary: Summary) -> Sheet:
    """Every claim with its bounds, beside the estimates of the same rule.

    Args:
        summary: the content of result.json.
    """
    mc, survival = estimate(summary, "mc-ibp"), estimate(summary, "attack-survival")
    headings = [
        *map(Heading, ("claim", "rule", "events")),
        Heading("at least, %", True, "proven"),
        Heading("at most, %", True, "proven"),
        Heading("MC–IBP, %", True, "estimated"),
        Heading("survives attack, %", True, "estimated"),
        Heading("seconds", True),
    ]
    rows = [
        [
            *map(item, claim_of(row)),
            lower(row["lower"]),
            upper(row["upper"]),
            *(share(values.get(row["rule"] if row["claim"] != "local" else "")) for values in (mc, survival)),
            item(row["seconds"]),
        ]
        for row in summary["summary"]
    ]
    caption = (
        "Proven bounds of the probability that the model is safe, mean over the properties; lower bounds"
        " are rounded down, upper bounds up. “Local” speaks of the clients’ own models, not of the deployed"
        " one. Estimates are no bounds."
    )
    return Sheet("certificates", "Certificates", caption, headings, rows)


def estimates(summary: Summary) -> Sheet:
    """Shares of sampled networks.

    Args:
        summary: the content of result.json.
    """
    headings = [
        Heading("estimate"),
        Heading("rule"),
        Heading("share, %", True),
        Heading("from", True, "95 % interval"),
        Heading("to", True, "95 % interval"),
        Heading("samples", True),
    ]
    rows = [
        [
            item(row["name"]),
            item(row["rule"]),
            share(row["value"]),
            *map(share, row["confidence_interval"]),
            item(row["samples"]),
        ]
        for row in summary["estimates"]
    ]
    caption = (
        "Shares of sampled networks: those that interval bounds prove safe (mc-ibp, aggregated-sampling)"
        " and those that an attack does not break (attack-survival). Diagnostics, not bounds."
    )
    return Sheet("estimates", "Estimates", caption, headings, rows)


def federation(summary: Summary) -> Sheet | None:
    """The label histogram of each client, where it is known.

    Args:
        summary: the content of result.json.
    """
    histograms = summary["histograms"]
    if histograms is None:
        return None
    most = max(1, max(map(max, histograms)))
    classes = [Heading(str(k), True, "class") for k in range(len(histograms[0]))]
    rows = [
        [
            item(client["client"]),
            item(client["examples"]),
            *(Item(str(count), count, count / most) for count in counts),
        ]
        for client, counts in zip(summary["clients"], histograms, strict=True)
    ]
    caption = "How many examples of each class each client holds."
    headings = [Heading("client"), Heading("examples", True), *classes]
    return Sheet("histograms", "Label histogram of each client", caption, headings, rows)


def messages(summary: Summary) -> Sheet:
    """What each client sent.

    Args:
        summary: the content of result.json.
    """
    headings = [Heading("client"), Heading("examples", True), Heading("message (SHA-256)")]
    rows = [
        [item(client["client"]), item(client["examples"]), item(client["digest"])]
        for client in summary["clients"]
    ]
    return Sheet("messages", "Messages", "Certificates name the messages by these digests.", headings, rows)


def times(summary: Summary) -> Sheet:
    """Where the time went.

    Args:
        summary: the content of result.json.
    """
    rows = [[item(stage), item(seconds)] for stage, seconds in summary["timings"].items()]
    caption = (
        "Seconds of wall-clock time in the process that finished the run; of training, wherever it was done."
    )
    return Sheet("times", "Times", caption, [Heading("stage"), Heading("seconds", True)], rows)
