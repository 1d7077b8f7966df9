"""What a check shows in the terminal."""

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from fedcert_check import Refused, Report
from fedcert_check.console import check_table, plain, progress_bars, subjects, unproved
from fedcert_check.document import Document, Properties, Proved
from fedcert_check.layers import Linear, Network
from fedcert_check.rules import LinearRule


def shown(renderable: object, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


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
        LinearRule("fedavg", np.ones((1, 1))),
        Network((Linear(1, 1),)),
        (),
        Properties(empty, empty, empty[:, None], empty),
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
    deep = Report(replace(one.document, network=Network((Linear(1, 1),) * 900)), one.proved)
    (line,) = subjects([deep])
    assert "-…-1," in line.plain
    assert len(line.plain) < 200
