from grid_cells import cell

from fedcert.app.report.figures.curves import MOST, panels, points, selected
from fedcert.app.report.measures import accuracy


def test_points_are_means_over_seeds_in_order() -> None:
    cells = [cell(clients=clients, seed=seed) for clients in (5, 2) for seed in (0, 1)]
    xs, ys = points(cells, accuracy("fedavg"), lambda one: float(one.clients))
    assert xs == [2.0, 5.0]
    assert ys[0] == 50 * (cells[2].accuracy["fedavg"] + cells[3].accuracy["fedavg"])


def test_panels_show_as_many_pairs_as_possible() -> None:
    groups = [
        [cell(hidden=hidden, concentration=c)] * 3 for hidden in ((64,), (128,)) for c in (0.5, 1, 2, 5)
    ]
    chosen = selected(groups)
    assert len(chosen) == MOST
    assert [sum(group[0].hidden == hidden for group in chosen) for hidden in ((64,), (128,))] == [3, 3]


def test_there_are_no_empty_panels() -> None:
    for count in range(1, MOST + 1):
        figure, axes = panels([[cell()]] * count, "probability")
        assert len(figure.axes) == len(axes) == count
