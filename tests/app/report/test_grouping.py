from grid_cells import cell, paper_grid
from grid_cells import sweeps as swept

from fedcert.app.report.grouping import (
    CLIENTS,
    averaged,
    distinguishing,
    heading,
    scale_name,
    spread_table,
    sweeps,
)
from fedcert.app.report.measures import accuracy, bound
from fedcert.app.report.table import Spread


def test_settings_that_differ_become_columns() -> None:
    cells = [cell(epsilon=0.001), cell(epsilon=0.01), cell(epsilon=0.01, training={"epochs": 7}, clients=5)]
    assert [key.column.name for key in distinguishing(cells)] == ["epochs", "epsilon"]
    assert [key.of(cells[2]) for key in distinguishing(cells)] == ["7", "0.01"]


def test_axes_events_and_places_are_no_such_settings() -> None:
    cells = [cell(), cell(clients=5, seed=1, scale="learned", data_dir="x", events=("box",))]
    assert distinguishing(cells) == []


def test_cells_with_other_settings_are_not_averaged() -> None:
    cells = [cell(seed=seed, epsilon=epsilon) for seed in (0, 1) for epsilon in (0.001, 0.01)]
    (table,) = spread_table(heading("t", "T", "C."), cells, [CLIENTS], [accuracy("fedavg")])
    assert [column.name for column in table.columns] == ["epsilon", "Clients", "Cells", "Acc. (%)"]
    assert [row[:3] for row in table.rows] == [("0.001", 3, 2), ("0.01", 3, 2)]
    assert all(isinstance(row[3], Spread) and row[3].count == 2 for row in table.rows)
    assert table.caption == "C. " + averaged(cells)
    assert "2 seeds" in table.caption


def test_columns_without_data_are_left_out() -> None:
    cells = [cell(events=("box",))]
    measures = [bound("direct", "fedavg", events) for events in ("box", "projected")]
    (table,) = spread_table(heading("t", "T", "C."), cells, [CLIENTS], measures)
    assert len(table.columns) == 3
    assert spread_table(heading("t", "T", "C."), cells, [CLIENTS], measures[1:]) == []


def test_sweeps_differ_in_one_axis_alone() -> None:
    found = sweeps(swept(), "clients", 4)
    assert [scale_name(group[0].scale) for group in found] == ["1e-05", "learned"]
    assert [[one.clients for one in group] for group in found] == [
        [2, 5, 10, 20, 50, 100, 200, 500, 1000]
    ] * 2
    (scales,) = sweeps(swept(), "scale", 3)
    assert {one.clients for one in scales} == {5}
    assert len(scales) == 12
    assert sweeps(paper_grid(), "clients", 4) == []


def test_seeds_belong_to_one_sweep() -> None:
    cells = [cell(seed=seed, scale=scale) for seed in (0, 1) for scale in (1e-5, 1e-4, 1e-3)]
    assert [len(group) for group in sweeps(cells, "scale", 3)] == [6]
