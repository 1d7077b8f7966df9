import io
from pathlib import Path
from typing import Any

import pytest
from report_samples import finished
from rich.console import Console

from fedcert.app.console import grid_table, show_grid, summary_table


def summary() -> dict[str, Any]:
    """A result.json by hand, with figures that show which of them went where."""
    rows = [
        ("local", "pog", "paper-box", 0.99999, None),
        ("transported", "pog", "paper-box", 0.12345, None),
        ("direct", "pog", "projected", 0.5, 0.99991),
        ("direct", "fedavg", "projected", 0.0, 0.00001),
    ]
    return {
        "config": {
            "dataset": "digits",
            "clients": 7,
            "hidden": [64, 32],
            "scale": "learned",
            "properties": 50,
        },
        "accuracy": 0.9375,
        "accuracy_by_rule": {"pog": 0.9375, "fedavg": 0.625},
        "clients": [{"client": f"client-{i}"} for i in range(7)],
        "summary": [
            {"claim": claim, "rule": rule, "events": events, "lower": lower, "upper": upper, "seconds": 1.25}
            for claim, rule, events, lower, upper in rows
        ],
        "estimates": [
            {"name": "mc-ibp", "rule": "pog", "value": 0.75},
            {"name": "mc-ibp", "rule": "fedavg", "value": 0.25},
            {"name": "attack-survival", "rule": "pog", "value": 0.875},
            {"name": "attack-survival", "rule": "fedavg", "value": 0.375},
            {"name": "aggregated-sampling", "rule": "pog", "value": 0.11},
        ],
    }


def shown(renderable: object, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    "row",
    [
        ["local", "pog", "paper-box", "99.99", "–", "–", "1.2"],
        ["transported", "pog", "paper-box", "12.34", "75.00", "87.50", "1.2"],
        ["direct", "pog", "projected", "[50.00, 100.00]", "75.00", "87.50", "1.2"],
        ["direct", "fedavg", "projected", "[0.00, 0.01]", "25.00", "37.50", "1.2"],
    ],
    ids=lambda row: "-".join(row[:2]),
)
def test_the_table_has_each_certificate_beside_the_figures_of_its_rule(row: list[str]) -> None:
    lines = [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in shown(summary_table(summary())).splitlines()
    ]
    assert row in lines


def test_the_table_says_what_was_run() -> None:
    text = shown(summary_table(summary()))
    for part in ("digits", "7 clients", "64×32", "learned", "50 properties"):
        assert part in text
    for part in ("certified, %", "MC–IBP", "attack", "accuracy", "proven bounds", "estimates"):
        assert part in text


def test_a_rule_without_a_deployed_law_has_a_table_too() -> None:
    run = summary()
    run["estimates"] = [e for e in run["estimates"] if e["rule"] != "pog"]
    lines = [line for line in shown(summary_table(run)).splitlines() if "transported" in line]
    assert [cell.strip() for cell in lines[0].split("│")[4:7]] == ["12.34", "–", "–"]


@pytest.mark.parametrize("rule", ["fedavg", "trimmed-mean"])
@pytest.mark.parametrize("seconds", [1.25, 1234.5])
def test_no_figure_is_cut_off_in_a_terminal_of_80_columns(rule: str, seconds: float) -> None:
    """Nothing is as wide as a model that is always safe."""
    run = summary()
    sure = {"lower": 1.0, "seconds": seconds, "rule": rule}
    run["summary"] = [
        row | sure | {"upper": 1.0 if row["events"] == "projected" else None} for row in run["summary"]
    ]
    run["estimates"] = [{"name": name, "rule": rule, "value": 1.0} for name in ("mc-ibp", "attack-survival")]
    run["accuracy_by_rule"] = {rule: 1.0}
    text = shown(summary_table(run), width=80)
    assert "…" not in text
    for part in ("transported", "paper-box", "[100.00, 100.00]", rule):
        assert part in text


def test_a_grid_is_shown_by_scale_and_claim_within_eighty_columns() -> None:
    runs = [finished(), finished(scale=1e-5)]
    text = shown(grid_table(runs), 80)
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if "│" in line]
    assert lines == [
        [scale, "projected · direct", "56.17", "62.51", "75.50"] for scale in ("1e-05", "learned")
    ]
    assert "2 jobs, 1 federations" in text
    assert "…" not in text


def test_a_grid_is_shown_with_the_place_of_its_report(capsys: pytest.CaptureFixture[str]) -> None:
    show_grid([finished()], Path("some[/where]"))
    assert capsys.readouterr().out.splitlines()[-1] == "report: some[/where]/report.html"
