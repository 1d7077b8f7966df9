from pathlib import Path

from grid_cells import cell, paper_grid, sweeps

from fedcert.app.report.formats import csv, latex, markdown, raised
from fedcert.app.report.tables import all_tables


def test_the_whole_grid_gives_every_table_in_every_format() -> None:
    tables = all_tables([one for one in paper_grid(1e-5, "learned") if one.hidden == (64,)] + sweeps())
    assert [table.name for table in tables] == [
        "table2", "table2-box-1e-05", "table2-projected-1e-05", "table2-paper-box-learned",
        "table2-box-learned", "table2-projected-learned", "beside-paper-pog", "beside-paper-fedavg",
        "aggregates", "ratios", "ratios-all", "ceilings", "between-1e-05", "between-learned", "scales",
        "clients", "times", "quoted",
    ]  # fmt: skip
    for table in tables:
        assert table.rows
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert len(csv(table).splitlines()) == 1 + len(table.rows)
        assert raised(table.caption) in markdown(table)
        assert latex(table).count(r"\\") >= len(table.rows)
        assert latex(table).isascii()
        assert Path(table.name).name == table.name


def test_without_data_there_are_no_tables() -> None:
    assert all_tables([]) == []


def test_a_run_of_ones_own_has_no_paper_beside_it() -> None:
    names = {table.name for table in all_tables([cell(dataset="digits", concentration=3.0)])}
    assert names == {"ratios-all", "times"}


def test_other_settings_do_not_stand_beside_the_paper() -> None:
    names = {table.name for table in all_tables(paper_grid(1e-5, epsilon=0.01))}
    assert "table2" in names
    assert not names & {"beside-paper-fedavg", "beside-paper-pog", "aggregates", "ratios", "quoted"}
