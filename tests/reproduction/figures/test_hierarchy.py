import pytest
from grid_runs import run

from reproduction.figures.hierarchy import hierarchy, our_heights, paper_heights


def test_heights_are_means_by_pair() -> None:
    runs = [run(concentration=0.5), run(concentration=10.0), run(dataset="fashion-mnist")]
    heights = our_heights(runs, "box")
    assert list(heights) == [("mnist", "1×64"), ("fashion-mnist", "1×64")]
    bounds = [one.claims["transported", "fedavg", "box"]["lower"] for one in runs[:2]]
    assert heights["mnist", "1×64"]["transported"] == pytest.approx(50 * sum(bounds))
    assert set(heights["mnist", "1×64"]) == {"local", "transported", "direct", "mc_ibp"}


def test_pairs_without_the_events_are_left_out() -> None:
    assert our_heights([run(events=("box",))], "projected") == {}


def test_the_papers_heights_are_its_aggregates() -> None:
    heights = paper_heights()
    assert len(heights) == 6
    assert heights["mnist", "2×64"]["transported"] == pytest.approx(22.51, abs=0.005)


@pytest.mark.slow
def test_the_papers_panel_shows_the_pairs_that_ours_show() -> None:
    (picture,) = hierarchy([run(events=("box",))])
    assert "(b) the paper's Table 2" in picture.svg
    assert "FMNIST" not in picture.svg
    assert "(c)" not in picture.svg


def test_other_grids_are_not_shown() -> None:
    assert hierarchy([]) == hierarchy([run(dataset="digits"), run(epsilon=0.5)]) == []
