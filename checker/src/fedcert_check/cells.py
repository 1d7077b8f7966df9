"""Certificates made of cells: local, transported by tuples or by hulls of cells, and direct."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from flint import arb

from fedcert_check.balls import ONE, ZERO, Interval, exact, float_down, pack, unpack
from fedcert_check.disjoint import Node, require_disjoint_cells, require_disjoint_nodes
from fedcert_check.document import Document, Proved
from fedcert_check.errors import InvalidCertificate
from fedcert_check.masses import box_mass, mixture_mass
from fedcert_check.parallel import mapped, over_properties
from fedcert_check.progress import Tracker
from fedcert_check.validation import Array, quoted, require
from fedcert_check.verifier import proven, unflatten

Packed = dict[tuple[int, int], tuple[int, int]]
"""Masses of cells, by client and cell, in a form that can be sent to another process."""


def is_witness(document: Document) -> bool:
    """Whether the witness has the tensors of a claim made of cells, whatever the family is called."""
    match document.kind:
        case "local":
            forms = [{f"accepted.{i}" for i in range(len(document.clients))}]
        case "direct":
            forms = [{"cells.lower", "cells.upper", "accepted"}]
        case _:
            forms = [{"tuples", "accepted"}, {"nodes.property", "nodes.offsets", "nodes.cells"}]
    return any(names <= document.witness.keys() for names in forms)


def prove(document: Document, jobs: int, track: Tracker) -> list[Proved]:
    """What the accepted cells, tuples or nodes prove of each property.

    Args:
        document: the certificate.
        jobs: number of processes.
        track: shows progress.
    """
    family = "+".join(sorted({client.events for client in document.clients}))
    known = family if document.kind != "direct" else "paper-box"
    require(document.events == known, f"the cells are of the family {known!r}, not {document.events!r}")
    return prove_nodes(document, jobs, track)


def prove_nodes(document: Document, jobs: int, track: Tracker) -> list[Proved]:
    """What nodes of cells prove of each property, whatever the family of the cells is called.

    Args:
        document: the certificate.
        jobs: number of processes.
        track: shows progress.
    """
    asked = set(document.asked)
    nodes = [own if p in asked else [] for p, own in enumerate(read_nodes(document))]
    count = len(document.properties)
    collections = _collections(document)
    used = [np.zeros((count, len(low)), dtype=bool) for low, _ in collections]
    for p, own in enumerate(nodes):
        for node in own:
            for i, cells in _clients_of(document, node):
                held = used[i].shape[1]
                missing = [k for k in sorted(cells) if not 0 <= k < held]
                require(not missing, f"client {i} has no cell {quoted(missing)}: it has {held}")
                used[i][p, list(cells)] = True
        if document.kind == "transported":
            require_disjoint_nodes(own)
    for i, (low, high) in enumerate(collections):
        require_disjoint_cells(low, high, used[i], f"collection {i}")
    needed = [(i, int(k)) for i, mine in enumerate(used) for k in np.flatnonzero(mine.any(0))]
    found = mapped(partial(_mass, document), needed, jobs, track, "measuring cells") if needed else []
    masses = dict(zip(needed, found, strict=True))
    return over_properties(partial(_prove_some, document, nodes, masses), document, jobs, track)


def read_nodes(document: Document) -> list[list[Node]]:
    """For each property the nodes that are claimed to be safe.

    A node of a local claim has one cell of one client and none of the others; a node of a direct claim is one
    of the certificate's own cells.
    """
    count = len(document.properties)
    nodes: list[list[Node]] = [[] for _ in range(count)]
    match document.kind:
        case "local":
            for i, client in enumerate(document.clients):
                accepted = document.tensor(f"accepted.{i}", np.bool_, count, len(client.lower))
                for p, k in np.argwhere(accepted).tolist():
                    empty = [frozenset[int]()] * len(document.clients)
                    nodes[p].append((*empty[:i], frozenset([k]), *empty[i + 1 :]))
        case "direct":
            low = document.tensor("cells.lower", np.float64, None, document.dimension)
            for p, k in np.argwhere(document.tensor("accepted", np.bool_, count, len(low))).tolist():
                nodes[p].append((frozenset([k]),))
        case _ if "tuples" in document.witness:
            tuples = document.tensor("tuples", np.int32, None, document.rule.clients)
            for t, p in np.argwhere(document.tensor("accepted", np.bool_, len(tuples), count)).tolist():
                nodes[p].append(tuple(frozenset([k]) for k in tuples[t].tolist()))
        case _:
            for p, node in _saved_nodes(document):
                nodes[p].append(node)
    return nodes


def _saved_nodes(document: Document) -> list[tuple[int, Node]]:
    n = document.rule.clients
    owner = document.tensor("nodes.property", np.int32, None)
    offsets = document.tensor("nodes.offsets", np.int32, len(owner) * n + 1)
    cells = document.tensor("nodes.cells", np.int32, None)
    require(
        bool(offsets[0] == 0 and offsets[-1] == len(cells) and (offsets[1:] > offsets[:-1]).all()),
        "nodes.offsets does not divide nodes.cells into sets",
    )
    require(
        bool(((owner >= 0) & (owner < len(document.properties))).all()),
        "nodes.property names a property that does not exist",
    )
    sets = [frozenset(part.tolist()) for part in np.split(cells, offsets[1:-1])]
    return [(p, tuple(sets[t * n : (t + 1) * n])) for t, p in enumerate(owner.tolist())]


def _collections(document: Document) -> list[tuple[Array, Array]]:
    """The end points of each client's cells; of a direct claim those in the certificate."""
    if document.kind != "direct":
        return [(client.lower, client.upper) for client in document.clients]
    low = document.tensor("cells.lower", np.float64, None, document.dimension)
    high = document.tensor("cells.upper", np.float64, len(low), document.dimension)
    require(bool((low <= high).all()), "a cell has a lower end above its upper end")
    return [(low, high)]


