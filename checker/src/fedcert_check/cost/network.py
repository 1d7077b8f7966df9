"""What `network.proven` takes for one box of parameters and one property."""

from itertools import pairwise

from fedcert_check.cost.rates import BALL, ELEMENT, PRODUCT, STEP
from fedcert_check.document import Document

SIGNED, UNSIGNED = 28, 9  # operations on a weight, for inputs of both signs and for those of a ReLU
FIRST, DEEP = 26, 20  # operations on a coefficient of a row, at the input and at a hidden layer
LIVE = 8  # arrays of coefficients at a time
PASSES = 2  # with either line below a ReLU


def widths(document: Document) -> tuple[int, ...]:
    """Inputs, then outputs of each affine layer."""
    affine = [layer for layer in document.network if layer.linear]
    return (affine[0].inputs, *(layer.outputs for layer in affine))


def proving_seconds(document: Document) -> float:
    """Intervals, and lines below the ReLUs twice."""
    sizes, constraints = widths(document), document.properties.C.shape[1]
    weights = [a * b for a, b in pairwise(sizes)]
    touched = sum(weights) * (UNSIGNED if alternating(document) else SIGNED) + SIGNED * weights[0]
    seconds = touched * ELEMENT + len(weights) * STEP + _carried(sizes, 0, constraints)
    if alternating(document):
        hidden = sum(_carried(sizes[: depth + 2], depth, 2 * sizes[depth + 1]) for depth in _deep(sizes))
        seconds += PASSES * (touched * ELEMENT + hidden + _carried(sizes, len(sizes) - 2, constraints))
    return seconds


def proving_bytes(document: Document) -> float:
    """The arrays of the largest step: all weights of a layer, or the rows of one carried back."""
    sizes, constraints = widths(document), document.properties.C.shape[1]
    weights = max(a * b for a, b in pairwise(sizes))
    rows = max([constraints, *(2 * sizes[depth + 1] for depth in _deep(sizes))])
    return BALL * LIVE * (weights / 2 + rows * max(sizes))


def alternating(document: Document) -> bool:
    """Whether affine layers and ReLUs take turns, so that lines are tried."""
    return all(layer.linear == (place % 2 == 0) for place, layer in enumerate(document.network))


def _deep(sizes: tuple[int, ...]) -> range:
    """The hidden layers whose ranges are carried back."""
    return range(1, len(sizes) - 2)


def _carried(sizes: tuple[int, ...], depth: int, rows: int) -> float:
    """Seconds of carrying rows back from the outputs of one affine layer to the input."""
    seconds = 0.0
    for place in range(depth + 1):
        before, after = sizes[place], sizes[place + 1]
        products, operations = (4, FIRST) if place == 0 else (2, DEEP)
        seconds += STEP + products * rows * before * after * PRODUCT
        seconds += (operations * rows * before + 6 * rows * after + 8 * before * after) * ELEMENT
    return seconds
