import io
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from report_samples import finished
from rich.console import Console

from fedcert.app.console import (
    check_table,
    grid_table,
    percent_down,
    plain,
    progress_bars,
    show_grid,
    subjects,
    summary_table,
    unproved,
)
from fedcert_check import Refused, Report
from fedcert_check.document import Document, Layer, Proved, Rule
from fedcert_check.document import Properties as Asked


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


@given(probability=st.floats(0, 1))
@example(probability=0.29)  # 0.29 * 100 rounds below 29
@example(probability=0.9999999)
@example(probability=1.0)
def test_a_bound_is_shown_rounded_down_to_a_hundredth_of_a_percent(probability: float) -> None:
    number, unit = percent_down(probability).split()
    gap = 100 * Fraction(probability) - Fraction(number)
    assert unit == "%"
    assert 0 <= gap < Fraction(1, 100)


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


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_bars_pass_items_through_as_they_are_asked_for(terminal: bool) -> None:
    asked = []

    def items() -> Iterator[int]:
        for i in range(3):
            asked.append(i)
            yield i

    with progress_bars(Console(file=io.StringIO(), force_terminal=terminal)) as track:
        watched = iter(track(items(), "counting", 3))
        assert next(watched) == 0
        assert asked == [0]
        assert list(watched) == [1, 2]
        assert list(track([5, 6], "sized")) == [5, 6]
        assert list(track(iter([7]), "of unknown length")) == [7]


def test_progress_bars_name_the_work_in_a_terminal() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with progress_bars(console) as track:
        for _ in track(range(2), "training clients"):
            pass
    assert isinstance(console.file, io.StringIO)
    assert "training clients" in console.file.getvalue()


def test_an_error_inside_the_loop_is_the_callers() -> None:
    def fail() -> None:
        with progress_bars(Console(file=io.StringIO())) as track:
            for _ in track([1], "failing"):
                raise KeyError

    with pytest.raises(KeyError):
        fail()


def report(lower: list[float], upper: list[float] | None, proved: list[Proved]) -> Report:
    """What the checker found of a certificate whose other parts do not matter here."""
    empty = np.zeros((len(lower), 1))
    document = Document(
        "direct",
        "projected",
        Rule("fedavg", 1, np.ones((1, 1)), None, 0),
        (Layer(1, 1),),
        (),
        Asked(empty, empty, empty[:, None], empty),
        np.array(lower),
        None if upper is None else np.array(upper),
        {},
    )
    return Report(document, tuple(proved))


def test_a_check_shows_every_certificate_within_eighty_columns() -> None:
    good = report([0.5, 0.25], None, [Proved(0.5), Proved(0.25)])
    bad = report([0.5] * 12, [0.9] * 12, [Proved(0.4999, 0.9)] * 12)
    text = shown(check_table([good, bad]), 80)
    assert "37.50" in text
    assert "│proved" in text
    assert "NOT PROVED: 12/12" in text
    assert "[50.00, 90.01]" in text  # rounded outward
    assert "…" not in text


def test_what_is_not_proved_is_listed_with_the_figures_that_hold() -> None:
    assert not list(unproved(report([0.5], None, [Proved(0.5)])))
    lines = [line.plain for line in unproved(report([0.5] * 12, [0.9] * 12, [Proved(0.4999, 0.9)] * 12))]
    assert lines[0] == "direct fedavg projected, property 0: claimed [0.5, 0.9], proved [0.4999, 0.9]"
    assert lines[-1] == "direct fedavg projected: and 2 more"
    (line,) = unproved(report([0.5, 0.5], None, [Proved(0.5), Proved(0.1)]))
    assert line.plain == "direct fedavg projected, property 1: claimed 0.5, proved 0.1"
    (above,) = unproved(report([0.5], [0.9], [Proved(0.5, 0.95)]))
    assert "proved [0.5, 0.95]" in above.plain


def test_a_check_says_what_it_speaks_about_once() -> None:
    one, other = report([0.5], None, [Proved(0.5)]), report([0.5, 0.25], None, [Proved(0.5), Proved(0.25)])
    lines = [line.plain for line in subjects([one, one, other])]
    assert len(lines) == 2
    assert lines[0].startswith("of 1 properties (")
    assert "network 1-1" in lines[0]


NASTY = "a[/b]\x1b[2K\nproved"


def test_names_from_outside_are_neither_markup_nor_commands() -> None:
    """Escape sequences would erase what stands beside them, and rich stops at markup that does not fit."""
    assert shown(plain(NASTY)) == "a[/b]\\x1b[2K\\nproved\n"
    one = report([0.5], None, [Proved(0.1)])
    nasty = Report(replace(one.document, rule=replace(one.document.rule, name=NASTY)), one.proved)
    refused = [Refused(Path(f"{NASTY.replace('/', '')}.safetensors"), "because")]
    for text in (shown(check_table([nasty], refused)), *(shown(line) for line in unproved(nasty))):
        assert "\x1b" not in text
        assert "\\x1b[2K\\nproved" in text


def test_a_certificate_without_a_verdict_stands_in_the_table() -> None:
    text = shown(
        check_table([report([0.5], None, [Proved(0.5)])], [Refused(Path("x.safetensors"), "torn")]), 80
    )
    (line,) = [line for line in text.splitlines() if "x.safetensors" in line]
    assert "NOT CHECKED" in line


def test_a_long_network_is_not_listed_whole() -> None:
    one = report([0.5], None, [Proved(0.5)])
    deep = Report(replace(one.document, network=(Layer(1, 1),) * 900), one.proved)
    (line,) = subjects([deep])
    assert "-…-1," in line.plain
    assert len(line.plain) < 200
