import pytest
from grid_runs import run

from fedcert.app.report.table import Spread
from reproduction.tables.ceilings import ceilings


def test_the_closed_form_stands_beside_the_paper_and_us() -> None:
    (table,) = ceilings([run(hidden=(64,)), run(hidden=(64,), concentration=0.5), run(hidden=(128,))])
    rows = {row[0]: row for row in table.rows}
    assert set(rows) == {"1×64", "1×128"}
    _, weights, narrow, wide, largest, smallest, ours = rows["1×64"]
    assert isinstance(narrow, Spread)
    assert isinstance(wide, Spread)
    assert isinstance(ours, Spread)
    assert weights == 50_890
    assert narrow.mean == pytest.approx(32.5, abs=0.1)
    assert (wide.mean, wide.deviation) == pytest.approx((96.29, 1.05), abs=0.01)
    assert largest == pytest.approx(95.78, abs=0.05)
    assert smallest == pytest.approx(92.1, abs=0.1)
    assert ours.count == 2
    assert ours.mean == pytest.approx(86.4, abs=0.1)  # 96 % × 1/(1 + 1/9), as the runs are made


def test_other_scales_and_protocols_have_no_place_there() -> None:
    assert ceilings([run(scale=1e-3), run(epsilon=0.1)]) == []
    assert ceilings([run(events=("box",))]) == []
