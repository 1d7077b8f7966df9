from pathlib import Path

import pytest
from grid_runs import paper_grid, run, sweeps

from fedcert.app.report.formats import csv, latex, markdown, raised
from fedcert.app.report.runs import FinishedRun, merged
from fedcert.app.report.table import Table
from reproduction.tables import TABLES


def all_tables(runs: list[FinishedRun]) -> list[Table]:
    return [table for make in TABLES for table in make(merged(runs))]


@pytest.mark.slow
def test_the_whole_grid_gives_every_table_in_every_format() -> None:
    tables = all_tables([one for one in paper_grid(1e-5, "learned") if one.architecture == "1×64"] + sweeps())
    assert [table.name for table in tables] == [
        "table2-projected-1e-05", "table2-box-1e-05", "table2", "table2-projected-learned",
        "table2-box-learned", "table2-paper-box-learned", "overall", "beside-paper-pog",
        "beside-paper-fedavg", "aggregates", "ratios", "ratios-all", "ceilings", "between-1e-05",
        "between-learned", "scales", "clients", "times", "quoted",
    ]  # fmt: skip
    for table in tables:
        assert table.rows
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert len(csv(table).splitlines()) == 1 + len(table.rows)
        assert raised(table.caption) in markdown(table)
        assert latex(table).count(r"\\") >= len(table.rows)
        assert latex(table).isascii()
        assert Path(table.name).name == table.name


def test_the_table_of_clients_has_their_cost() -> None:
    (table,) = [table for table in all_tables(sweeps()) if table.name == "clients"]
    assert [column.name for column in table.columns if column.group == "Cost"] == [
        "Messages (s)", "paper-box (s)", "box (s)", "projected (s)",
    ]  # fmt: skip


def test_without_data_there_are_no_tables() -> None:
    assert all_tables([]) == []


@pytest.mark.slow
def test_other_settings_do_not_stand_beside_the_paper() -> None:
    assert all_tables(paper_grid(1e-5, epsilon=0.01)) == []
    assert all_tables([run(dataset="digits", concentration=3.0)]) == []
