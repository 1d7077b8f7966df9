import numpy as np
from grid_runs import run

from fedcert.app.report.measures import bound
from reproduction.figures.heat_map import heat_maps, table_of


def test_rows_are_pairs_and_clients_and_columns_concentrations() -> None:
    runs = [run(clients=2, concentration=0.5), run(clients=3, concentration=1.0)]
    rows = [(("mnist", "1×64"), 2), (("mnist", "1×64"), 3)]
    measure = bound("direct", "fedavg", "box")
    found = table_of(runs, rows, [0.5, 1.0], measure)
    assert found[0, 0] == measure.of(runs[0])
    assert found[1, 1] == measure.of(runs[1])
    assert np.isnan(found[[0, 1], [1, 0]]).all()


def test_bounds_are_rounded_down() -> None:
    runs = [
        run(clients=clients, concentration=concentration, events=("box",))
        for clients in (2, 3)
        for concentration in (7.0, 10.0)
    ]
    for one in runs:
        one.claims["direct", "fedavg", "box"]["lower"] = 0.99999
    (picture,) = heat_maps(runs)
    assert ">99</text>" in picture.svg
    assert picture.svg.count(">100</text>") == 1  # that of the colour bar
    assert picture.name == "heat-map-1e-05"


def test_a_line_is_no_map() -> None:
    assert heat_maps([run(clients=2), run(clients=3)]) == []
