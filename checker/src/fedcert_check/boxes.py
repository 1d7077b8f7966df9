"""Certificates of `box` events: boxes around the means, all lattice tuples that lead into one, or tiles."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial
from typing import NamedTuple

import numpy as np
from flint import arb, ctx

from fedcert_check.balls import ONE, PRECISION, ZERO, Interval, exact, float_down, lower, upper
from fedcert_check.cells import prove_nodes
from fedcert_check.disjoint import overlapping
from fedcert_check.document import Document, Proved
from fedcert_check.errors import InvalidCertificate
from fedcert_check.lattice import Lattice, lattice_of
from fedcert_check.masses import Gaussian, box_mass, central_mass, gaussian
from fedcert_check.parallel import over_properties
from fedcert_check.parts import alone, mixed
from fedcert_check.progress import Tracker
from fedcert_check.rules import Rule
from fedcert_check.validation import Array, require
from fedcert_check.verifier import proven, unflatten


class Counted(IntEnum):
    """Which events a witness counts for a property; the numbers are those of its tensor `view`."""

    NOTHING = 0
    LATTICE = 1
    PRODUCT = 2
    TILES = 3


class Choice(NamedTuple):
    """What the witness chose, for each property.

    Attributes:
        counted: which events, a number of `Counted`.
        tensor: a radius for each parameter tensor, of shape (P, T).
        row: which row of `parameter` holds the radii instead; −1 for none.
        parameter: a radius for each parameter, of shape (D, n_w).
        owner: the property that each tile belongs to.
        low: lower ends of the tiles, of shape (tiles, n, n_w).
        high: upper ends.
    """

    counted: Array
    tensor: Array
    row: Array
    parameter: Array
    owner: Array
    low: Array
    high: Array


def prove(document: Document, jobs: int, track: Tracker) -> list[Proved]:
    """What the chosen boxes prove of each property.

    Args:
        document: the certificate.
        jobs: number of processes.
        track: shows progress.
    """
    if has_cells(document):
        return prove_nodes(with_cells(document), jobs, track)
    if parts := local_parts(document):
        found = [prove(part, jobs, track) for part in parts]
        with ctx.workprec(PRECISION):
            return [Proved(own.lower) for own in mixed([ONE / len(parts)] * len(parts), found)]
    return over_properties(partial(_prove_some, document, choices_of(document)), document, jobs, track)


def has_cells(document: Document) -> bool:
    """Whether a witness counts tuples of cells that it states itself, as that of mixtures does."""
    return document.kind == "transported" and "nodes.property" in document.witness


def with_cells(document: Document) -> Document:
    """The certificate with the cells of its witness in place of those of the messages.

    Args:
        document: whose witness has cells.
    """
    clients = []
    for i, client in enumerate(document.clients):
        low = document.tensor(f"cells.{i}.lower", np.float64, None, document.dimension)
        high = document.tensor(f"cells.{i}.upper", np.float64, len(low), document.dimension)
        require(bool((low <= high).all()), f"witness.cells.{i}: a lower end above its upper end")
        clients.append(replace(client, lower=low, upper=high))
    nodes = {name: own for name, own in document.witness.items() if name.startswith("nodes.")}
    return replace(document, clients=tuple(clients), witness=nodes)


def local_parts(document: Document) -> list[Document]:
    """A claim for each client, if a local claim counts tuples of cells of some mixture; none elsewhere."""
    if document.kind != "local":
        return []
    prefixes = [f"client-{i}." for i in range(len(document.clients))]
    if not any(prefix + "nodes.property" in document.witness for prefix in prefixes):
        return []
    return [alone(document, i, prefix) for i, prefix in enumerate(prefixes)]


def choices_of(document: Document) -> list[Choice]:
    """What the witness chose: a block for each client of a local claim, one for any other."""
    n = len(document.clients)
    if document.kind == "local":
        return [read_choice(document, f"client-{i}.", 1) for i in range(n)]
    return [read_choice(document, "", 1 if document.kind == "direct" else n)]


def read_choice(document: Document, prefix: str, clients: int) -> Choice:
    """One block of the witness."""
    count, dimension = len(document.properties), document.dimension
    tensors = len(document.network.sizes)
    owner = document.tensor(prefix + "tiles.property", np.int32, None)
    choice = Choice(
        document.tensor(prefix + "view", np.uint8, count),
        document.tensor(prefix + "radius.tensor", np.float16, count, tensors),
        document.tensor(prefix + "radius.row", np.int32, count),
        document.tensor(prefix + "radius.parameter", np.float16, None, dimension),
        owner,
        document.tensor(prefix + "tiles.lower", np.float64, len(owner), clients, dimension),
        document.tensor(prefix + "tiles.upper", np.float64, len(owner), clients, dimension),
    )
    rows = (choice.row >= -1) & (choice.row < len(choice.parameter))
    require(bool(np.isin(choice.counted, list(Counted)).all()), f"{prefix}view has an unknown number")
    require(bool(rows.all()), f"{prefix}radius.row names a row that does not exist")
    require(bool((choice.tensor >= 0).all() and (choice.parameter >= 0).all()), "a radius is negative")
    require(bool((choice.low <= choice.high).all()), "a tile has a lower end above its upper end")
    return choice


def _prove_some(document: Document, choices: Sequence[Choice], some: Sequence[int]) -> list[Proved]:
    """The proven mass of each property; a local claim takes the mean over the clients."""
    laws = [gaussian(law) for law in document.laws]
    match document.kind:
        case "local":
            draws = [Draws(document, choice, [law]) for choice, law in zip(choices, laws, strict=True)]
        case "direct":
            draws = [Draws(document, choices[0], [document.rule.deployed(document.laws)])]
        case _:
            lattice = _lattice(document, choices[0])
            draws = [Draws(document, choices[0], laws, document.rule, lattice)]
    share = arb(len(draws))
    return [Proved(max(0.0, float_down(sum((own.mass(p) for own in draws), ZERO) / share))) for p in some]


def _lattice(document: Document, choice: Choice) -> tuple[Gaussian, Lattice] | None:
    if not (choice.counted == Counted.LATTICE).any():
        return None
    return document.rule.deployed(document.laws), lattice_of(document.rule, document.laws)


@dataclass(frozen=True)
class Draws:
    """The laws that are drawn from, and how their draws become the parameters of a network.

    Attributes:
        document: the certificate.
        choice: what its witness chose.
        laws: of the clients; or one law alone.
        rule: of the clients; None for one law, which is deployed as it is.
        lattice: the deployed law, and the tuples of lattice cells; None where no property counts them.
    """

    document: Document
    choice: Choice
    laws: Sequence[Gaussian]
    rule: Rule | None = None
    lattice: tuple[Gaussian, Lattice] | None = None

    def mass(self, p: int) -> arb:
        """The mass of the events that are proven safe for property p; 0 where they are not."""
        match int(self.choice.counted[p]):
            case Counted.LATTICE:
                return self.tuples(p)
            case Counted.PRODUCT:
                safe = self.safe(p, self.image([around(law, self.radius(p)) for law in self.laws]))
                return central_mass(self.radius(p), self.laws) if safe else ZERO
            case Counted.TILES:
                return self.tiles(p)
        return ZERO

    def tuples(self, p: int) -> arb:
        """The mass of all lattice tuples that the rule carries into a box around the deployed mean."""
        if self.lattice is None:
            raise InvalidCertificate("a lattice needs several clients and a linear rule")
        deployed, lattice = self.lattice
        return lattice.mass(self.radius(p)) if self.safe(p, around(deployed, self.radius(p))) else ZERO

    def tiles(self, p: int) -> arb:
        """Σ over the property's tiles that are proven safe of Π_i q_i(H_i); the tiles are disjoint."""
        own = np.flatnonzero(self.choice.owner == p)
        low, high = self.choice.low[own], self.choice.high[own]
        pair = overlapping(low, high)
        require(pair is None, f"tiles {pair} of property {p} overlap: their masses do not add")
        mass = ZERO
        for lows, highs in zip(low, high, strict=True):
            boxes = [Interval(exact(a), exact(b)) for a, b in zip(lows, highs, strict=True)]
            if self.safe(p, self.image(boxes)):
                part = ONE
                for law, a, b in zip(self.laws, lows, highs, strict=True):
                    part = part * box_mass(law, a, b)
                mass = mass + part
        return mass

    def radius(self, p: int) -> Array:
        """r_d for each parameter."""
        row = int(self.choice.row[p])
        if row >= 0:
            own: Array = self.choice.parameter[row].astype(np.float64)
            return own
        radii: Array = np.repeat(self.choice.tensor[p].astype(np.float64), self.document.network.sizes)
        return radii

    def image(self, boxes: Sequence[Interval]) -> Interval:
        """All parameters that draws from the boxes lead to."""
        return boxes[0] if self.rule is None else self.rule.image(boxes)

    def safe(self, p: int, box: Interval) -> bool:
        """Whether property p is proven for all parameters of the box."""
        return proven(unflatten(self.document.network, box), self.document.properties, p)


def around(law: Gaussian, radius: Array) -> Interval:
    """[μ − r σ, μ + r σ], rounded outward at 128 bits."""
    half = exact(radius) * law.scale
    return Interval(lower(law.loc - half), upper(law.loc + half))
