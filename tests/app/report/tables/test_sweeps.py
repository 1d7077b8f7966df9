from grid_cells import paper_grid, sweeps

from fedcert.app.report.tables.sweeps import against_clients, against_scale


def test_a_row_for_each_scale_of_a_sweep() -> None:
    (table,) = against_scale(sweeps())
    names = [column.name for column in table.columns]
    assert [row[names.index("Scale")] for row in table.rows][:2] == ["1e-06", "3e-06"]
    assert table.rows[-1][names.index("Scale")] == "learned"
    assert {"U^dir (%)", "MC–IBP (%)", "Survival (%)"} <= set(names)


def test_a_row_for_each_number_of_clients() -> None:
    (table,) = against_clients(sweeps())
    names = [column.name for column in table.columns]
    assert [row[names.index("Clients")] for row in table.rows] == [2, 5, 10, 20, 50, 100, 200, 500, 1000] * 2
    assert [column.name for column in table.columns if column.group == "Cost"] == [
        "Messages (s)", "paper-box (s)", "box (s)", "projected (s)",
    ]  # fmt: skip


def test_the_papers_grid_is_no_sweep() -> None:
    assert against_scale(paper_grid(1e-5, "learned")) == against_clients(paper_grid()) == []
