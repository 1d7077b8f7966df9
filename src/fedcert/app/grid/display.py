"""The progress of a grid: a bar with the remaining time in a terminal, one line per job in a log."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from fedcert.app.grid.carry_out import JobOutcome, Watcher
from fedcert.app.grid.job import Job
from fedcert.app.stopwatch import duration


@dataclass(frozen=True)
class ConsoleDisplay:
    """Shows the progress of jobs on a console.

    Attributes:
        console: the console.
    """

    console: Console

    @contextmanager
    def __call__(
        self, description: str, jobs: Sequence[Job], name: Callable[[Job], str]
    ) -> Iterator[Watcher]:
        """A context, open while the jobs are done, which yields their watcher.

        Args:
            description: what is done with the jobs.
            jobs: all jobs to be watched.
            name: the name to show for a job.
        """
        count = _Count(len(jobs), sum(job.effort for job in jobs))
        if not self.console.is_terminal:
            yield lambda outcome: self.console.print(
                f"fedcert: {description} {count.line(outcome, name(outcome.job))}",
                soft_wrap=True,
                highlight=False,
            )
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[last]}", style="dim"),
        )
        with Progress(*columns, console=self.console, transient=True, speed_estimate_period=600) as progress:
            task = progress.add_task(description, total=count.effort, count=f"0/{count.total}", last="")

            def watch(outcome: JobOutcome) -> None:
                count.line(outcome, name(outcome.job))
                last = name(outcome.job).rpartition("-")[0]
                progress.update(task, advance=outcome.job.effort, count=count.text, last=last)

            yield watch


class _Count:
    """Counts the jobs that are done or have failed, and estimates how long the rest will take."""

    def __init__(self, total: int, effort: float) -> None:
        self.total, self.effort = total, effort
        self.done = self.failed = 0
        self.spent = 0.0
        self.start = time.monotonic()

    def line(self, outcome: JobOutcome, name: str) -> str:
        """Count an outcome; returns a line about it."""
        self.done += 1
        self.failed += outcome.error is not None
        self.spent += outcome.job.effort
        left = (time.monotonic() - self.start) * (self.effort / self.spent - 1)
        verdict = "failed" if outcome.error is not None else f"{outcome.seconds:.1f} s"
        return f"{self.text}: {name} {verdict}; about {duration(left)} left"

    @property
    def text(self) -> str:
        """How many jobs are done and have failed, as text."""
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.done}/{self.total}{failed}"
