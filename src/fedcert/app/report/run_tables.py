"""The tables of one run, from the contents of its files."""

from collections.abc import Sequence

from fedcert.app.records import AtRadius, ConfidenceRow, Row, Sampled
from fedcert.app.report.bounds import Bounds, stated_name
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.table import Column, Item, Table, Value, bound, percent
from fedcert.app.report.words import asked, distinct, noun, radius_name
from fedcert.app.result import claim_of
from fedcert_check.confidence.level import confidence_words


def certificates(run: FinishedRun, left_out: Sequence[str] = ()) -> Table:
    """Every claim at every radius with its bounds.

    Args:
        run: the run.
        left_out: families of events that prove nothing anywhere, which the caption names instead.
    """
    columns = [
        *map(Column, (radius_name(run.summary), "claim")),
        Column("at least, %", group="certified"),
        Column("at most, %", group="certified"),
        *map(Column, ("re-proved", "rule", "events")),
        Column("seconds", 1),
    ]
    rows: list[list[Value]] = [
        [
            _radius(row),
            row["claim"],
            *_bounds(row),
            _yes(row["reproved"]),
            row["rule"],
            row["events"],
            row["seconds"],
        ]
        for row in run.summary["summary"]
        if row["events"] not in left_out
    ]
    empty = f" {', '.join(left_out)}: 0.00 at every radius, not listed." if left_out else ""
    caption = (
        f"Proven bounds of the expected share of {asked(run.summary)}, rounded outward."
        " “Local” speaks of the clients’ own models, not of the deployed one. Re-proved: by the independent"
        f" checker, when the run was made.{empty}"
    )
    return Table("certificates", "Certificates", caption, columns, rows)


def margins(run: FinishedRun) -> Table | None:
    """The certificates for other margins, from which softmax decisions follow; None if there are none."""
    columns = [
        *map(Column, (radius_name(run.summary), "margin", "claim", "rule", "events")),
        Column("at least, %", rounding="down"),
        *map(Column, ("re-proved", "seconds")),
    ]
    rows: list[list[Value]] = [
        [
            _radius(row),
            Item(f"{row['margin']:g}", row["margin"]),
            *claim_of(row),
            percent(row["lower"]),
            _yes(row["reproved"]),
            row["seconds"],
        ]
        for row in run.summary["margins"]
    ]
    caption = "The label wins by at least this margin; the decision by mean softmax follows from these."
    return Table("margins", "Certificates at other margins", caption, columns, rows) if rows else None


def radii(run: FinishedRun) -> Table | None:
    """The certified radii, by threshold; None if none were searched for."""
    columns = [
        *map(Column, ("probability at least, %", "claim", "rule", "events")),
        *(
            Column(name, 5, group=f"certified {radius_name(run.summary)}", rounding="down")
            for name in ("mean", "median")
        ),
        *map(Column, ("re-proved", "seconds")),
    ]
    rows: list[list[Value]] = [
        [
            Item(f"{100 * row['threshold']:g}", row["threshold"]),
            *claim_of(row),
            row["mean"],
            row["median"],
            _yes(row["reproved"]),
            row["seconds"],
        ]
        for row in run.summary["radii"]
    ]
    caption = (
        f"Over all {noun(run.summary)}; 0 counts for one of which not even that much is proven at radius 0."
    )
    if noun(run.summary) == "inputs":
        caption = "Over all inputs; 0 counts for an input of which not even the point itself is proven."
    return Table("radii", "Certified radii", caption, columns, rows) if rows else None


def confidence(run: FinishedRun) -> Table | None:
    """The confidence bounds; None if there are none."""
    levels = distinct(confidence_words(row["confidence"]) for row in run.summary["confidence"])
    columns = [
        *map(Column, (radius_name(run.summary), "rule")),
        Column("at least, %", rounding="down", group="confidence bound"),
        Column("at most, %", rounding="up", group="confidence bound"),
        *(Column(name, group="drawn models, %") for name in ("proven safe", "broken")),
        *map(Column, ("draws", "re-proved", "seconds")),
    ]
    rows: list[list[Value]] = [
        [
            _radius(row),
            row["rule"],
            *(percent(row[name]) for name in ("lower", "upper", "proven", "broken")),
            row["draws"],
            _yes(row["reproved"]),
            row["seconds"],
        ]
        for row in run.summary["confidence"]
    ]
    caption = (
        f"Limits for all inputs together, wrong with probability at most 1 − {' or '.join(levels)} over the"
        " draws: neither a certificate nor an estimate."
    )
    title = f"Confidence bound ({', '.join(levels)})"
    return Table("confidence", title, caption, columns, rows) if rows else None


def estimates(run: FinishedRun) -> Table:
    """The Monte Carlo estimates: shares of sampled networks."""
    columns = [
        Column(radius_name(run.summary)),
        Column("estimate"),
        Column("rule"),
        Column("share, %"),
        Column("from", group="95 % interval"),
        Column("to", group="95 % interval"),
        Column("samples"),
    ]
    rows: list[list[Value]] = [
        [
            _radius(row),
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
    """The label histogram of each client; None if it is not known."""
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
    """The clients that took part, with the digests of their messages."""
    columns = [Column("client"), Column("examples"), Column("message (SHA-256)")]
    rows: list[list[Value]] = [
        [client["client"], client["examples"], client["digest"]] for client in run.summary["clients"]
    ]
    return Table("messages", "Messages", "Certificates name the messages by these digests.", columns, rows)


def times(run: FinishedRun) -> Table:
    """The seconds that each stage took."""
    caption = (
        "Seconds of wall-clock time in the process that finished the run; of training, wherever it was done."
    )
    rows = list(run.summary["timings"].items())
    return Table("times", "Times", caption, [Column("stage"), Column("seconds")], rows)


def _radius(row: AtRadius | ConfidenceRow | Sampled) -> Item:
    return Item(f"{row['epsilon']:g}", row["epsilon"])


def _bounds(row: Row) -> list[Item]:
    shown, name = Bounds.of(row, {}), stated_name(row)
    return [bound(shown.least, name, "lower", row["lower"]), bound(shown.most, name, "upper", row["upper"])]


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"
