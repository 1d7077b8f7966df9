"""What it takes to prove a certificate made of cells."""

from typing import NamedTuple

import numpy as np

from fedcert_check.cost import Cost
from fedcert_check.cost.rates import (
    BALL_BYTES,
    COMPARISON_SECONDS,
    ELEMENT_SECONDS,
    LOOKUP_SECONDS,
    MEETING_SECONDS,
    STEP_SECONDS,
    TAIL_SECONDS,
)
from fedcert_check.cost.verifier import proving_bytes, proving_seconds
from fedcert_check.document import Document
from fedcert_check.parallel import pieces
from fedcert_check.validation import Array

MASS_SECONDS = 2 * TAIL_SECONDS + 24 * ELEMENT_SECONDS  # one coordinate of a cell's mass
HULL_OPERATIONS, IMAGE_OPERATIONS = 6, 10  # on a coordinate of a client's cells, and of their image
SET_BYTES, MEMBER_BYTES = 240, 60  # a set of cells, and each cell in it
PAIR_BYTES = 200  # a node that is accepted for a property


class Demand(NamedTuple):
    """How much a witness asks for.

    Attributes:
        nodes: maximum number of different nodes.
        pairs: number of pairs of a node and a property.
        sets: number of clients' sets in a node.
        members: number of cells of all sets together.
        used: for each collection and property the maximum number of cells in use.
        meetings: number of pairs of sets of one property's nodes that may have to be compared.
        sought: number of cells that are looked up for this.
    """

    nodes: int
    pairs: int
    sets: int
    members: int
    used: list[Array]
    meetings: float = 0.0
    sought: float = 0.0


def estimate(document: Document, jobs: int) -> Cost:
    """The cost of masses, images, safety and disjointness.

    Args:
        document: the certificate.
        jobs: number of processes.
    """
    counted = count(document)
    dimension, clients, properties = document.dimension, len(document.clients), len(document.properties)
    law = clients if document.kind == "direct" else 1  # all laws are read for a cell of the deployed one
    asked = sum(
        _components(document, i) * min(_held(document, i), int(own.sum()))
        for i, own in enumerate(counted.used)
    )
    images = min(counted.pairs, counted.nodes * len(pieces(properties, jobs)))
    seconds = asked * (STEP_SECONDS + dimension * (MASS_SECONDS + 10 * law * ELEMENT_SECONDS))
    seconds += (
        images
        * counted.sets
        * (STEP_SECONDS + dimension * (HULL_OPERATIONS + IMAGE_OPERATIONS) * ELEMENT_SECONDS)
    )
    seconds += counted.pairs * (proving_seconds(document) + counted.sets * ELEMENT_SECONDS)
    seconds += (
        sum(float((own.astype(float) ** 2).sum()) for own in counted.used) * dimension * COMPARISON_SECONDS
    )
    seconds += counted.members * dimension * COMPARISON_SECONDS
    seconds += counted.meetings * MEETING_SECONDS + counted.sought * LOOKUP_SECONDS
    largest = max((int(own.max(initial=0)) for own in counted.used), default=0)
    memory = 4.0 * properties * sum(_held(document, i) for i in range(len(counted.used)))
    if counted.pairs:
        memory += BALL_BYTES * dimension * (10 + 2 * counted.sets) + proving_bytes(document)
    memory += 40 * dimension * largest  # ends of the cells that are compared or joined
    memory += (
        counted.pairs * (PAIR_BYTES + SET_BYTES * counted.sets + 8 * clients) + MEMBER_BYTES * counted.members
    )
    return Cost(memory, seconds)


def count(document: Document) -> Demand:
    """What the witness asks for, without a node being made."""
    n, properties = len(document.clients), len(document.properties)
    match document.kind:
        case "local":
            accepted = [
                document.tensor(f"accepted.{i}", np.bool_, properties, len(client.lower))
                for i, client in enumerate(document.clients)
            ]
            pairs = sum(int(own.sum()) for own in accepted)
            nodes = sum(int(own.any(0).sum()) for own in accepted)
            return Demand(nodes, pairs, 1, pairs, [own.sum(1) for own in accepted])
        case "direct":
            own = document.tensor("accepted", np.bool_, properties, _held(document, 0))
            pairs = int(own.sum())
            return Demand(int(own.any(0).sum()), pairs, 1, pairs, [own.sum(1)])
        case _ if "tuples" in document.witness:
            tuples = len(document.tensor("tuples", np.int32, None, n))
            safe = document.tensor("accepted", np.bool_, tuples, properties)
            pairs, each = int(safe.sum()), safe.sum(0)
            return Demand(tuples, pairs, n, n * pairs, _at_most(document, each))
        case _:
            owner = document.tensor("nodes.property", np.int32, None)
            members = len(document.tensor("nodes.cells", np.int32, None))
            each = np.unique(owner, return_counts=True)[1]
            used = _at_most(document, np.full(len(each), members))
            meetings = n * float((each.astype(float) ** 2).sum()) / 2
            sought = float(each.max(initial=0)) * members
            return Demand(len(owner), len(owner), n, members, used, meetings, sought)


def _held(document: Document, collection: int) -> int:
    """The number of cells to choose from."""
    if document.kind == "direct":
        return len(document.tensor("cells.lower", np.float64, None, document.dimension))
    return len(document.clients[collection].lower)


def _components(document: Document, collection: int) -> int:
    """The number of Gaussians that a cell's mass is a sum over."""
    return 1 if document.kind == "direct" else len(document.clients[collection].law.components)


def _at_most(document: Document, each: Array) -> list[Array]:
    """No property uses more cells of a client than it has."""
    return [np.minimum(each, len(client.lower)) for client in document.clients]
