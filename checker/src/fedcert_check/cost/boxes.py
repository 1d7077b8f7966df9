"""What it takes to prove a certificate of `box` events."""

import math
from collections.abc import Sequence

import numpy as np

from fedcert_check.boxes import LATTICE, PRODUCT, TILES, Choice, choices_of
from fedcert_check.cost import Cost
from fedcert_check.cost.cells import MASS
from fedcert_check.cost.network import proving_bytes, proving_seconds
from fedcert_check.cost.rates import BALL, COEFFICIENT, COMPARISON, ELEMENT, ENTRY, STEP, TAIL
from fedcert_check.document import Array, Document
from fedcert_check.lattice import CELLS, LEVELS, REMEMBERED, WIDEST, kinds_of
from fedcert_check.parallel import pieces

LAW, BOX, IMAGE = (
    12,
    6,
    10,
)  # operations on a coordinate of a law, of a box and of what the rule makes of boxes
RADII = 2**15  # different ones that half precision has
SORTED = 100  # comparisons that sorting takes for each number


def estimate(document: Document, jobs: int) -> Cost:
    """The cost of laws, boxes, masses and safety.

    Args:
        document: the certificate.
        jobs: how many processes.
    """
    choices = choices_of(document)
    dimension, clients = document.dimension, len(document.clients)
    views = np.concatenate([choice.view for choice in choices])
    boxes = int(np.isin(views, (LATTICE, PRODUCT)).sum())
    several = document.kind == "transported" and bool(np.isin(views, (PRODUCT, TILES)).any())
    parties = clients if several else 1  # that draw from a box of their own
    tiles = sum(len(choice.owner) for choice in choices)
    setup = clients * dimension * 2 * LAW * ELEMENT
    seconds = setup * len(pieces(len(document.properties), jobs))
    seconds += boxes * (parties * dimension * (BOX + IMAGE) * ELEMENT + min(dimension, RADII) * TAIL)
    seconds += boxes * dimension * SORTED * COMPARISON
    seconds += tiles * parties * dimension * ((BOX + IMAGE) * ELEMENT + MASS)
    seconds += (boxes + tiles) * parties * STEP
    seconds += sum(_squares(choice.owner) for choice in choices) * parties * dimension * COMPARISON
    seconds += (boxes + tiles) * proving_seconds(document)
    memory = BALL * dimension * (2 * clients + 2 * parties + 8) + proving_bytes(document)
    counted = lattice(document, choices, jobs) if document.kind == "transported" else Cost(0.0, 0.0)
    return Cost(memory + counted.memory, seconds + counted.seconds)


def _squares(owner: Array) -> float:
    """Σ over the properties of the squared number of tiles: any two are compared."""
    return float((np.unique(owner, return_counts=True)[1].astype(float) ** 2).sum())


def lattice(document: Document, choices: Sequence[Choice], jobs: int) -> Cost:
    """The polynomials of all radii, as long as the clients' shares can make them.

    Args:
        document: of a transported claim.
        choices: of its witness.
        jobs: how many processes, each of which remembers what it counted.
    """
    (choice,) = choices
    asked = np.flatnonzero(choice.view == LATTICE).tolist()
    if not asked:
        return Cost(0.0, 0.0)
    clients, dimension = len(document.clients), document.dimension
    kinds = len(kinds_of(document.rule, document.clients).rows)
    levels = [_levels(choice, p) for p in asked]
    different = np.unique(np.concatenate(levels))
    counted = sum(_coefficients(own, clients, kinds, dimension) for own in levels)
    if kinds * len(different) <= REMEMBERED:
        counted = min(counted, jobs * _coefficients(different, clients, kinds, kinds * len(different)))
    longest = _coefficients(different[:1], clients, 1, 1)
    grouping = SORTED * 2 * clients * dimension * COMPARISON
    memory = 7 * (ENTRY + BALL) * longest + 64 * clients * dimension
    products = COEFFICIENT * math.log2(max(2, clients))  # by halves
    return Cost(memory, counted * products + (jobs + len(asked)) * grouping)


def _coefficients(levels: Array, clients: int, kinds: int, most: int) -> float:
    """Of the polynomials of these radii, ascending, for all kinds of shares but at most so many polynomials.

    The shares of n clients sum to √n at most.
    """
    lengths = 2 * (CELLS * WIDEST * LEVELS * clients**1.5 / levels + clients)
    return float(lengths[:most].sum()) * min(kinds, -(-most // max(1, len(levels))))


def _levels(choice: Choice, p: int) -> Array:
    """The different radii of a property, in steps of the lattice; those that count nothing are left out."""
    row = int(choice.row[p])
    radii = choice.tensor[p] if row < 0 else choice.parameter[row]
    levels = np.unique(np.floor(radii.astype(np.float64) * LEVELS))
    return levels[levels >= 1]
