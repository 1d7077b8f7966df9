import numpy as np
from grid_cells import cell

from fedcert.app.report.figures.heat_map import heat_maps, table_of
from fedcert.app.report.measures import bound


def test_rows_are_pairs_and_clients_and_columns_concentrations() -> None:
    cells = [cell(clients=2, concentration=0.5), cell(clients=3, concentration=1.0)]
    rows = [(("mnist", "1×64"), 2), (("mnist", "1×64"), 3)]
    measure = bound("direct", "fedavg", "box")
    found = table_of(cells, rows, [0.5, 1.0], measure)
    assert found[0, 0] == measure.of(cells[0])
    assert found[1, 1] == measure.of(cells[1])
    assert np.isnan(found[[0, 1], [1, 0]]).all()


def test_bounds_are_rounded_down() -> None:
    cells = [
        cell(clients=clients, concentration=concentration, events=("box",))
        for clients in (2, 3)
        for concentration in (100.0, 200.0)
    ]
    (picture,) = heat_maps(cells)
    assert {f"{100 * one.lower['direct', 'fedavg', 'box']:.0f}" for one in cells} == {"100"}
    assert ">99</text>" in picture.svg
    assert picture.name == "heat-map-1e-05"


def test_a_line_is_no_map() -> None:
    assert heat_maps([cell(clients=2), cell(clients=3)]) == []
