"""What `verifier.proven` takes for one box of parameters and one property."""

from collections.abc import Sequence

from fedcert_check.cost.rates import BALL_BYTES, ELEMENT_SECONDS, PRODUCT_SECONDS, STEP_SECONDS
from fedcert_check.document import Document

SIGNED_OPERATIONS, RECTIFIED_OPERATIONS = (
    28,
    9,
)  # on a weight, for inputs of both signs and for those of a ReLU
INPUT_OPERATIONS, HIDDEN_OPERATIONS = 26, 20  # on a coefficient of a row, at the input and at a hidden layer
SETTLING_OPERATIONS = 18  # on one between two ends, where activations have both signs
LIVE_ARRAYS = 8  # of coefficients at a time
PASSES = 2  # with either line below a ReLU
Maps = Sequence[tuple[int, int]]
"""Numbers of inputs and outputs of the layers that are no activations."""


def proving_seconds(document: Document) -> float:
    """Intervals, and lines below the ReLUs twice."""
    network, constraints = document.network, document.properties.C.shape[1]
    maps, signed = network.maps, not network.rectified
    weights = [a * b for a, b in maps]
    touched = sum(weights) * (SIGNED_OPERATIONS if signed else RECTIFIED_OPERATIONS)
    touched += SIGNED_OPERATIONS * weights[0]
    seconds = touched * ELEMENT_SECONDS + len(weights) * STEP_SECONDS
    seconds += _carried(maps[:1], constraints, signed)
    deep = _deep(maps, signed)
    hidden = sum(_carried(maps[: depth + 1], 2 * maps[depth][1], signed) for depth in deep)
    last = _carried(maps, constraints, signed)
    return seconds + PASSES * (touched * ELEMENT_SECONDS + hidden + last)


def proving_bytes(document: Document) -> float:
    """The arrays of the largest step: all weights of a layer, or the rows of one carried back."""
    maps, constraints = document.network.maps, document.properties.C.shape[1]
    weights = max(a * b for a, b in maps)
    deep = _deep(maps, not document.network.rectified)
    rows = max([constraints, *(2 * maps[depth][1] for depth in deep)])
    return BALL_BYTES * LIVE_ARRAYS * (weights / 2 + rows * max(width for own in maps for width in own))


def _deep(maps: Maps, signed: bool) -> range:
    """The hidden layers whose ranges are carried back; behind an activation at the input also the first."""
    return range(0 if signed else 1, len(maps) - 1)


def _carried(maps: Maps, rows: int, signed: bool) -> float:
    """Seconds of carrying rows back from the outputs of the last of some linear layers to the input."""
    seconds = 0.0
    for place, (before, after) in enumerate(maps):
        products, operations = (4, INPUT_OPERATIONS) if place == 0 else (2, HIDDEN_OPERATIONS)
        if signed and place > 0:
            products, operations = 4, HIDDEN_OPERATIONS + SETTLING_OPERATIONS
        seconds += STEP_SECONDS + products * rows * before * after * PRODUCT_SECONDS
        seconds += (operations * rows * before + 6 * rows * after + 8 * before * after) * ELEMENT_SECONDS
    return seconds
