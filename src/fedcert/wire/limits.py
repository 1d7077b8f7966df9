"""What a message may hold at most: every cost that a stranger causes is bounded before it is paid.

The numbers are bounded so that no rule of a run over- or underflows. With n clients, |w_i| ≤ `MAX_WEIGHT` and
|x_i| ≤ `MAX_MAGNITUDE`, where x_i is a mean or an end point of a cell,

    |Σ_i w_i x_i| ≤ n 2^200 ≈ n 1.6e60,

and likewise √(Σ_i w_i² σ_i²); the offset of a server step is at most (1 + `MAX_WEIGHT`) |θ_0|, far below. An
average's largest weight is at least 1/n, an explicit one that is not 0 at least `MIN_WEIGHT`, so that

    √(Σ_i w_i² σ_i²) ≥ 2^-250 ≈ 5.5e-76

unless all those with a weight have σ_i = 0; then the deployed scale is 0, exactly. Both lie within what a
`DiagonalGaussian` may hold, 0 or 1e-100 … 1e100, and the squares and quotients of what is not 0 within double
precision. Of the published laws, `forward-kl` has the largest coefficients: √w_i S / √(Σ_j w_j σ_j²) is below
2^301, since S ≤ 2^101, and times a mean below 2^401, whose square is a double too. Trimmed means add up n
numbers of at most `MAX_MAGNITUDE`.
"""

from torch import Tensor

from fedcert.errors import InvalidLaw, InvalidMessage
from fedcert.families.disjoint import comparisons

SMALLEST_NORMAL = 2.0**-1022
MAX_LAW_TENSORS = 8
"""Tensors that state a law."""
MAX_CELLS = 10_000
"""Cells of a message."""
MAX_PROPERTIES = 10_000
"""Rows of `cells.member`."""
MAX_COMPARISONS = 2**29
"""Coordinates of pairs of cells that are compared to see that cells are disjoint: some two seconds' work."""
MAX_MAGNITUDE = 2.0**100
"""The largest absolute value of a mean, a scale or an end point of a cell, about 1.3e30."""
MIN_SCALE = 2.0**-150
"""The smallest scale of a parameter that is not fixed, about 7e-46; a fixed one has the scale 0."""
MIN_WEIGHT, MAX_WEIGHT = 2.0**-100, 2.0**100
"""The absolute value of an explicit weight that is not 0, and of the rate of a server step."""


def check_no_denormal(values: Tensor) -> None:
    """Refuse denormal numbers, which some hardware flushes to zero."""
    denormal = (values != 0) & (values.abs() < SMALLEST_NORMAL)
    if denormal.any():
        raise InvalidLaw(f"denormal number {values[denormal][0].item()}: send 0 instead")


def check_magnitude(values: Tensor, least: float = 0.0) -> None:
    """Refuse numbers with which a rule could over- or underflow.

    Args:
        values: means, scales or end points.
        least: the smallest absolute value of those that are not 0.
    """
    size = values.abs()
    outside = ~((size == 0) | ((size >= least) & (size <= MAX_MAGNITUDE)))
    if outside.any():
        raise InvalidMessage(
            f"{values[outside][0].item()} lies outside what a rule can be trusted with, 0 or {least} …"
            f" {MAX_MAGNITUDE} in absolute value: train again, or leave the client out"
        )


def check_comparisons(member: Tensor, dimension: int) -> None:
    """Refuse cells that take too long to be shown disjoint.

    Args:
        member: which cells belong to which property.
        dimension: n_w.
    """
    needed = comparisons(member, dimension)
    if needed > MAX_COMPARISONS:
        raise InvalidMessage(
            f"{needed} comparisons would show that the cells are disjoint, more than {MAX_COMPARISONS}: send"
            " fewer cells a property"
        )
