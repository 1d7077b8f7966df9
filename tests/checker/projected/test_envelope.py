"""The exponential above the normal's tail, in balls."""

import pytest
import torch
from balls import between
from flint import arb

from fedcert.numerics.envelope import log_envelope as fast
from fedcert_check.balls import tail
from fedcert_check.projected.envelope import log_envelope


@pytest.mark.parametrize("c", [0.0, 0.5, 0.9, 2.0, 4.5, 20.0, 35.0, 80.0])
def test_it_is_above_the_tail_and_as_the_fast_path_has_it(c: float) -> None:
    bound = log_envelope(arb(c))
    for v in (0.0, 0.1, c / 2, max(0.0, c - 0.3), c, c + 1, 2 * c):
        assert tail(arb(v)).log() + arb(c) * v <= bound
    assert 0 <= bound <= arb(c) ** 2 / 2
    theirs = fast(torch.tensor([c], dtype=torch.float64)).item()
    assert bound <= arb(theirs)
    assert c > 36 or theirs - float(bound) < 1e-9 * (1 + c * c)


def test_a_ball_is_bounded_at_its_upper_end_and_an_unbounded_one_not_at_all() -> None:
    assert log_envelope(between(1, 3)) >= log_envelope(arb(3))
    for bad in (arb("nan"), arb("inf"), arb(0, float("inf")), arb(-1)):
        assert not log_envelope(bad) < 1e9
