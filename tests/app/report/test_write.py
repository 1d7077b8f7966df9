import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from damage import damaged, extreme
from grid_runs import properties, summary
from report_samples import grid, picture

from fedcert.app.report.formats import csv, latex, markdown
from fedcert.app.report.page import grid_page, run_page
from fedcert.app.report.picture import Picture
from fedcert.app.report.runs import FinishedRun, merged
from fedcert.app.report.table import Column, Table
from fedcert.app.report.write import FIGURES, TABLES, FigureMaker, write_report
from fedcert.errors import FedcertError, OutputExists
from reproduction import figures as papers_figures
from reproduction import tables as papers_tables

DAMAGED = 100  # files of each kind
SWEEPS = [
    *({"concentration": value, "clients": 2} for value in (5.0, 7.0, 10.0)),
    *({"concentration": 5.0, "clients": count} for count in (3, 5, 7)),
    *({"concentration": 5.0, "clients": 2, "scale": scale} for scale in (1e-3, "learned")),
    {"concentration": 5.0, "clients": 2, "screen": False},
]  # all tables and figures are made of these


def test_tables_figures_and_a_page_are_written(tmp_path: Path) -> None:
    runs = write_report([grid(tmp_path, 0, 1)], tmp_path, "fedcert grid --preset mine")
    assert [run.config["seed"] for run in runs] == [0, 1]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "fedcert grid --preset mine" in page
    assert "jobs/job-1/report.html" in page
    names = {path.stem for path in (tmp_path / "tables").iterdir()}
    assert names == {"means", "times", "jobs"}
    assert all((tmp_path / "tables" / f"{name}.{kind}").exists() for name in names for kind in ("csv", "tex"))


def test_tables_and_figures_of_ones_own_take_the_place_of_ours(tmp_path: Path) -> None:
    def seeds(runs: Sequence[FinishedRun]) -> Iterator[Table]:
        yield Table("seeds", "Seeds", "All.", [Column("seed")], [[run.config["seed"]] for run in runs])

    def drawn(runs: Sequence[FinishedRun]) -> list[Picture]:
        return [picture(f"of-{len(runs)}")]

    write_report([grid(tmp_path, 0, 1)], tmp_path, "mine", [*TABLES, seeds], [drawn])
    assert (tmp_path / "tables" / "seeds.csv").read_text(encoding="utf-8") == "seed\n0\n1\n"
    assert (tmp_path / "tables" / "means.csv").exists()
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"of-2.svg", "of-2.png", "of-2.pdf"}
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="table-seeds"' in page
    assert 'id="figure-of-2"' in page


@pytest.mark.slow
@pytest.mark.parametrize("name", ["result.json", "properties.json"])
def test_whatever_is_in_a_file_the_report_is_written_or_the_file_named(tmp_path: Path, name: str) -> None:
    path = grid(tmp_path, 0, 1) / "jobs" / "job-0" / name
    content = json.loads(path.read_text(encoding="utf-8"))
    written, complaints = 0, []
    for i in range(DAMAGED):
        path.write_bytes(damaged(content, Random(f"{name} {i}")))
        try:
            (run, *_) = write_report([tmp_path], tmp_path / "report", "", figures=())
            run_page(run)
            written += 1
        except FedcertError as error:
            complaints.append(str(error))
    assert all(text.startswith(f"{path.parent}/") and text.isprintable() for text in complaints)
    assert len(complaints) > DAMAGED / 2
    assert written


def extreme_runs(seed: int) -> list[FinishedRun]:
    random = Random(seed)
    contents = [extreme(summary(**settings), random) for settings in SWEEPS]
    return [FinishedRun(content, properties(content)) for content in contents]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_tables_and_pages_show_figures_at_the_ends_of_their_ranges(seed: int) -> None:
    runs = extreme_runs(seed)
    tables = [table for make in (*TABLES, *papers_tables.TABLES) for table in make(merged(runs))]
    assert all(csv(table) and markdown(table) and latex(table) for table in tables)
    assert "</html>" in grid_page(runs, tables, [], "")
    assert "</html>" in run_page(runs[0])


@pytest.mark.slow
@pytest.mark.parametrize("figures", [FIGURES, papers_figures.FIGURES], ids=["general", "paper"])
def test_figures_are_drawn_at_the_ends_of_their_ranges(figures: Sequence[FigureMaker]) -> None:
    assert [picture for draw in figures for picture in draw(merged(extreme_runs(5)))]


def test_folders_may_have_any_name(tmp_path: Path) -> None:
    """Not every name of a folder is text; links in a page are made of bytes."""
    folder = grid(tmp_path / "a b\udcff", 0)
    (folder / "jobs" / "job-0").rename(folder / "jobs" / "job \udcfe")
    write_report([folder], tmp_path / "out", f"fedcert report {folder}")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "a%20b%FF/jobs/job%20%FE/report.html" in page
    assert r"a b\udcff" in page


def test_the_page_of_a_run_is_not_replaced(tmp_path: Path) -> None:
    folder = grid(tmp_path, 0)
    run = next((folder / "jobs").iterdir())
    before = sorted(run.iterdir())
    with pytest.raises(OutputExists, match="whose own report would be replaced"):
        write_report([run], run, "fedcert report run")
    assert sorted(run.iterdir()) == before
