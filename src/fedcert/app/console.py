"""What a run or a grid shows in the terminal: its table of certificates."""

from collections.abc import Sequence

from rich.table import Table

from fedcert.app.report.grid_sheets import federations, overview, typical
from fedcert.app.report.job import Job
from fedcert.app.result import Summary
from fedcert_check.percent import bounds


def summary_table(summary: Summary) -> Table:
    """The certificates of a run, beside accuracy and MC–IBP.

    Args:
        summary: the content of result.json.
    """
    config = summary["config"]
    hidden = "×".join(str(width) for width in config["hidden"])
    table = Table(
        title=f"{config['dataset']}, {participants(summary)}, hidden {hidden},"
        f" scale {config['scale']}, {config['properties']} properties",
        caption="certified: proven bounds [L, U], or L alone, mean over properties\n"
        f"MC–IBP, attack survival: estimates in %; accuracy {100 * summary['accuracy']:.1f} %",
        padding=(0, 1, 0, 0),  # the longest names fit 80 columns
    )
    for name in ("claim", "rule", "events"):
        table.add_column(name, no_wrap=True)
    for name in ("certified, %", "MC–IBP", "attack", "s"):
        table.add_column(name, justify="right", no_wrap=True)
    estimates: dict[tuple[str, str | None], float]
    estimates = {(e["name"], e["rule"]): e["value"] for e in summary["estimates"]}
    for row in summary["summary"]:
        rule = row["rule"] if row["claim"] != "local" else None  # local speaks of no deployed model
        table.add_row(
            row["claim"],
            row["rule"],
            row["events"],
            bounds(row["lower"], row["upper"]),
            _percent(estimates.get(("mc-ibp", rule))),
            _percent(estimates.get(("attack-survival", rule))),
            f"{row['seconds']:.1f}" if row["seconds"] < 100 else f"{row['seconds']:.0f}",
        )
    return table


def grid_table(jobs: Sequence[Job]) -> Table:
    """What is proven of the deployed models at each scale, mean over the jobs of a grid.

    Args:
        jobs: the runs of the grid.
    """
    table = Table(
        title=f"{len(jobs)} jobs, {federations(jobs)} federations",
        caption="certified: proven bounds [L, U], or L alone, of the deployed rule\n"
        f"attack survival: estimates in %; means over {len(typical(jobs))} jobs",
        padding=(0, 1, 0, 0),
    )
    for name in ("scale", "events · claim"):
        table.add_column(name, no_wrap=True)
    for name in ("certified, %", "attack"):
        table.add_column(name, justify="right", no_wrap=True)
    for scale, means in overview(jobs).items():
        for mean in means:
            table.add_row(scale, mean.claim, bounds(mean.lower, mean.upper), _percent(mean.survival))
    return table


def participants(summary: Summary) -> str:
    """How many clients took part, and of how many.

    Args:
        summary: the content of result.json.
    """
    present, expected = len(summary["clients"]), summary["config"]["clients"]
    return f"{present} clients" if present == expected else f"{present} of {expected} clients"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.2f}"
