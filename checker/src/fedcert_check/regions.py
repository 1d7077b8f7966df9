"""Whether input regions are the balls that a certificate names, in real numbers."""

import numpy as np

from fedcert_check.properties import Properties
from fedcert_check.validation import Array, require


def require_regions(
    properties: Properties, boxes: tuple[Array, Array], reach: Array, domain: tuple[float, float] | None
) -> None:
    """Every region is {x' in the domain: ℓ_j − reach_j ≤ x'_j ≤ u_j + reach_j} in real numbers.

    Its ends are rounded outward. A ball around an input x is ℓ = u = x. Lower bounds need a region that
    contains the ball, upper bounds one that is no larger.

    Args:
        properties: whose regions are held against the balls.
        boxes: ℓ and u, each of shape (P, p).
        reach: of shape (P, p) or (P, 1).
        domain: to which balls are cut; None for no limits.
    """
    low, high = (-np.inf, np.inf) if domain is None else domain
    least, most = boxes
    below = (properties.lower <= low) | at_most(properties.lower, least, -reach)
    above = (properties.upper >= high) | at_most(-properties.upper, -most, -reach)
    for p in np.flatnonzero(~(below & above).all(1))[:1]:
        require(False, f"the region of property {p} does not contain the ball that the subject names")
    tight = _within(-properties.lower, -np.maximum(least - reach, low))
    tight &= _within(properties.upper, np.minimum(most + reach, high))
    for p in np.flatnonzero(~tight.all(1))[:1]:
        require(False, f"the region of property {p} is larger than the ball that the subject names")


def outward(radius: Array, weights: Array | None) -> Array:
    """How far a ball reaches in each coordinate: at least r w_j, and more by two floats at most.

    The product is rounded to the nearest float, then up by one. A product with 0 is 0: it is fixed.

    Args:
        radius: r, of shape (P, 1).
        weights: w, of shape (P, p); None where all are 1.
    """
    if weights is None:
        return radius
    with np.errstate(over="ignore", under="ignore"):
        product = np.nextafter(radius * weights, np.inf)
    return np.where((radius == 0) | (weights == 0), 0.0, product)


def at_most(bound: Array, x: Array, y: Array) -> Array:
    """Whether bound ≤ x + y in real numbers: by Knuth's sum x + y is exactly total + error.

    Args:
        bound: compared with the sum.
        x: one summand.
        y: the other one.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = x + y
        back = total - x
        error = (x - (total - back)) + (y - back)
        return np.asarray((bound < total) | ((bound == total) & (error >= 0)))


def _within(end: Array, most: Array) -> Array:
    """Whether an end is at most two floats beyond another one: the rounded end, and one step outward."""
    most = np.nextafter(np.nextafter(most, np.inf), np.inf)
    return np.asarray(end <= most)
