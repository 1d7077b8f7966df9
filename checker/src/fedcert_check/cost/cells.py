"""What it takes to prove a certificate made of cells."""

from typing import NamedTuple

import numpy as np

from fedcert_check.cost import Cost
from fedcert_check.cost.network import proving_bytes, proving_seconds
from fedcert_check.cost.rates import BALL, COMPARISON, ELEMENT, LOOKUP, MEETING, STEP, TAIL
from fedcert_check.document import Array, Document
from fedcert_check.parallel import pieces

MASS = 2 * TAIL + 24 * ELEMENT  # seconds of one coordinate of a cell's mass
HULL, IMAGE = 6, 10  # operations on a coordinate, of a client's cells and of what the rule makes of them
SET, CELL = 240, 60  # bytes of a set of cells, and of each cell in it
PAIR = 200  # bytes of what is accepted for a property


class Counted(NamedTuple):
    """How much a witness asks for.

    Attributes:
        nodes: different nodes, at most.
        pairs: of a node and a property.
        sets: clients' sets of a node.
        members: cells of all sets together.
        used: for each collection and property the most cells that may be in use.
        meetings: pairs of sets of one property's nodes that may have to be compared.
        sought: cells that are looked up for this.
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
        jobs: how many processes.
    """
    counted = count(document)
    dimension, clients, properties = document.dimension, len(document.clients), len(document.properties)
    law = clients if document.kind == "direct" else 1  # all laws are read for a cell of the deployed one
    asked = sum(min(_held(document, i), int(own.sum())) for i, own in enumerate(counted.used))
    images = min(counted.pairs, counted.nodes * len(pieces(properties, jobs)))
    seconds = asked * (STEP + dimension * (MASS + 10 * law * ELEMENT))
    seconds += images * counted.sets * (STEP + dimension * (HULL + IMAGE) * ELEMENT)
    seconds += counted.pairs * (proving_seconds(document) + counted.sets * ELEMENT)
    seconds += sum(float((own.astype(float) ** 2).sum()) for own in counted.used) * dimension * COMPARISON
    seconds += counted.members * dimension * COMPARISON
    seconds += counted.meetings * MEETING + counted.sought * LOOKUP
    largest = max((int(own.max(initial=0)) for own in counted.used), default=0)
    memory = 4.0 * properties * sum(_held(document, i) for i in range(len(counted.used)))
    if counted.pairs:
        memory += BALL * dimension * (10 + 2 * counted.sets) + proving_bytes(document)
    memory += 40 * dimension * largest  # ends of the cells that are compared or joined
    memory += counted.pairs * (PAIR + SET * counted.sets + 8 * clients) + CELL * counted.members
    return Cost(memory, seconds)


def count(document: Document) -> Counted:
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
            return Counted(nodes, pairs, 1, pairs, [own.sum(1) for own in accepted])
        case "direct":
            own = document.tensor("accepted", np.bool_, properties, _held(document, 0))
            pairs = int(own.sum())
            return Counted(int(own.any(0).sum()), pairs, 1, pairs, [own.sum(1)])
        case _ if "tuples" in document.witness:
            tuples = len(document.tensor("tuples", np.int32, None, n))
            safe = document.tensor("accepted", np.bool_, tuples, properties)
            pairs, each = int(safe.sum()), safe.sum(0)
            return Counted(tuples, pairs, n, n * pairs, _at_most(document, each))
        case _:
            owner = document.tensor("nodes.property", np.int32, None)
            members = len(document.tensor("nodes.cells", np.int32, None))
            each = np.unique(owner, return_counts=True)[1]
            used = _at_most(document, np.full(len(each), members))
            meetings = n * float((each.astype(float) ** 2).sum()) / 2
            sought = float(each.max(initial=0)) * members
            return Counted(len(owner), len(owner), n, members, used, meetings, sought)


def _held(document: Document, collection: int) -> int:
    """How many cells there are to choose from."""
    if document.kind == "direct":
        return len(document.tensor("cells.lower", np.float64, None, document.dimension))
    return len(document.clients[collection].lower)


def _at_most(document: Document, each: Array) -> list[Array]:
    """No property uses more cells of a client than it has."""
    return [np.minimum(each, len(client.lower)) for client in document.clients]
