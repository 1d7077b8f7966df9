"""The tables of one run, from the contents of its files."""

from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.table import Column, Item, Table, Value, percent
from fedcert.app.result import claim_of


def certificates(run: FinishedRun) -> Table:
    """Every claim with its bounds, beside the estimates of the same rule."""
    mc, survival = run.estimate("mc-ibp"), run.estimate("attack-survival")
    columns = [
        *map(Column, ("claim", "rule", "events")),
        Column("at least, %", group="proven", rounding="down"),
        Column("at most, %", group="proven", rounding="up"),
        Column("MC–IBP, %", group="estimated"),
        Column("survives attack, %", group="estimated"),
        Column("seconds"),
    ]
    rows = [
        [
            *claim_of(row),
            percent(row["lower"]),
            percent(row["upper"]),
            *(percent(known.get(row["rule"] if row["claim"] != "local" else "")) for known in (mc, survival)),
            row["seconds"],
        ]
        for row in run.summary["summary"]
    ]
    caption = (
        "Proven bounds of the probability that the model is safe, mean over the properties; lower bounds"
        " are rounded down, upper bounds up. “Local” speaks of the clients’ own models, not of the deployed"
        " one. Estimates are no bounds."
    )
    return Table("certificates", "Certificates", caption, columns, rows)


def estimates(run: FinishedRun) -> Table:
    """Shares of sampled networks."""
    columns = [
        Column("estimate"),
        Column("rule"),
        Column("share, %"),
        Column("from", group="95 % interval"),
        Column("to", group="95 % interval"),
        Column("samples"),
    ]
    rows = [
        [
            row["name"],
            row["rule"],
            *map(percent, (row["value"], *row["confidence_interval"])),
            row["samples"],
        ]
        for row in run.summary["estimates"]
    ]
    caption = (
        "Shares of sampled networks: those that interval bounds prove safe (mc-ibp, aggregated-sampling)"
        " and those that an attack does not break (attack-survival). Diagnostics, not bounds."
    )
    return Table("estimates", "Estimates", caption, columns, rows)


def federation(run: FinishedRun) -> Table | None:
    """The label histogram of each client, where it is known."""
    histograms = run.summary["histograms"]
    if histograms is None:
        return None
    most = max(1, max(map(max, histograms)))
    classes = [Column(str(k), group="class") for k in range(len(histograms[0]))]
    rows: list[list[Value]] = [
        [
            client["client"],
            client["examples"],
            *(Item(str(count), count, count / most) for count in counts),
        ]
        for client, counts in zip(run.summary["clients"], histograms, strict=True)
    ]
    caption = "How many examples of each class each client holds."
    columns = [Column("client"), Column("examples"), *classes]
    return Table("histograms", "Label histogram of each client", caption, columns, rows)


def messages(run: FinishedRun) -> Table:
    """What each client sent."""
    columns = [Column("client"), Column("examples"), Column("message (SHA-256)")]
    rows: list[list[Value]] = [
        [client["client"], client["examples"], client["digest"]] for client in run.summary["clients"]
    ]
    return Table("messages", "Messages", "Certificates name the messages by these digests.", columns, rows)


def times(run: FinishedRun) -> Table:
    """Where the time went."""
    caption = (
        "Seconds of wall-clock time in the process that finished the run; of training, wherever it was done."
    )
    rows = list(run.summary["timings"].items())
    return Table("times", "Times", caption, [Column("stage"), Column("seconds")], rows)
