from types import SimpleNamespace

import pytest

from fedcert.app.stopwatch import Stopwatch, timed


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = 100.0

    def work(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("fedcert.app.stopwatch.time", SimpleNamespace(perf_counter=lambda: clock.now))
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


def test_a_piece_of_work_is_charged_for_its_making(clock: Clock) -> None:
    def make() -> str:
        clock.work(2.0)
        return "made"

    assert timed(make) == ("made", 2.0)
