import pytest
from grid_runs import run, summary

from fedcert.app.report.runs import FinishedRun
from reproduction.measures import law_seconds, retention


def test_retention_is_unknown_where_nothing_is_certified() -> None:
    nothing = summary()
    for row in nothing["summary"]:
        row["lower"] = 0.0
    assert retention("box").of(FinishedRun(nothing, ())) is None
    assert retention("box").of(run(events=("projected",))) is None
    assert retention("box").of(run()) == pytest.approx(100 * 0.998 / 0.999)


def test_a_law_takes_training_its_claims_and_the_cells_of_its_events() -> None:
    one = run(clients=4)
    timings = one.summary["timings"]
    before = timings["training"] + timings["properties"]
    assert law_seconds("pog", "box").of(one) == pytest.approx(before + 2.0)
    assert law_seconds("pog", "paper-box").of(one) == pytest.approx(before + timings["messages"] + 0.8)
    assert law_seconds("pog", "box").of(run(events=("projected",))) is None
