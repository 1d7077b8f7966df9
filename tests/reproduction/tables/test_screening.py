import pytest
from grid_runs import run

from fedcert.app.report.table import Spread
from reproduction.tables.screening import screening


def test_runs_stand_beside_their_twins() -> None:
    places = [{"clients": n, "concentration": c} for n in (2, 5) for c in (0.5, 0.6, 10.0)]
    screened = [run(**place) for place in places]
    unscreened = [run(**place, screen=False, epsilon=0.002) for place in places]
    lonely = [run(clients=3), run(clients=3, screen=False, scale=1e-3)]
    (table,) = screening([*screened, *unscreened, *lonely])
    assert [row[2:5] for row in table.rows] == [
        (2, "Non-IID", 2),
        (2, "IID", 1),
        (5, "Non-IID", 2),
        (5, "IID", 1),
    ]
    first = table.rows[0][5]
    assert isinstance(first, Spread)
    expected = [100 * one.claims["transported", "fedavg", "paper-box"]["lower"] for one in screened[:2]]
    assert first.mean == pytest.approx(sum(expected) / 2)


def test_nothing_is_said_where_nothing_was_run_both_ways() -> None:
    assert screening([run(), run(clients=2)]) == []
    assert screening([run(screen=False)]) == []
