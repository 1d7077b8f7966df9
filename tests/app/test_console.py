from pathlib import Path

import pytest
from report_samples import finished
from rich.console import Console
from run_summaries import summary
from terminal import shown

from fedcert.app.console import folded, grid_table, show_grid, show_run, summary_table


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("rule", ["fedavg", "trimmed-mean"])
@pytest.mark.parametrize("seconds", [1.25, 1234.5])
def test_no_figure_is_cut_off_in_a_terminal_of_any_width(rule: str, seconds: float, width: int) -> None:
    """Nothing is as wide as a model that is always safe."""
    run = summary()
    sure = {"lower": 1.0, "seconds": seconds, "rule": rule}
    run["summary"] = [
        row | sure | {"upper": 1.0 if row["events"] == "projected" else None} for row in run["summary"]
    ]
    run["estimates"] = [row | {"rule": rule, "value": 1.0} for row in run["estimates"]]
    text = shown(summary_table(run), width)
    assert ("┃" in text) == (width >= 120)
    assert "…" not in text
    for part in ("0.125", "transported", "paper-box", "[100.00, 100.00]", rule):
        assert part in text


@pytest.mark.parametrize(
    ("families", "heading"),
    [
        (("projected",), "0.001 direct"),
        (("paper-box", "projected"), "0.001 direct projected"),
    ],
)
def test_a_row_in_a_narrow_terminal_is_headed_by_all_that_names_it_and_no_figure(
    families: tuple[str, ...], heading: str
) -> None:
    run = summary()
    run["summary"] = [row for row in run["summary"] if row["events"] in families and row["rule"] == "pog"]
    lines = [line.rstrip() for line in shown(summary_table(run), 40).splitlines()]
    assert "certified, %" in lines[lines.index(heading) + 1]
    assert "[50.00, 100.00]" in lines[lines.index(heading) + 1]


@pytest.mark.parametrize("width", [40, 80])
def test_a_run_is_shown_with_its_sentence_first_and_the_place_of_its_report(
    capsys: pytest.CaptureFixture[str], width: int
) -> None:
    show_run(summary(), Path("some[/where]"), Console(width=width))
    words = " ".join(capsys.readouterr().out.split())
    assert words.startswith("What [follows] at 0.001.")
    assert "\\n" not in words
    assert words.endswith("report: some[/where]/report.html not re-proved yet: fedcert check some[/where]")


@pytest.mark.parametrize("width", range(20, 60))
def test_no_line_parts_a_figure_from_its_sign(width: int) -> None:
    text = "classifies at least 91.95 % and at most 91.99 % of 360 inputs, [91.95, 91.99] %, and so on"
    lines = folded(text, width)
    assert not any(line.startswith("%") for line in lines)
    assert max(map(len, lines)) <= width
    assert " ".join(lines) == text


def test_a_run_that_was_proved_twice_needs_no_further_check(capsys: pytest.CaptureFixture[str]) -> None:
    run = summary()
    run["summary"] = [row | {"reproved": True} for row in run["summary"]]
    show_run(run, Path("here"), Console(width=120))
    assert capsys.readouterr().out.splitlines()[-1] == "report: here/report.html"


def test_a_grid_is_shown_by_scale_and_claim_within_eighty_columns() -> None:
    runs = [finished(), finished(scale=1e-5)]
    text = shown(grid_table(runs), 80)
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if "│" in line]
    assert lines == [
        [scale, "projected · direct", "50.0", "56.17", "62.51", "75.50"] for scale in ("1e-05", "learned")
    ]
    assert "2 jobs, 1 federations" in text
    assert "…" not in text


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_grid_keeps_its_figures_whole_at_any_width(width: int) -> None:
    text = shown(grid_table([finished(), finished(scale=1e-5)]), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "…" not in text
    for figure in ("1e-05", "learned", "projected · direct", "56.17", "62.51", "75.50"):
        assert figure in text


def test_a_grid_is_shown_with_the_place_of_its_report(capsys: pytest.CaptureFixture[str]) -> None:
    show_grid([finished()], Path("some[/where]"))
    assert capsys.readouterr().out.splitlines()[-1] == "report: some[/where]/report.html"
