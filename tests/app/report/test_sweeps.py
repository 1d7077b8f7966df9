import math

import pytest
from grid_runs import paper_grid, run
from grid_runs import sweeps as swept

from fedcert.app.report.formats import headings, shown
from fedcert.app.report.measures import proving
from fedcert.app.report.sweeps import place, rule_names, sweep_table, sweep_tables, sweeps, swept_settings
from fedcert.app.report.table import Table

COUNTS = [2, 5, 10, 20, 50, 100, 200, 500, 1000]


def column(table: Table, name: str) -> list[str]:
    i = headings(table).index(name)
    return [shown(row[i], table.columns[i]) for row in table.rows]


def test_sweeps_differ_in_one_setting_alone() -> None:
    found = sweeps(swept(), "clients", 4)
    assert [group[0].scale for group in found] == [1e-5, "learned"]
    assert [[one.clients for one in group] for group in found] == [COUNTS] * 2
    (scales,) = sweeps(swept(), "scale")
    assert {one.clients for one in scales} == {5}
    assert len(scales) == 12
    assert sweeps(paper_grid(), "clients", 4) == []
    assert sweeps([run(clients=n, epsilon=n / 10) for n in (2, 3, 5)], "clients") == []


def test_seeds_belong_to_one_sweep() -> None:
    runs = [run(seed=seed, scale=scale) for seed in (0, 1) for scale in (1e-5, 1e-4, 1e-3)]
    assert [len(group) for group in sweeps(runs, "scale")] == [6]


@pytest.mark.parametrize(
    ("setting", "values"),
    [
        ("epsilon", [0.1, 0.02, 0.003]),
        ("clients", [2, 3, 5]),
        ("server_rate", [0.5, 1.0, 1.5]),
        ("epochs", [10, 9, 100]),
    ],
)
def test_any_number_may_be_swept_over(setting: str, values: list[float]) -> None:
    nested = setting == "epochs"
    runs = [run(**({"training": {setting: v}} if nested else {setting: v})) for v in values]
    assert swept_settings(runs) == [setting]
    (table,) = sweep_tables(runs)
    assert column(table, "Clients" if setting == "clients" else setting.replace("_", " ")) == [
        f"{value:g}" for value in sorted(values)
    ]
    assert sweep_tables(runs[:2]) == []


def test_words_and_seeds_are_not_swept_over() -> None:
    runs = [run(hidden=hidden, seed=i) for i, hidden in enumerate([(8,), (8, 8), (4,)])]
    assert swept_settings(runs) == []
    assert math.isnan(place(run(), "hidden"))
    assert math.isnan(place(run(), "screen"))
    assert place(run(scale="learned"), "scale") == math.inf


def test_a_row_for_each_scale_of_a_sweep() -> None:
    (table,) = sweep_table(swept(), "scale")
    assert table.name == "scales"
    assert column(table, "Scale")[:2] == ["1e-06", "3e-06"]
    assert column(table, "Scale")[-1] == "learned"
    names = {each.name for each in table.columns}
    assert {"U^dir (%)", "MC–IBP (%)", "Survival (%)"} <= names


def test_a_row_for_each_number_of_clients_with_what_else_is_asked_for() -> None:
    (table,) = sweep_table(swept(), "clients", 4, [proving("box").under("Cost")])
    assert column(table, "Clients") == [str(count) for count in COUNTS] * 2
    assert [each.name for each in table.columns if each.group == "Cost"] == ["box (s)"]
    assert "and cost" in table.title


def test_figures_are_those_of_the_deployed_rule() -> None:
    runs = [run(clients=n, rule="pog", claims=("direct",)) for n in (2, 3, 5)]
    for one in runs:
        one.claims["direct", "pog", "box"]["lower"] = 0.25
    (table,) = sweep_tables(runs)
    assert column(table, "box L^dir (%)") == ["25.00"] * 3
    assert rule_names(runs) == "PoG"
    assert table.caption.startswith("PoG, ")
