"""What it takes to prove a certificate of `projected` events."""

from typing import NamedTuple

import numpy as np

from fedcert_check.cost import Cost
from fedcert_check.cost.rates import (
    BALL_BYTES,
    COEFFICIENT_SECONDS,
    ELEMENT_SECONDS,
    ENTRY_BYTES,
    FACTOR_SECONDS,
    MOMENT_SECONDS,
    PRODUCT_SECONDS,
    STEP_SECONDS,
    TAIL_SECONDS,
)
from fedcert_check.document import Document
from fedcert_check.parallel import pieces
from fedcert_check.projected import EXACT
from fedcert_check.projected.inversion import MARKOV_RATES, MAX_TERMS
from fedcert_check.projected.tails import MAX_CELLS, MAX_COUNTED_CLIENTS

LAW_OPERATIONS, SHARE_OPERATIONS = 12, 8  # on a parameter of a law, and of a client's share of it
PASSES = 4.0  # what is not proved with 64 bits is tried with 128 and with 256: some four times the work
LATER_FACTORS = 3  # of a characteristic function, beside those of the first layer's neurons
LIVE_ARRAYS = 6  # of coefficients at a time
Widths = tuple[int, ...]


class Rows(NamedTuple):
    """Rows that are carried back from the outputs of a linear layer to the input.

    Attributes:
        number: of the rows.
        depth: of the layer.
    """

    number: int
    depth: int


def estimate(document: Document, jobs: int) -> Cost:
    """The cost of laws and of each property's bounds.

    Args:
        document: the certificate.
        jobs: number of processes.
    """
    sizes, clients, dimension = document.network.widths, len(document.clients), document.dimension
    properties, constraints = document.properties.d.shape
    repeated = len(pieces(properties, jobs))
    match document.kind:
        case "transported":
            cells = min(MAX_CELLS, int(document.tensor("cells", np.int32, 1)[0]))  # more are refused
            seconds = properties * chained_seconds(sizes, constraints, clients, cells)
            law, kept = (LAW_OPERATIONS + SHARE_OPERATIONS) * clients, clients
        case "local":
            evaluated = properties * clients * violation_seconds(sizes, constraints)
            seconds = evaluated + sum(inverted_seconds(document, f"client.{i}.") for i in range(clients))
            law, kept = LAW_OPERATIONS * clients, 0
        case _:
            seconds, law, kept = direct_seconds(document, sizes), LAW_OPERATIONS * clients, 0
    seconds = PASSES * (seconds + repeated * law * dimension * ELEMENT_SECONDS)
    memory = dimension * (6 * BALL_BYTES + 3 * ENTRY_BYTES * (1 + kept)) + rows_bytes(
        sizes, constraints, kept
    )
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
    return sum(carried_seconds(sizes, rows, 0) for rows in carried) + first * moments * MOMENT_SECONDS


def inverted_seconds(document: Document, prefix: str) -> float:
    """All inversions that one block of the witness asks for."""
    sizes, (properties, constraints) = document.network.widths, document.properties.d.shape
    if len(sizes) == 2:
        return 0.0
    terms = document.tensor(f"{prefix}tail.terms", np.int32, properties, constraints)
    asked = terms.clip(0, MAX_TERMS)  # others are refused
    moments, factors = (1 + len(MARKOV_RATES)) * int((asked > 0).sum()), sizes[1] + LATER_FACTORS
    return sizes[1] * moments * MOMENT_SECONDS + int(asked.sum(dtype=np.int64)) * factors * FACTOR_SECONDS


def chained_seconds(sizes: Widths, constraints: int, clients: int, cells: int) -> float:
    """One evaluation with every ReLU a line."""
    last = len(sizes) - 2
    carried = [Rows(constraints, last)]
    for depth in range(last):
        carried += [Rows(2 * sizes[depth + 1], depth), Rows(sizes[depth + 1], depth)]
    counted = 2 * min(clients, MAX_COUNTED_CLIENTS) * max(0, cells)
    tails = (
        constraints * counted * (2 * TAIL_SECONDS + min(clients, MAX_COUNTED_CLIENTS) * COEFFICIENT_SECONDS)
    )
    return sum(carried_seconds(sizes, rows, clients) for rows in carried) + tails


def carried_seconds(sizes: Widths, rows: Rows, clients: int) -> float:
    """Seconds of carrying rows back, with the deviations of the clients' shares beside them."""
    number, seconds = rows.number, 0.0
    for place in range(1, rows.depth + 1):
        before, here, after = sizes[place - 1 : place + 2]
        products = (2 + clients) * after * here + here * before
        operations = (4 + 2 * clients) * after + (16 + 8 * clients) * here + 4 * before
        seconds += (
            number * (products * PRODUCT_SECONDS + operations * ELEMENT_SECONDS)
            + clients * here * MOMENT_SECONDS
        )
        seconds += (2 + clients) * STEP_SECONDS
    products = 2 * sizes[0] * sizes[1]
    operations = 10 * sizes[0] + (14 + 4 * clients) * sizes[1]
    return (
        seconds
        + (1 + clients) * STEP_SECONDS
        + number * (products * PRODUCT_SECONDS + operations * ELEMENT_SECONDS)
    )


def rows_bytes(sizes: Widths, constraints: int, clients: int) -> int:
    """The arrays of the largest step."""
    hidden = [2 * sizes[depth + 1] for depth in _deep(sizes)] + ([sizes[1]] if len(sizes) > 2 else [])
    rows = max([constraints, *hidden])
    return BALL_BYTES * rows * (LIVE_ARRAYS * max(sizes) + clients)


def _deep(sizes: Widths) -> range:
    """The hidden layers beyond the first."""
    return range(1, len(sizes) - 2)
