import io
from operator import attrgetter

from rich.console import Console
from small_grids import tiny

from fedcert.app.engines import Outcome
from fedcert.app.grid.display import ConsoleDisplay

JOBS = [tiny(seed=seed) for seed in range(3)]


def shown(terminal: bool) -> str:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=150)
    with ConsoleDisplay(console)("certifying", JOBS, attrgetter("name")) as watch:
        watch(Outcome(JOBS[0], 2.5))
        watch(Outcome(JOBS[1], 0.1, "too bad"))
    return text.getvalue()


def test_a_log_gets_a_line_for_each_job() -> None:
    first, second = shown(terminal=False).splitlines()
    assert f"certifying 1/3: {JOBS[0].name} 2.5 s; about" in first
    assert "left" in first
    assert f"2/3, 1 failed: {JOBS[1].name} failed" in second


def test_a_terminal_gets_a_bar_with_the_time_left() -> None:
    text = shown(terminal=True)
    assert "certifying" in text
    assert "2/3, 1 failed" in text
    assert "left" in text
