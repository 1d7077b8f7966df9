from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from fedcert.experiments.stopwatch import Stopwatch, timed


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = 100.0

    def work(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("fedcert.experiments.stopwatch.time", SimpleNamespace(perf_counter=lambda: clock.now))
    return clock


def test_stages_add_up_by_name(clock: Clock) -> None:
    watch = Stopwatch()
    for name, seconds in (("data", 1.0), ("training", 2.0), ("data", 4.0)):
        with watch.stage(name):
            clock.work(seconds)
        clock.work(100.0)
    assert watch.seconds == {"data": 5.0, "training": 2.0}


def test_a_stage_that_fails_is_counted_and_its_error_kept(clock: Clock) -> None:
    watch = Stopwatch()

    def fail() -> None:
        with watch.stage("data"):
            clock.work(3.0)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert watch.seconds == {"data": 3.0}


def test_an_item_is_charged_for_its_making_and_not_for_its_use(clock: Clock) -> None:
    def items() -> Iterator[str]:
        clock.work(1.0)
        yield "a"
        clock.work(2.0)
        yield "b"

    seen = []
    for pair in timed(items()):
        seen.append(pair)
        clock.work(50.0)
    assert seen == [("a", 1.0), ("b", 2.0)]


def test_no_items_take_no_time(clock: Clock) -> None:
    assert list(timed([])) == []
