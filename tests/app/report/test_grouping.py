from grid_runs import run

from fedcert.app.report.grouping import CLIENTS, averaged, distinguishing, spread_table
from fedcert.app.report.measures import accuracy, bound
from fedcert.app.report.table import Spread, Table


def test_settings_that_differ_become_columns() -> None:
    runs = [run(epsilon=0.001), run(epsilon=0.01), run(epsilon=0.01, training={"epochs": 7}, clients=5)]
    assert [key.column.name for key in distinguishing(runs)] == ["epochs", "epsilon"]
    assert [key.of(runs[2]) for key in distinguishing(runs)] == ["7", "0.01"]
    assert [key.column.name for key in distinguishing(runs, "epsilon")] == ["epochs"]


def test_axes_events_and_places_are_no_such_settings() -> None:
    runs = [run(), run(clients=5, seed=1, scale="learned", data_dir="x", events=("box",))]
    assert distinguishing(runs) == []


def test_runs_with_other_settings_are_not_averaged() -> None:
    runs = [run(seed=seed, epsilon=epsilon) for seed in (0, 1) for epsilon in (0.001, 0.01)]
    (table,) = spread_table(Table("t", "T", "C."), runs, [CLIENTS], [accuracy("fedavg")])
    assert [column.name for column in table.columns] == ["epsilon", "Clients", "Runs", "Acc. (%)"]
    assert [row[:3] for row in table.rows] == [("0.001", 3, 2), ("0.01", 3, 2)]
    assert all(isinstance(row[3], Spread) and row[3].count == 2 for row in table.rows)
    assert table.caption == "C. " + averaged(runs)
    assert "2 seeds" in table.caption


def test_columns_without_data_are_left_out() -> None:
    runs = [run(events=("box",))]
    measures = [bound("direct", "fedavg", events) for events in ("box", "projected")]
    (table,) = spread_table(Table("t", "T", "C."), runs, [CLIENTS], measures)
    assert len(table.columns) == 3
    assert spread_table(Table("t", "T", "C."), runs, [CLIENTS], measures[1:]) == []
