"""What it takes to prove a certificate of `projected` events."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedcert_check.blocks import BlockGaussian
from fedcert_check.cost import Cost
from fedcert_check.cost.cells import MEMBER_BYTES, PAIR_BYTES, SET_BYTES
from fedcert_check.cost.convolution import feature_seconds
from fedcert_check.cost.dependent import dependent_cost
from fedcert_check.cost.layer_work import laws_of
from fedcert_check.cost.nodes import Evaluations, evaluations, kept_bytes
from fedcert_check.cost.rates import (
    BALL_BYTES,
    COEFFICIENT_SECONDS,
    ELEMENT_SECONDS,
    ENTRY_BYTES,
    FACTOR_SECONDS,
    MEETING_SECONDS,
    MOMENT_SECONDS,
    PRODUCT_SECONDS,
    STEP_SECONDS,
    TAIL_SECONDS,
)
from fedcert_check.document import Document
from fedcert_check.layers import Linear
from fedcert_check.parallel import pieces
from fedcert_check.projected.affine_part import affine_layers, first_random
from fedcert_check.projected.inversion import MARKOV_RATES, MAX_TERMS
from fedcert_check.projected.pieces import counts
from fedcert_check.projected.tails import MAX_CELLS, MAX_COUNTED_CLIENTS
from fedcert_check.projected.witness import EXACT, PIECES
from fedcert_check.validation import require

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
    sizes, clients, dimension = widths(document), len(document.clients), document.dimension
    properties, constraints = document.properties.d.shape
    if any(isinstance(law, BlockGaussian) for law in laws_of(document)) or not alternating(document):
        return dependent_cost(document, jobs)
    match document.kind:
        case "transported" if "boxes" in document.witness:
            asked = [evaluations(document, "", clients)]
            seconds, law, kept = direct_seconds(document, asked), (LAW_OPERATIONS + 2) * clients, 0
            seconds += asked[0].tuples.sum() * dimension * ELEMENT_SECONDS  # what is lost within an image
        case "transported":
            cells = min(MAX_CELLS, int(document.tensor("cells", np.int32, 1)[0]))  # more are refused
            asked = [evaluations(document, "", clients)]
            seconds = asked[0].tuples.sum() * chained_seconds(sizes, constraints, clients, cells)
            law, kept = (LAW_OPERATIONS + SHARE_OPERATIONS) * clients, clients
        case "local":
            asked = [evaluations(document, f"client.{i}.", 1) for i in range(clients)]
            seconds = sum(own.tuples.sum() for own in asked) * violation_seconds(sizes, constraints)
            seconds += sum(inverted_seconds(document, f"client.{i}.", own) for i, own in enumerate(asked))
            law, kept = LAW_OPERATIONS, 0
        case _:
            asked = [evaluations(document, "", clients)]
            if document.upper is not None:
                asked.append(evaluations(document, "upper.", clients))
            seconds, law, kept = direct_seconds(document, asked), LAW_OPERATIONS * clients, 0
    repeated = len(pieces(properties, jobs))
    for own in asked:
        built = min(float(own.tuples.sum()), own.laws * repeated)
        seconds += built * law * dimension * ELEMENT_SECONDS
    meetings = sum(own.meetings for own in asked) * repeated * MEETING_SECONDS
    nodes = sum(float(own.tuples.sum()) for own in asked if own.members)
    memory = float(dimension * (6 * BALL_BYTES + 3 * ENTRY_BYTES * (1 + kept)))
    memory += rows_bytes(sizes, constraints, kept) + kept_bytes(document, asked)
    memory += nodes * (PAIR_BYTES + SET_BYTES * clients) + MEMBER_BYTES * sum(own.members for own in asked)
    network = document.network
    seconds += sum(float(own.tuples.sum()) for own in asked) * feature_seconds(
        network.layers[: first_random(network)]
    )
    passes = PASSES + (1 if nodes else 0)  # nodes are first tried as a whole
    return Cost(memory, passes * (seconds + meetings))


def widths(document: Document) -> Widths:
    """The number of inputs, then of outputs of each layer behind the features."""
    layers = affine_layers(document.network)
    require(len(layers) > 0, "no layer of the network is affine behind all that are not")
    return (layers[0].inputs, *(layer.outputs for layer in layers))


def alternating(document: Document) -> bool:
    """Whether fully connected layers and ReLUs take turns behind the features."""
    network = document.network
    layers = affine_layers(network)
    own = len(network.layers) - first_random(network) == 2 * len(layers) - 1
    return own and all(isinstance(layer, Linear) for layer in layers)


def direct_seconds(document: Document, asked: Sequence[Evaluations]) -> float:
    """Lower bounds, each by its own method, and upper bounds of those properties that have one."""
    sizes, constraints = widths(document), document.properties.d.shape[1]
    below, *above = asked
    method = below.of_each_row(document.tensor("method", np.uint8, None))
    exact, cut = method == EXACT, method == PIECES
    seconds = float(below.tuples[exact].sum()) * violation_seconds(sizes, constraints)
    seconds += inverted_seconds(document, "", below)
    seconds += float(below.tuples[~exact & ~cut].sum()) * chained_seconds(sizes, constraints, 1, 0)
    if cut.any():
        rows = Evaluations(np.arange(number := pieces_of(document)), np.ones(number), 1.0)
        seconds += number * violation_seconds(sizes, constraints) + inverted_seconds(
            document, "pieces.", rows
        )
    for own in above:
        bounded = float(own.tuples.sum())
        seconds += bounded * violation_seconds(sizes, 1) + inverted_seconds(document, "upper.", own)
    return seconds


def pieces_of(document: Document) -> int:
    """The number of pieces of all regions that are cut."""
    method = document.tensor("method", np.uint8, len(document.properties))
    return int(np.where(method == PIECES, counts(document).prod(1, dtype=np.int64), 0).sum())


def violation_seconds(sizes: Widths, constraints: int) -> float:
    """One evaluation with the first layer's law exact, without inversions."""
    first = sizes[1]
    carried = [Rows(first, 0), Rows(constraints, len(sizes) - 2)]
    carried += [Rows(4 * sizes[depth + 1], depth) for depth in _deep(sizes)]
    carried += [Rows(2 * constraints, depth) for depth in _deep(sizes)]  # that later layers are random enough
    moments = sum((5 if depth == 1 else 3) * sizes[depth + 1] + constraints for depth in _deep(sizes))
    moments += 2 * constraints
    return sum(carried_seconds(sizes, rows, 0) for rows in carried) + first * moments * MOMENT_SECONDS


def inverted_seconds(document: Document, prefix: str, asked: Evaluations) -> float:
    """All inversions that one block of the witness asks for."""
    sizes, constraints = widths(document), document.properties.d.shape[1]
    if len(sizes) == 2:
        return 0.0
    table = document.tensor(f"{prefix}tail.terms", np.int32, None, constraints)
    terms = asked.of_each_row(table).clip(0, MAX_TERMS)  # others are refused
    moments = (1 + len(MARKOV_RATES)) * float((asked.tuples * (terms > 0).sum(1)).sum())
    factors = (sizes[1] + LATER_FACTORS) * float((asked.tuples * terms.sum(1, dtype=np.int64)).sum())
    return sizes[1] * moments * MOMENT_SECONDS + factors * FACTOR_SECONDS


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
