from grid_cells import cell

from fedcert.app.report.figures.against_clients import against_clients, cost


def test_the_papers_three_counts_are_no_sweep() -> None:
    cells = [cell(clients=clients) for clients in (2, 3, 5)]
    assert against_clients(cells) == cost(cells) == []


def test_few_counts_are_ticks_of_their_own() -> None:
    (picture,) = against_clients([cell(clients=clients, events=("box",)) for clients in (2, 3, 7, 900)])
    for count in (2, 3, 7, 900):
        assert f">{count}</text>" in picture.svg
    assert "paper-box" not in picture.svg