def _clients_of(document: Document, node: Node) -> list[tuple[int, frozenset[int]]]:
    return [(i, cells) for i, cells in enumerate(node) if document.kind != "local" or cells]


def _mass(document: Document, cell: tuple[int, int]) -> tuple[int, int]:
    """The mass of a cell, under the law of its client or the deployed one."""
    i, k = cell
    low, high = _collections(document)[i]
    if document.kind == "direct":
        return pack(box_mass(document.rule.deployed(document.laws), low[k], high[k]))
    return pack(mixture_mass(document.clients[i].law, low[k], high[k]))


def _prove_some(
    document: Document, nodes: list[list[Node]], masses: Packed, some: Sequence[int]
) -> list[Proved]:
    """Σ over the nodes that are proven safe of Π_i Σ_{k ∈ S_i} p_{i,k}; a local claim takes the mean."""
    totals = dict.fromkeys(some, ZERO)
    owners: dict[Node, list[int]] = {}
    for p in some:
        for node in nodes[p]:
            owners.setdefault(node, []).append(p)
    for node, wanting in owners.items():
        layers = unflatten(document.network, _image(document, node))
        mass = ONE
        for i, cells in _clients_of(document, node):
            mass = mass * sum((unpack(masses[i, k]) for k in sorted(cells)), ZERO)
        for p in wanting:
            if proven(layers, document.properties, p):
                totals[p] = totals[p] + mass
    share: arb = arb(len(document.clients)) if document.kind == "local" else ONE
    return [Proved(max(0.0, float_down(totals[p] / share))) for p in some]


def _image(document: Document, node: Node) -> Interval:
    """A box of all deployed parameters that the node's cells lead to."""
    hulls = []
    for i, cells in _clients_of(document, node):
        low, high = _collections(document)[i]
        chosen = sorted(cells)
        hulls.append(Interval(exact(low[chosen].min(0)), exact(high[chosen].max(0))))
    if document.kind == "transported":
        return document.rule.image(hulls)
    if len(hulls) != 1:
        raise InvalidCertificate("a node needs one cell, of one client or of the deployed model")
    return hulls[0]
