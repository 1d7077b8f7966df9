"""What a run says in the terminal: a table of all claims at all radii."""

from collections.abc import Iterator
from typing import Literal

from fedcert.app.records import ConfidenceRow, RadiusRow, Row, Summary
from fedcert.app.report import table as data
from fedcert.app.report.run_content import empty_families
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.words import (
    asked,
    chosen_inputs,
    network_words,
    noun,
    participants,
    posterior_scale,
    radius_down,
    radius_name,
)
from fedcert_check.confidence.level import confidence_words
from fedcert_check.percent import bounds
from fedcert_check.subject import singular

NAMES: tuple[Literal["rule", "events"], ...] = ("rule", "events")
CERTIFIED = "certified, %"
"""The heading of the bounds; the columns before it say what is bounded."""


def run_rows(summary: Summary) -> data.Table:
    """Every claim at every radius; a family of events that proves nothing anywhere is named below instead.

    Args:
        summary: the content of result.json.
    """
    config, run = summary["config"], FinishedRun(summary, ())
    title = (
        f"{config['dataset']}, {participants(summary)}, {network_words(config)},"
        f" scale {posterior_scale(config)}"
    )
    empty = empty_families(summary)
    shown = [row for row in summary["summary"] if row["events"] not in empty]
    naming = _naming(shown, config["rule"])
    names = (radius_name(summary), "claim", *naming, CERTIFIED, "survive, %", "re-proved", "s")
    rows = [_row(run, row, naming) for row in shown]
    return data.Table("summary", title, _caption(summary, empty), [*map(data.Column, names)], rows)


def further_lines(summary: Summary) -> Iterator[str]:
    """What else was found: certified radii, rounded down, and confidence bounds, rounded outward.

    Args:
        summary: the content of result.json.
    """
    for radii in summary["radii"]:
        mean, median = radius_down(radii["mean"]), radius_down(radii["median"])
        level = f"probability at least {100 * radii['threshold']:g} %"
        what = singular(noun(summary))
        of = f"{'an' if what == 'input' else 'a'} {what}"
        found = f"mean {mean}, median {median}, {_reproved(radii)}"
        yield f"certified {radius_name(summary)} of {of} ({level}): {found}"
    for row in summary["confidence"]:
        level = f"{confidence_words(row['confidence'])}, {row['draws']:,} draws"
        limits = bounds(row["lower"], row["upper"])
        found = f"{limits} %, {_reproved(row)}"
        yield f"confidence bound ({level}), {radius_name(summary)} {row['epsilon']:g}: {found}"


def _reproved(row: RadiusRow | ConfidenceRow) -> str:
    return "re-proved" if row["reproved"] else "not re-proved"


def _naming(rows: list[Row], deployed: str) -> tuple[Literal["rule", "events"], ...]:
    """Columns that are needed to tell the claims apart; the deployed rule stands below the table."""
    rules, events = {row["rule"] for row in rows}, {row["events"] for row in rows}
    needed = (rules - {deployed}, len(events) > 1)
    return tuple(name for name, own in zip(NAMES, needed, strict=True) if own)


def _row(run: FinishedRun, row: Row, naming: tuple[Literal["rule", "events"], ...]) -> list[data.Value]:
    rule = row["rule"] if row["claim"] != "local" else ""  # local claims concern no deployed model
    seconds = f"{row['seconds']:.1f}" if row["seconds"] < 100 else f"{row['seconds']:.0f}"
    return [
        data.Item(f"{row['epsilon']:g}", row["epsilon"]),
        row["claim"],
        *(row[name] for name in naming),
        data.Item(bounds(row["lower"], row["upper"]), row["lower"]),
        data.percent(run.estimate("attack-survival", row["epsilon"]).get(rule)),
        "yes" if row["reproved"] else "no",
        data.Item(seconds, row["seconds"]),
    ]


def _balls(summary: Summary) -> str:
    balls = {
        "weighted-linf": "boxes of so many measurement errors",
        "box": "stated boxes, widened by so much",
    }
    return balls.get(summary["norm"], "ℓ∞ balls of the radius")


def _accuracy(summary: Summary) -> Iterator[str]:
    found = summary["inputs"]["accuracy"]
    where = "at the centres of these boxes" if summary["norm"] == "box" else "on these inputs"
    if found is not None:
        yield f"accuracy of the mean model {where}: {100 * found:.1f} %"


def _by_client(summary: Summary) -> Iterator[str]:
    each = [f"{own['client']} {100 * own['accuracy']:.1f} %" for own in summary.get("accuracy_by_client", ())]
    if each:
        yield f"its accuracy by client, on all their test inputs: {', '.join(each)}"


def _caption(summary: Summary, empty: list[str]) -> str:
    inputs = summary["inputs"]
    events = dict.fromkeys(row["events"] for row in summary["summary"] if row["events"] not in empty)
    lines = [
        f"{noun(summary)}: {chosen_inputs(inputs, noun(summary))}; {_balls(summary)}; rule"
        f" {summary['config']['rule']}; events {', '.join(events) or 'none'}",
        f"certified: proven bounds [L, U], or L alone, of the expected share of {asked(summary)}",
        *_accuracy(summary),
        *_by_client(summary),
        "survive: share that an attack does not break, an estimate",
    ]
    claimed = {name for row in summary["summary"] for name in row["events"].split("+")}
    without = [name for name in summary["config"].get("events", ()) if name not in claimed]
    if without:
        lines.append(f"no claim under these laws and this rule: {', '.join(without)}")
    if empty:
        lines.append(f"proven nowhere (0.00 at every radius): {', '.join(empty)}")
    return "\n".join(lines)
