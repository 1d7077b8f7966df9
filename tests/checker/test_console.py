"""What a check shows in the terminal."""

import io
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from terminal import shown

from fedcert_check import Refused, Report
from fedcert_check.console import (
    check_table,
    plain,
    progress,
    progress_bars,
    progress_lines,
    sentences,
    unproved,
)
from fedcert_check.document import Document, Proved
from fedcert_check.layers import Linear, Network
from fedcert_check.progress import Tracker
from fedcert_check.properties import Properties
from fedcert_check.rules import LinearRule


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_passes_items_through_as_they_are_asked_for(terminal: bool) -> None:
    asked = []

    def items() -> Iterator[int]:
        for i in range(3):
            asked.append(i)
            yield i

    with progress(Console(file=io.StringIO(), force_terminal=terminal), "fedcert") as track:
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
        with progress(Console(file=io.StringIO()), "fedcert") as track:
            for _ in track([1], "failing"):
                raise KeyError

    with pytest.raises(KeyError):
        fail()


class Log:
    """A console that is no terminal, and a clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.file, self.now = io.StringIO(), 100.0
        self.console = Console(file=self.file, width=20)  # lines of a log are not wrapped

    def work(self, seconds: float) -> None:
        self.now += seconds

    def tracker(self) -> AbstractContextManager[Tracker]:
        return progress_lines(self.console, "fedcert", lambda: self.now)

    @property
    def lines(self) -> list[str]:
        return self.file.getvalue().splitlines()


@pytest.fixture
def log() -> Log:
    return Log()


def test_a_log_has_a_line_every_few_seconds_and_one_for_the_finished_stage(log: Log) -> None:
    with log.tracker() as track:
        for _ in track(range(8), "training clients"):
            log.work(2.0)
    assert log.lines == [
        "fedcert: training clients: 3 of 8 after 6.0 s, about 10 s left",
        "fedcert: training clients: 6 of 8 after 12 s, about 4.0 s left",
        "fedcert: training clients: 8 of 8 in 16 s",
    ]


def test_a_log_does_not_mention_what_takes_no_time(log: Log) -> None:
    with log.tracker() as track:
        for _ in range(100):
            assert len(list(track(range(50), "projected"))) == 50
    assert log.lines == []


def test_many_quick_stages_are_not_silent_for_long(log: Log) -> None:
    with log.tracker() as track:
        for _ in range(20):
            for _ in track(range(2), "MC–IBP"):
                log.work(0.4)
    assert log.lines == ["fedcert: MC–IBP: 1 of 2 after 0.4 s, about 0.4 s left"] * 2


def test_a_loop_inside_another_is_named_with_it_and_only_the_outer_one_is_a_stage(log: Log) -> None:
    with log.tracker() as track:
        for _ in track(range(2), "certifying clients"):
            for _ in track(iter("abc"), "projected"):
                log.work(3.0)
    assert log.lines == [
        "fedcert: certifying clients: 0 of 2, projected: 2 after 6.0 s",
        "fedcert: certifying clients: 1 of 2, projected: 1 after 12 s, about 6.0 s left",
        "fedcert: certifying clients: 1 of 2, projected: 3 after 18 s",
        "fedcert: certifying clients: 2 of 2 in 18 s",
    ]


def test_a_stage_that_fails_is_not_reported_as_finished_and_does_not_stay(log: Log) -> None:
    with log.tracker() as track:
        with pytest.raises(KeyError):
            fail(track, log)
        for _ in track([1], "next"):
            log.work(2.0)
    assert log.lines == ["fedcert: next: 1 of 1 in 2.0 s"]


def fail(track: Tracker, log: Log) -> None:
    for _ in track([1, 2], "failing"):
        log.work(2.0)
        raise KeyError


def test_a_log_shows_names_from_outside_as_text(log: Log) -> None:
    with log.tracker() as track:
        for _ in track([1], NASTY):
            log.work(2.0)
    assert log.lines == ["fedcert: a[/b]\\x1b[2K\\nproved: 1 of 1 in 2.0 s"]


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


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_check_keeps_its_figures_whole_at_any_width(width: int) -> None:
    sure = report([1.0], [1.0], [Proved(1.0, 1.0)])
    text = shown(check_table([sure], [Refused(Path("direct-fedavg-projected.safetensors"), "torn")]), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert text.count("[100.00, 100.00]") == 2
    for part in ("direct fedavg projected", "direct-fedavg-projected.safetensors", "NOT CHECKED"):
        assert part in text


def test_what_is_not_proved_is_listed_with_the_figures_that_hold() -> None:
    assert not list(unproved(report([0.5], None, [Proved(0.5)])))
    lines = [line.plain for line in unproved(report([0.5] * 12, [0.9] * 12, [Proved(0.4999, 0.9)] * 12))]
    assert lines[0] == "direct fedavg projected, property 0: claimed [0.5, 0.9], proved [0.4999, 0.9]"
    assert lines[-1] == "direct fedavg projected: and 2 more"
    (line,) = unproved(report([0.5, 0.5], None, [Proved(0.5), Proved(0.1)]))
    assert line.plain == "direct fedavg projected, property 1: claimed 0.5, proved 0.1"
    (above,) = unproved(report([0.5], [0.9], [Proved(0.5, 0.95)]))
    assert "proved [0.5, 0.95]" in above.plain


def test_a_check_says_of_every_certificate_what_was_proved_and_once_of_whom() -> None:
    one, other = report([0.5], None, [Proved(0.5)]), report([0.5, 0.25], None, [Proved(0.5), Proved(0.1)])
    lines = [line.plain for line in sentences([one, one, other])]
    assert len(lines) == 4
    assert lines[0].startswith("proved: for 1 property, the property holds (")
    assert "of 1 properties (" in lines[0]
    assert "network 1-1" in lines[0]
    assert lines[2].startswith("NOT PROVED (1 of 2 properties are not): the claim is: on average over 2")
    assert lines[3].startswith("clients, by name and message:")


def sampled(report: Report, *only: int) -> Report:
    """The report of a check that looked at these properties alone."""
    return Report(replace(report.document, only=only), tuple(report.proved[p] for p in only))


def test_a_sample_is_never_called_a_proof() -> None:
    whole = report([0.5, 0.25, 1.0], None, [Proved(0.5), Proved(0.25), Proved(0.1)])
    good, bad = sampled(whole, 0, 1), sampled(whole, 1, 2)
    assert not good.verdict
    table = shown(check_table([good, bad]), 120)
    assert "not refuted, sampled: 2 of 3" in table
    assert "NOT PROVED: 1/2, sampled: 2 of 3" in table
    assert "37.50" in table  # claimed and proved are means over the same properties
    (words, refuted, *_) = (line.plain for line in sentences([good, bad]))
    assert words.startswith("not refuted (sampled: 2 of 3 properties): the claim is: on average over 3")
    assert refuted.startswith("NOT PROVED (1 of 2 sampled, 3 in all, properties are not)")
    assert "proved:" not in words


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_no_bound_is_cut_in_half(width: int) -> None:
    bad = report([0.5] * 12, [0.9] * 12, [Proved(0.4999, 0.9)] * 12)
    refused = [Refused(Path("a-certificate-with-a-long-name.safetensors"), "torn")]
    text = shown(check_table([bad, bad], refused), width)
    assert text.count("[50.00, 90.01]") == 2
    assert text.count("[49.99, 90.01]") == 2
    assert text.count("NOT PROVED: 12/12") == 2
    assert "…" not in text


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
    line, _ = sentences([deep])
    assert "-…-1" in line.plain
    assert len(line.plain) < 300
