from grid_runs import run

from fedcert.app.report.figures.curves import MAX_PANELS, pair_name, panels, points, scale_words, selected
from fedcert.app.report.measures import accuracy


def test_points_are_means_over_seeds_in_order() -> None:
    runs = [run(clients=clients, seed=seed) for clients in (5, 2) for seed in (0, 1)]
    xs, ys = points(runs, accuracy("fedavg"), lambda one: float(one.clients))
    assert xs == [2.0, 5.0]
    assert ys[0] == 50 * (runs[2].summary["accuracy"] + runs[3].summary["accuracy"])


def test_panels_show_as_many_pairs_as_possible() -> None:
    groups = [[run(hidden=hidden, concentration=c)] * 3 for hidden in ((64,), (128,)) for c in (0.5, 1, 2, 5)]
    chosen = selected(groups)
    assert len(chosen) == MAX_PANELS
    assert [sum(group[0].architecture == name for group in chosen) for name in ("1×64", "1×128")] == [3, 3]


def test_there_are_no_empty_panels() -> None:
    for count in range(1, MAX_PANELS + 1):
        figure, axes = panels([[run()]] * count, "probability")
        assert len(figure.axes) == len(axes) == count


def test_words() -> None:
    assert pair_name(("fashion-mnist", "2×64"), "\n") == "FMNIST\n2×64"
    assert scale_words([run()]) == "scale 1e-05"
    assert scale_words([run(scale="learned")]) == "learned scale"
