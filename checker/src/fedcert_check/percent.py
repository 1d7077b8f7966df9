"""Proven probabilities for people to read: rounded so that what is shown holds as well."""

import math
from fractions import Fraction


def percent_down(probability: float) -> str:
    """A proven lower bound in per cent, rounded down.

    >>> percent_down(0.99999)
    '99.99 %'
    """
    return f"{math.floor(Fraction(probability) * 10_000) / 100:.2f} %"


def percent_up(probability: float) -> str:
    """A proven upper bound in per cent, rounded up.

    >>> percent_up(0.99991)
    '100.00 %'
    """
    return f"{math.ceil(Fraction(probability) * 10_000) / 100:.2f} %"


def bounds(lower: float, upper: float | None) -> str:
    """Proven bounds in per cent, rounded outward.

    >>> bounds(0.5, 0.99991), bounds(0.5, None)
    ('[50.00, 100.00]', '50.00')
    """
    least = percent_down(lower).removesuffix(" %")
    return least if upper is None else f"[{least}, {percent_up(upper).removesuffix(' %')}]"


def exact_bounds(lower: float, upper: float | None) -> str:
    """Proven bounds to the last digit.

    >>> exact_bounds(0.1, None), exact_bounds(0.1, 0.25)
    ('0.1', '[0.1, 0.25]')
    """
    return repr(lower) if upper is None else f"[{lower!r}, {upper!r}]"
