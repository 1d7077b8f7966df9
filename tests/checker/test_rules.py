"""Images and pushforwards of the checker against rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from fedcert.errors import InvalidCertificate
from fedcert_check import rules
from fedcert_check.balls import PRECISION, exact
from fedcert_check.document import Client, Rule
from fedcert_check.network import Interval


def ball(x: Fraction) -> arb:
    return arb(x.numerator) / x.denominator


@given(st.integers(0, 2**32), st.sampled_from(["linear", "trimmed", "median"]))
def test_the_image_is_exact(seed: int, kind: str) -> None:
    random = np.random.default_rng(seed)
    low = random.normal(size=(4, 2))
    high = low + random.uniform(size=(4, 2))
    weights, offset = (
        (random.normal(size=(4, 2)), random.normal(size=2)) if kind == "linear" else (None, None)
    )
    rule = Rule("", 4, weights, offset, 0 if kind == "trimmed" else 1)
    with ctx.workprec(PRECISION):
        image = rules.image(rule, [Interval(exact(a), exact(b)) for a, b in zip(low, high, strict=True)])
        for d in range(2):
            if weights is None or offset is None:
                kept = slice(rule.trim, 4 - rule.trim)
                least, most = (
                    sum(Fraction(v) for v in sorted(end[:, d])[kept]) / len(range(4)[kept])
                    for end in (low, high)
                )
            else:
                ends = [
                    [Fraction(w) * Fraction(v) for v in (a, b)]
                    for w, a, b in zip(weights[:, d], low[:, d], high[:, d], strict=True)
                ]
                least = Fraction(offset[d]) + sum(min(pair) for pair in ends)
                most = Fraction(offset[d]) + sum(max(pair) for pair in ends)
            with ctx.workprec(600):  # enough for the rational numbers to be exact
                assert ball(least) - 1e-30 <= image.lower[d] <= ball(least)
                assert ball(most) <= image.upper[d] <= ball(most) + 1e-30


def test_the_deployed_law_and_rules_without_one() -> None:
    none = np.zeros((0, 1))
    clients = [Client("", "", np.array([m]), np.array([s]), none, none) for m, s in ((1.0, 3.0), (5.0, 2.0))]
    with ctx.workprec(PRECISION):
        loc, scale = rules.deployed(Rule("", 2, np.array([[1.0], [-2.0]]), np.array([0.5]), 0), clients)
        assert (float(loc[0]), float(scale[0])) == (-8.5, 5.0)
        with pytest.raises(InvalidCertificate, match="no density"):
            rules.deployed(Rule("", 2, np.zeros((2, 1)), None, 0), clients)
        with pytest.raises(InvalidCertificate, match="no Gaussian law"):
            rules.deployed(Rule("", 2, None, None, 0), clients)
