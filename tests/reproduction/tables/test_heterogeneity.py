from statistics import fmean

import pytest
from grid_runs import paper_grid

from fedcert.app.report.table import Spread, Table
from reproduction.tables.heterogeneity import between, grouped_table


def column(table: Table, group: str, name: str) -> list[object]:
    place = [(c.group, c.name) for c in table.columns].index((group, name))
    return [row[place] for row in table.rows]


def test_table_2_has_the_papers_rows_and_columns() -> None:
    (table,) = grouped_table(paper_grid(), 1e-5, "paper-box")
    assert len(table.rows) == 36
    assert table.rows[0][:5] == ("1×64", "MNIST", 2, "Non-IID", 3)
    assert table.rows[-1][:5] == ("2×64", "Fashion-MNIST", 5, "IID", 3)
    assert [c.name for c in table.columns if c.group == "PoG"] == [
        "Acc. (%)", "L^loc (%)", "L^dir (%)", "MC–IBP (%)", "Time (s)",
    ]  # fmt: skip
    assert [c.name for c in table.columns if c.group == "FedAvg"] == [
        "Acc. (%)", "L^loc (%)", "L^tr (%)", "L^dir (%)", "MC–IBP (%)", "Time (s)",
    ]  # fmt: skip


def test_entries_average_the_three_concentrations_of_a_group() -> None:
    runs = paper_grid()
    (table,) = grouped_table(runs, 1e-5, "paper-box")
    found = column(table, "FedAvg", "L^tr (%)")[0]
    values = [
        100 * run.claims["transported", "fedavg", "paper-box"]["lower"]
        for run in runs
        if (run.dataset, run.architecture, run.clients) == ("mnist", "1×64", 2) and run.concentration < 0.8
    ]
    assert isinstance(found, Spread)
    assert found.mean == pytest.approx(fmean(values))
    assert found.count == len(values) == 3


def test_other_events_have_survival_and_upper_bounds_beside_them() -> None:
    (table,) = grouped_table(paper_grid("learned"), "learned", "projected")
    assert table.name == "table2-projected-learned"
    assert {"Survival (%)", "U^dir (%)"} <= {c.name for c in table.columns if c.group == "PoG"}


def test_federations_without_the_events_are_left_out() -> None:
    assert grouped_table(paper_grid(events=("box",)), 1e-5, "projected") == []


def test_the_concentrations_between_have_a_table_of_their_own() -> None:
    (table,) = between(paper_grid())
    assert len(table.rows) == 18
    assert {row[3] for row in table.rows} == {3}
