"""The level of a confidence bound: β is the decimal number its float is printed as; 1 − β rounds down."""

import math
from fractions import Fraction


def allowed(beta: float) -> Fraction:
    """β, with which any of the limits may be wrong.

    Args:
        beta: as a file states it.

    >>> allowed(0.05)
    Fraction(1, 20)
    """
    return Fraction(repr(beta))


def confidence_of(beta: float) -> float:
    """The largest float whose decimal number is at most 1 − β.

    Args:
        beta: as a file states it.

    >>> confidence_of(0.05), confidence_of(1e-20) < 1
    (0.95, True)
    """
    exact = 1 - allowed(beta)
    found = float(exact)
    while Fraction(repr(found)) > exact:
        found = math.nextafter(found, 0.0)
    return found


def confidence_words(confidence: float | Fraction) -> str:
    """A confidence in per cent, rounded down to eight digits after the point.

    Args:
        confidence: 1 − β; a float is the decimal number that it is printed as.

    >>> confidence_words(0.95), confidence_words(1 - allowed(1e-12))
    ('95 %', '99.99999999 %')
    """
    exact = Fraction(repr(confidence)) if isinstance(confidence, float) else confidence
    whole, rest = divmod(math.floor(exact * 10**10), 10**8)
    return f"{whole}.{rest:08}".rstrip("0").rstrip(".") + " %"
