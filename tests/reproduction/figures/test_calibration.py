from grid_runs import run

from reproduction.figures.calibration import calibration, our_points, paper_points


def test_a_point_for_each_cell_and_law() -> None:
    one = run()
    assert our_points([one], "box") == [
        ("1×64", law, 100 * one.claims["direct", law, "box"]["lower"], 100 * one.estimate("mc-ibp")[law])
        for law in ("pog", "fedavg")
    ]
    assert our_points([run(events=("box",))], "projected") == []


def test_all_the_papers_points_lie_above_equality() -> None:
    points = paper_points()
    assert len(points) == 72
    assert all(sampled > direct for _, _, direct, sampled in points)


def test_nothing_is_drawn_of_nothing() -> None:
    assert calibration([]) == []
