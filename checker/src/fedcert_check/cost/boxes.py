"""What it takes to prove a certificate of `box` events."""

import math
from collections.abc import Sequence

import numpy as np

from fedcert_check.boxes import Choice, Counted, choices_of, has_cells, local_parts, with_cells
from fedcert_check.cost import Cost
from fedcert_check.cost.cells import MASS_SECONDS
from fedcert_check.cost.cells import estimate as estimate_cells
from fedcert_check.cost.rates import (
    BALL_BYTES,
    COEFFICIENT_SECONDS,
    COMPARISON_SECONDS,
    ELEMENT_SECONDS,
    ENTRY_BYTES,
    STEP_SECONDS,
    TAIL_SECONDS,
)
from fedcert_check.cost.verifier import proving_bytes, proving_seconds
from fedcert_check.document import Document
from fedcert_check.lattice import (
    CELLS_PER_CLIENT,
    LEVELS_PER_DEVIATION,
    MAX_REMEMBERED_PROBABILITIES,
    SPANNED_DEVIATIONS,
    kinds_of,
)
from fedcert_check.parallel import pieces
from fedcert_check.validation import Array

LAW_OPERATIONS, BOX_OPERATIONS, IMAGE_OPERATIONS = 12, 6, 10  # on a coordinate of each
MAX_DIFFERENT_RADII = 2**15  # in half precision
SORTING_COMPARISONS = 100  # for each number that is sorted


def estimate(document: Document, jobs: int) -> Cost:
    """The cost of laws, boxes, masses and safety.

    Args:
        document: the certificate.
        jobs: number of processes.
    """
    if has_cells(document):
        return estimate_cells(with_cells(document), jobs)
    if parts := local_parts(document):
        costs = [estimate(part, jobs) for part in parts]
        return Cost(max(cost.memory for cost in costs), sum(cost.seconds for cost in costs))
    choices = choices_of(document)
    dimension, clients = document.dimension, len(document.clients)
    counted = np.concatenate([choice.counted for choice in choices])
    boxes = int(np.isin(counted, (Counted.LATTICE, Counted.PRODUCT)).sum())
    several = document.kind == "transported" and bool(
        np.isin(counted, (Counted.PRODUCT, Counted.TILES)).any()
    )
    parties = clients if several else 1  # each with a box of its own
    tiles = sum(len(choice.owner) for choice in choices)
    setup = clients * dimension * 2 * LAW_OPERATIONS * ELEMENT_SECONDS
    seconds = setup * len(pieces(len(document.properties), jobs))
    seconds += boxes * (
        parties * dimension * (BOX_OPERATIONS + IMAGE_OPERATIONS) * ELEMENT_SECONDS
        + min(dimension, MAX_DIFFERENT_RADII) * TAIL_SECONDS
    )
    seconds += boxes * dimension * SORTING_COMPARISONS * COMPARISON_SECONDS
    seconds += (
        tiles * parties * dimension * ((BOX_OPERATIONS + IMAGE_OPERATIONS) * ELEMENT_SECONDS + MASS_SECONDS)
    )
    seconds += (boxes + tiles) * parties * STEP_SECONDS
    seconds += sum(_squares(choice.owner) for choice in choices) * parties * dimension * COMPARISON_SECONDS
    seconds += (boxes + tiles) * proving_seconds(document)
    memory = BALL_BYTES * dimension * (2 * clients + 2 * parties + 8) + proving_bytes(document)
    tuples = lattice(document, choices, jobs) if document.kind == "transported" else Cost(0.0, 0.0)
    return Cost(memory + tuples.memory, seconds + tuples.seconds)


def _squares(owner: Array) -> float:
    """Σ over the properties of the squared number of tiles: any two are compared."""
    return float((np.unique(owner, return_counts=True)[1].astype(float) ** 2).sum())


def lattice(document: Document, choices: Sequence[Choice], jobs: int) -> Cost:
    """The polynomials of all radii, as long as the clients' shares can make them.

    Args:
        document: of a transported claim.
        choices: of its witness.
        jobs: number of processes, each of which remembers what it counted.
    """
    (choice,) = choices
    asked = np.flatnonzero(choice.counted == Counted.LATTICE).tolist()
    if not asked:
        return Cost(0.0, 0.0)
    clients, dimension = len(document.clients), document.dimension
    kinds = len(kinds_of(document.rule, document.laws).rows)
    levels = [_levels(choice, p) for p in asked]
    different = np.unique(np.concatenate(levels))
    counted = sum(_coefficients(own, clients, kinds, dimension) for own in levels)
    if kinds * len(different) <= MAX_REMEMBERED_PROBABILITIES:
        counted = min(counted, jobs * _coefficients(different, clients, kinds, kinds * len(different)))
    longest = _coefficients(different[:1], clients, 1, 1)
    grouping = SORTING_COMPARISONS * 2 * clients * dimension * COMPARISON_SECONDS
    memory = 7 * (ENTRY_BYTES + BALL_BYTES) * longest + 64 * clients * dimension
    products = COEFFICIENT_SECONDS * math.log2(max(2, clients))  # by halves
    return Cost(memory, counted * products + (jobs + len(asked)) * grouping)


def _coefficients(levels: Array, clients: int, kinds: int, most: int) -> float:
    """The number of coefficients of the polynomials of these radii (ascending), for all kinds of shares.

    The shares of n clients sum to √n at most, and there are at most `most` polynomials.
    """
    lengths = 2 * (
        CELLS_PER_CLIENT * SPANNED_DEVIATIONS * LEVELS_PER_DEVIATION * clients**1.5 / levels + clients
    )
    return float(lengths[:most].sum()) * min(kinds, -(-most // max(1, len(levels))))


def _levels(choice: Choice, p: int) -> Array:
    """The different radii of a property, in steps of the lattice; those that count nothing are left out."""
    row = int(choice.row[p])
    radii = choice.tensor[p] if row < 0 else choice.parameter[row]
    levels = np.unique(np.floor(radii.astype(np.float64) * LEVELS_PER_DEVIATION))
    return levels[levels >= 1]
