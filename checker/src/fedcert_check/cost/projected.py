"""What it takes to prove a certificate of `projected` events."""

from typing import NamedTuple

import numpy as np

from fedcert_check.cost import Cost
from fedcert_check.cost.network import widths
from fedcert_check.cost.rates import BALL, COEFFICIENT, ELEMENT, ENTRY, FACTOR, MOMENT, PRODUCT, STEP, TAIL
from fedcert_check.document import Document
from fedcert_check.parallel import pieces
from fedcert_check.projected import EXACT
from fedcert_check.projected.inversion import MOST_TERMS, RATES
from fedcert_check.projected.tails import MOST_CELLS, MOST_COUNTED

LAW, SHARE = 12, 8  # operations on a parameter of a law, and of a client's share of it
PASSES = 4.0  # what is not proved with 64 bits is tried with 128 and with 256: some four times the work
LATER = 3  # factors of a characteristic function beside those of the first layer's neurons
LIVE = 6  # arrays of coefficients at a time
Widths = tuple[int, ...]


class Rows(NamedTuple):
    """Rows that are carried back from the outputs of an affine layer to the input.

    Attributes:
        number: how many.
        depth: of the layer.
    """

    number: int
    depth: int


def estimate(document: Document, jobs: int) -> Cost:
    """The cost of laws and of each property's bounds.

    Args:
        document: the certificate.
        jobs: how many processes.
    """
    sizes, clients, dimension = widths(document), len(document.clients), document.dimension
    properties, constraints = document.properties.d.shape
    repeated = len(pieces(properties, jobs))
    match document.kind:
        case "transported":
            cells = min(MOST_CELLS, int(document.tensor("cells", np.int32, 1)[0]))  # more are refused
            seconds = properties * chained_seconds(sizes, constraints, clients, cells)
            law, kept = (LAW + SHARE) * clients, clients
        case "local":
            evaluated = properties * clients * violation_seconds(sizes, constraints)
            seconds = evaluated + sum(inverted_seconds(document, f"client.{i}.") for i in range(clients))
            law, kept = LAW * clients, 0
        case _:
            seconds, law, kept = direct_seconds(document, sizes), LAW * clients, 0
    seconds = PASSES * (seconds + repeated * law * dimension * ELEMENT)
    memory = dimension * (6 * BALL + 3 * ENTRY * (1 + kept)) + rows_bytes(sizes, constraints, kept)
    return Cost(memory, seconds)


def direct_seconds(document: Document, sizes: Widths) -> float:
    """Lower bounds, each by its own method, and upper bounds of those properties that have one."""
    properties, constraints = document.properties.d.shape
    exact = int((document.tensor("method", np.uint8, properties) == EXACT).sum())
    below = exact * violation_seconds(sizes, constraints) + inverted_seconds(document, "")
    chained = (properties - exact) * chained_seconds(sizes, constraints, 1, 0)
    if document.upper is None:
        return below + chained
    bounded = int((document.upper < 1).sum())
    return below + chained + bounded * violation_seconds(sizes, 1) + inverted_seconds(document, "upper.")


def violation_seconds(sizes: Widths, constraints: int) -> float:
    """One evaluation with the first layer's law exact, without inversions."""
    first = sizes[1]
    carried = [Rows(first, 0), Rows(constraints, len(sizes) - 2)]
    carried += [Rows(4 * sizes[depth + 1], depth) for depth in _deep(sizes)]
    moments = sum(3 * sizes[depth + 1] for depth in _deep(sizes)) + 2 * constraints
    return sum(carried_seconds(sizes, rows, 0) for rows in carried) + first * moments * MOMENT


def inverted_seconds(document: Document, prefix: str) -> float:
    """All inversions that one block of the witness asks for."""
    sizes, (properties, constraints) = widths(document), document.properties.d.shape
    if len(sizes) == 2:
        return 0.0
    terms = document.tensor(f"{prefix}tail.terms", np.int32, properties, constraints)
    asked = terms.clip(0, MOST_TERMS)  # others are refused
    moments, factors = (1 + len(RATES)) * int((asked > 0).sum()), sizes[1] + LATER
    return sizes[1] * moments * MOMENT + int(asked.sum(dtype=np.int64)) * factors * FACTOR


def chained_seconds(sizes: Widths, constraints: int, clients: int, cells: int) -> float:
    """One evaluation with every ReLU a line."""
    last = len(sizes) - 2
    carried = [Rows(constraints, last)]
    for depth in range(last):
        carried += [Rows(2 * sizes[depth + 1], depth), Rows(sizes[depth + 1], depth)]
    counted = 2 * min(clients, MOST_COUNTED) * max(0, cells)
    tails = constraints * counted * (2 * TAIL + min(clients, MOST_COUNTED) * COEFFICIENT)
    return sum(carried_seconds(sizes, rows, clients) for rows in carried) + tails


def carried_seconds(sizes: Widths, rows: Rows, clients: int) -> float:
    """Rows carried back, with the deviations of so many clients' shares beside them."""
    number, seconds = rows.number, 0.0
    for place in range(1, rows.depth + 1):
        before, here, after = sizes[place - 1 : place + 2]
        products = (2 + clients) * after * here + here * before
        operations = (4 + 2 * clients) * after + (16 + 8 * clients) * here + 4 * before
        seconds += number * (products * PRODUCT + operations * ELEMENT) + clients * here * MOMENT
        seconds += (2 + clients) * STEP
    products = 2 * sizes[0] * sizes[1]
    operations = 10 * sizes[0] + (14 + 4 * clients) * sizes[1]
    return seconds + (1 + clients) * STEP + number * (products * PRODUCT + operations * ELEMENT)


def rows_bytes(sizes: Widths, constraints: int, clients: int) -> int:
    """The arrays of the largest step."""
    hidden = [2 * sizes[depth + 1] for depth in _deep(sizes)] + ([sizes[1]] if len(sizes) > 2 else [])
    rows = max([constraints, *hidden])
    return BALL * rows * (LIVE * max(sizes) + clients)


def _deep(sizes: Widths) -> range:
    """The hidden layers beyond the first."""
    return range(1, len(sizes) - 2)
