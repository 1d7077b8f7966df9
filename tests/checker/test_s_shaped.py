"""The checker's lines around tanh and the logistic function, in ball arithmetic of many more digits."""

import numpy as np
import pytest
from flint import arb, ctx
from problems import normal

from fedcert.randomness import stream
from fedcert_check.balls import PRECISION, Interval, exact
from fedcert_check.s_shaped import SShaped

SIZES = [1e-300, 1e-9, 1.0, 30.0, 1e5, 1e9, 1e200]


def value(logistic: bool, a: arb) -> arb:
    return 1 / (1 + (-a).exp()) if logistic else a.tanh()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("logistic", [False, True])
def test_images_and_lines_lie_around_the_function(logistic: bool, size: float) -> None:
    ends = np.sort(size * normal(stream(0, "S-shaped"), 2, 20).numpy(), axis=0)
    with ctx.workprec(PRECISION):
        h = Interval(exact(ends[0]), exact(ends[1]))
        image, lines = SShaped(logistic).image(h), SShaped(logistic).lines(h)
    with ctx.workprec(2000):
        for i, (low, high) in enumerate(zip(*h, strict=True)):
            points = [low + (high - low) * k / 32 for k in range(33)]
            points += [x for x in (arb(k) / 2 for k in range(-20, 21)) if low <= x <= high]
            for a in points:
                truth = value(logistic, a)
                assert not image.lower[i] > truth
                assert not image.upper[i] < truth
                assert not lines.slope_below[i] * a + lines.height_below[i] > truth
                assert not lines.slope_above[i] * a + lines.height_above[i] < truth


def test_the_logistic_function_is_never_negative() -> None:
    """Far below 0 it is nearly 0, but what multiplies it may be 1e240."""
    with ctx.workprec(PRECISION):
        h = Interval(exact(np.array([-1e250, -1e56])), exact(np.array([-9e249, -9e55])))
        assert all(low >= 0 for low in SShaped(True).image(h).lower)
        assert all(height >= 0 for height in SShaped(True).lines(h).height_below)
