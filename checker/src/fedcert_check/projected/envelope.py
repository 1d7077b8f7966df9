"""The least exponential above the tail of a normal (docs/soundness.md, 9.6), in balls.

C(c) = sup_v e^(cv) V(v), V(v) = Q(v) for v > 0 and 1 for v ≤ 0. For every v_0 ≥ 0, with ρ = φ/Q,

    log C(c) ≤ max(0, log Q(v_0) + c v_0 + π (c − ρ(v_0))²/4).
"""

import math

from flint import arb

from fedcert_check.balls import ZERO, tail
from fedcert_check.projected.forms import Form

STEPS = 8  # of Newton's method
FARTHEST = 1e6  # beyond which c²/2 is near enough


def log_envelope(c: arb) -> arb:
    """An upper bound of log C(c) for every number of the ball c ≥ 0, at most c²/2."""
    most = c.upper()
    if not most >= 0:
        return arb("inf")
    moment = most * most / 2
    if not most < FARTHEST:
        return moment
    v = arb(_touching(float(most)))
    share = tail(v)
    density = (-v * v / 2).exp() / (2 * arb.pi()).sqrt()
    found = (share.log() + most * v + arb.pi() * (most - density / share) ** 2 / 4).upper()
    least = found if found < moment else moment
    return least if least > 0 else ZERO


def own_exponent(form: Form, silent: Form, r: int, rate: arb, reach: arb) -> arb | None:
    """K(λ) of one row, with log C(λ s) for the noise of its own layer, s = reach, where that is less.

    Args:
        form: the rows.
        silent: the same without the noise of their own layer.
        r: the row.
        rate: λ.
        reach: s.
    """
    rest = silent.exponent(r, rate)
    found = None if rest is None else rest + log_envelope(rate * reach)
    if form.later:  # C(λ s) ≤ e^(λ² s²/2)
        return found
    K = form.exponent(r, rate)
    return found if K is None or (found is not None and found < K) else K


def _touching(c: float) -> float:
    """About the v ≥ 0 with φ(v)/Q(v) = c."""
    v = max(0.0, c - 1 / max(1.0, c))
    for _ in range(STEPS):
        if v > 37:  # where the tail underflows
            return v
        rho = math.exp(-v * v / 2) / math.sqrt(2 * math.pi) / (math.erfc(v / math.sqrt(2)) / 2)
        v = max(0.0, v + (c - rho) / max(rho * (rho - v), 2 / math.pi))
    return v
