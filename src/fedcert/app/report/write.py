"""Writing of everything made from the results of grids and runs: tables, figures and the page."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from fedcert.app.journal import RESULT
from fedcert.app.report.figures.sweep import sweep_figures
from fedcert.app.report.formats import write_tables
from fedcert.app.report.page import grid_page
from fedcert.app.report.picture import Picture, write_pictures
from fedcert.app.report.runs import FinishedRun, merged, read_runs
from fedcert.app.report.sweeps import sweep_tables
from fedcert.app.report.table import Table
from fedcert.app.report.tables import job_table, mean_tables, times
from fedcert.errors import OutputExists
from fedcert.wire import atomic
from fedcert_check.visible import visible

TableMaker = Callable[[Sequence[FinishedRun]], Iterable[Table]]
FigureMaker = Callable[[Sequence[FinishedRun]], Iterable[Picture]]
TABLES: tuple[TableMaker, ...] = (mean_tables, sweep_tables, times)
FIGURES: tuple[FigureMaker, ...] = (sweep_figures,)


def write_report(
    folders: Sequence[Path],
    out: Path,
    command: str,
    tables: Sequence[TableMaker] = TABLES,
    figures: Sequence[FigureMaker] = FIGURES,
) -> list[FinishedRun]:
    """Write tables/, figures/ and report.html from the results in some folders; returns the runs shown.

    Args:
        folders: the folders of grids, of shards of grids, or of single runs.
        out: the folder that the report is written to.
        command: the command line that reproduces the results.
        tables: functions from the runs to tables. They are given every federation once, in the order of
            `merged`, and return no table if there are no data; a table of all jobs is always written.
        figures: the same for figures.
    """
    runs = read_runs(folders, out)
    if (out / RESULT).is_file():
        raise OutputExists(f"{out} holds a run, whose own report would be replaced: choose another --out")
    whole = merged(runs)
    made = [table for make in tables for table in make(whole)]
    drawn = [picture for draw in figures for picture in draw(whole)]
    write_tables([*made, job_table(runs)], out / "tables")
    write_pictures(drawn, out / "figures")
    atomic.write(out / "report.html", grid_page(runs, made, drawn, visible(command)))
    return runs
