"""A grid from the command line: what `fedcert grid` and programs with their own grid have in common."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from fedcert.app.engines import choose_engine
from fedcert.app.grid.carry_out import carry_out_grid
from fedcert.app.grid.display import ConsoleDisplay
from fedcert.app.grid.folder import GridFolder
from fedcert.app.grid.preset import Grid
from fedcert.app.grid.selection import chosen


@dataclass(frozen=True)
class GridOptions:
    """The options that a user may set for a grid; see `options`."""

    data_dir: Path | None = None
    only: str | None = None
    events: str | None = None
    jobs: int | None = None
    engine: str = "joblib"
    address: str | None = None
    shard: str | None = None
    seeds: int | None = None
    certificates: bool = False


def run_grid(
    grid: Grid,
    out: Path,
    options: GridOptions,
    report: Callable[[Path], None],
    report_command: str,
    notify: Callable[[str], None],
) -> int:
    """Run the remaining jobs of a grid, then write its report; returns the exit code.

    Args:
        grid: what to run.
        out: the grid's folder.
        options: the user's options.
        report: writes the report from the folder; not called for a shard, nor if all jobs failed.
        report_command: the command, without the folder, that writes the report when all shards are done.
        notify: is called with each notice for the user.
    """
    overrides = {"events": options.events} if options.events is not None else {}
    jobs = chosen(grid.jobs(overrides, options.seeds), options.only, options.shard, options.data_dir)
    device = next((job.config.device for job in jobs if job.config.device.startswith("cuda")), "cpu")
    engine = choose_engine(options.engine, options.address, options.jobs, device)
    folder = GridFolder(out.absolute())
    folder.begin(grid.title, jobs)
    display = ConsoleDisplay(Console(stderr=True))
    failed = carry_out_grid(jobs, folder, engine, display, options.certificates)
    for outcome in failed:
        reason = (outcome.error or "").strip().splitlines()[-1]
        notify(f"failed: {outcome.job.name}: {reason}")
    if options.shard is not None:
        notify(f"when all shards are done: {report_command} {folder.path}")
    elif len(failed) < len(jobs):
        report(folder.path)
    if failed:
        notify(f"{len(failed)} of {len(jobs)} jobs failed: the same command tries them again")
    return 1 if failed else 0
