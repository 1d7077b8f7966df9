import pytest
from grid_cells import cell

from fedcert.app.report.figures.hierarchy import hierarchy, our_heights, paper_heights


def test_heights_are_means_by_pair() -> None:
    cells = [cell(concentration=0.5), cell(concentration=10.0), cell(dataset="digits")]
    heights = our_heights(cells, "box")
    assert list(heights) == [("mnist", "1×64"), ("digits", "1×64")]
    bounds = [one.lower["transported", "fedavg", "box"] for one in cells[:2]]
    assert heights["mnist", "1×64"]["transported"] == pytest.approx(50 * sum(bounds))
    assert set(heights["mnist", "1×64"]) == {"local", "transported", "direct", "mc_ibp"}


def test_pairs_without_the_events_are_left_out() -> None:
    assert our_heights([cell(events=("box",))], "projected") == {}


def test_the_papers_heights_are_its_aggregates() -> None:
    heights = paper_heights()
    assert len(heights) == 6
    assert heights["mnist", "2×64"]["transported"] == pytest.approx(22.51, abs=0.005)


def test_a_grid_of_ones_own_has_no_panel_of_the_papers() -> None:
    (own,) = hierarchy([cell(dataset="digits", events=("box", "projected"))])
    assert "Table 2" not in own.svg
    assert hierarchy([]) == []


@pytest.mark.parametrize("pairs", [2, 5])
def test_three_panels_leave_no_empty_one(pairs: int) -> None:
    (picture,) = hierarchy([cell(dataset="digits", hidden=(8 * k,)) for k in range(1, pairs + 1)])
    assert "(c) ours, projected" in picture.svg
    assert "(d)" not in picture.svg
