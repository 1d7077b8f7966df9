import pytest
from grid_runs import paper_grid, run

from fedcert.app.report.measures import bound
from fedcert.app.report.table import Spread
from reproduction.measures import retention
from reproduction.tables.ratios import ratio_of_means, ratios


def test_a_ratio_of_means_is_no_mean_of_ratios() -> None:
    runs = [run(concentration=0.5), run(concentration=10.0)]
    transported, direct = (bound(claim, "fedavg", "paper-box") for claim in ("transported", "direct"))
    expected = 100 * sum(transported.of(c) or 0 for c in runs) / sum(direct.of(c) or 0 for c in runs)
    assert ratio_of_means(runs, "paper-box") == pytest.approx(expected)
    mean = retention("paper-box").over(runs)
    assert mean is not None
    assert mean.mean != pytest.approx(expected)


def test_nothing_certified_has_no_ratio() -> None:
    assert ratio_of_means([], "box") is None
    assert ratio_of_means([run(events=("box",))], "projected") is None


@pytest.mark.slow
def test_pairs_and_groups_stand_beside_the_paper() -> None:
    beside, everything = ratios(paper_grid(1e-5, "learned"))
    assert len(beside.rows) == 6 + 12
    assert beside.rows[0][:4] == ("1×64", "MNIST", "both", 18)
    assert beside.rows[0][4] == pytest.approx(48.39, abs=0.005)
    both = {row[:2]: row for row in beside.rows if row[2] == "both"}
    assert both["2×64", "MNIST"][4] == pytest.approx(30.87, abs=0.005)
    entry = beside.rows[0][7]
    assert isinstance(entry, Spread)
    assert entry.count == 18
    assert {row[3] for row in everything.rows} == {"1e-05", "learned"}
