import pytest
from grid_runs import paper_grid, run

from reproduction.tables.times import papers_seconds, speed_up, times


def test_the_papers_seconds_are_those_of_its_row() -> None:
    assert papers_seconds(run(clients=2, concentration=0.6)) == 330.97
    assert papers_seconds(run(clients=2, concentration=1.0)) is None
    assert papers_seconds(run(clients=2, concentration=0.6, scale="learned")) is None


def test_the_speed_up_counts_training_messages_claims_and_sampling() -> None:
    one = run(clients=2, concentration=0.6)
    claims = sum(row["seconds"] for (*_, events), row in one.claims.items() if events == "paper-box")
    stages = ("data", "training", "properties", "messages", "estimates")
    spent = sum(one.summary["timings"][name] for name in stages)
    assert speed_up(one) == pytest.approx(330.97 / (claims + spent))
    assert speed_up(run(clients=2, concentration=0.6, events=("box",))) is None


@pytest.mark.slow
def test_the_papers_seconds_are_explained_where_they_stand() -> None:
    (table,) = times(paper_grid(1e-5, "learned"))
    assert len(table.rows) == 36
    assert [column.name for column in table.columns[-2:]] == ["Paper (s)", "Speed-up"]
    assert "another machine" in table.caption
    (own,) = times([run(dataset="digits")])
    assert "paper's seconds" not in own.caption
