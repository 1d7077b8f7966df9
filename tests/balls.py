"""What ball arithmetic is compared with: exact fractions, quadrature, samples of a ball."""

from collections.abc import Callable
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
from flint import acb, arb, ctx


@contextmanager
def precision(bits: int):
    saved, ctx.prec = ctx.prec, bits
    try:
        yield
    finally:
        ctx.prec = saved


def dyadic(value: Fraction) -> arb:
    """A fraction whose denominator is a power of two, exactly."""
    with precision(10_000):
        return arb(value.numerator) / arb(value.denominator)


def integral(function: Callable[[acb], acb], a: float, b: float) -> arb:
    """∫ f from a to b, enclosed."""
    return acb.integral(lambda z, _: function(z), a, b).real


def density(z: acb) -> acb:
    """φ(z)."""
    return (-z * z / 2).exp() / (2 * acb.pi()).sqrt()


def normal_tail(z: acb) -> acb:
    """Q(z)."""
    return (z / acb(2).sqrt()).erfc() / 2


def exact_folded_mean(mean: arb, deviation: arb) -> arb:
    """E |m + r Z| = |m| + 2 r (φ(ν) − ν Q(ν)), ν = |m|/r."""
    size = abs(mean)
    if deviation == 0:
        return size
    nu = size / deviation
    return size + 2 * deviation * ((-nu * nu / 2).exp() / (2 * arb.pi()).sqrt() - nu * tail(nu))


def tail(z: arb) -> arb:
    """Q(z)."""
    return (z / arb(2).sqrt()).erfc() / 2


def between(low: float, high: float) -> arb:
    """The ball from one number to another."""
    return arb(low).union(arb(high))


def array(*values: float | arb) -> np.ndarray:
    """Balls."""
    return np.array([v if isinstance(v, arb) else arb(v) for v in values], dtype=object)


def inside(ball: arb, count: int = 5) -> list[float]:
    """Some numbers of a ball, its ends among them."""
    return [float(v) for v in np.linspace(float(ball.lower()), float(ball.upper()), count)]
