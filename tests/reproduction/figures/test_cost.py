import pytest
from grid_runs import run

from reproduction.figures.cost import cost


def test_the_papers_three_counts_are_no_sweep() -> None:
    assert cost([run(clients=clients) for clients in (2, 3, 5)]) == []


@pytest.mark.slow
def test_messages_cost_where_they_hold_cells() -> None:
    (without,) = cost([run(clients=clients, events=("box",)) for clients in (2, 3, 7, 900)])
    assert "claims, box" in without.svg
    assert "messages" not in without.svg
    (within,) = cost([run(clients=clients) for clients in (2, 3, 7, 900)])
    assert "messages (the paper's cells)" in within.svg
    for count in (2, 3, 7, 900):
        assert f">{count}</text>" in within.svg
