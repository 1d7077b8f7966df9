"""Certificates of `box` events: mean-centred boxes, all lattice tuples into one, or tiles."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from flint import arb

from fedcert_check import rules
from fedcert_check.balls import ONE, ZERO, exact, float_down, lower, upper
from fedcert_check.disjoint import overlapping
from fedcert_check.document import Array, Document, Proved, Rule, require
from fedcert_check.errors import InvalidCertificate
from fedcert_check.lattice import Lattice, lattice_of
from fedcert_check.masses import Law, box_mass, central_mass, law_of
from fedcert_check.network import Interval, proven, unflatten
from fedcert_check.parallel import over_properties
from fedcert_check.progress import Tracker

NONE, LATTICE, PRODUCT, TILES = range(4)


class Choice(NamedTuple):
    """What the witness chose, for each property.

    Attributes:
        view: nothing, lattice, product or tiles.
        tensor: a radius for each parameter tensor, of shape (P, T).
        row: which row of `parameter` holds the radii instead; −1 for none.
        parameter: a radius for each parameter, of shape (D, n_w).
        owner: whose tile each is.
        low: lower ends of the tiles, of shape (tiles, n, n_w).
        high: upper ends.
    """

    view: Array
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
        jobs: how many processes.
        track: shows progress.
    """
    return over_properties(partial(_prove_some, document, choices_of(document)), document, jobs, track)


def choices_of(document: Document) -> list[Choice]:
    """What the witness chose: a block for each client of a local claim, one for any other."""
    n = len(document.clients)
    if document.kind == "local":
        return [read_choice(document, f"client-{i}.", 1) for i in range(n)]
    return [read_choice(document, "", 1 if document.kind == "direct" else n)]


def read_choice(document: Document, prefix: str, clients: int) -> Choice:
    """One block of the witness."""
    count, dimension = len(document.properties), document.dimension
    tensors = 2 * sum(layer.linear for layer in document.network)
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
    require(bool((choice.view <= TILES).all()), "a box of an unknown view")
    require(bool(((choice.row >= -1) & (choice.row < len(choice.parameter))).all()), "radii of no row")
    require(bool((choice.tensor >= 0).all() and (choice.parameter >= 0).all()), "a negative radius")
    require(bool((choice.low <= choice.high).all()), "a tile has a lower end above its upper end")
    return choice


def _prove_some(document: Document, choices: Sequence[Choice], some: Sequence[int]) -> list[Proved]:
    """The proven mass of each property; a local claim takes the mean over the clients."""
    laws = [law_of(client) for client in document.clients]
    deployed = (
        None if document.rule.weights is None else Law(*rules.deployed(document.rule, document.clients))
    )
    match document.kind:
        case "local":
            views = [View(document, choice, [law]) for choice, law in zip(choices, laws, strict=True)]
        case "direct":
            require(deployed is not None, f"the rule {document.rule.name} deploys no Gaussian law")
            views = [View(document, choices[0], [law for law in [deployed] if law is not None])]
        case _:
            lattice = _lattice(document, choices[0])
            views = [View(document, choices[0], laws, document.rule, deployed, lattice)]
    share = arb(len(views))
    return [Proved(max(0.0, float_down(sum((view.mass(p) for view in views), ZERO) / share))) for p in some]


def _lattice(document: Document, choice: Choice) -> Lattice | None:
    wanted = bool((choice.view == LATTICE).any())
    return lattice_of(document.rule, document.clients) if wanted else None


@dataclass(frozen=True)
class View:
    """The laws that are drawn from, and how their draws become the parameters of a network.

    Attributes:
        document: the certificate.
        choice: what its witness chose.
        laws: of the clients; or one law alone.
        rule: of the clients; None for one law, which is deployed as it is.
        deployed: the law of the deployed parameters, where it is a Gaussian and a lattice may be asked for.
        lattice: counts tuples of lattice cells; None where no property asks for it.
    """

    document: Document
    choice: Choice
    laws: Sequence[Law]
    rule: Rule | None = None
    deployed: Law | None = None
    lattice: Lattice | None = None

    def mass(self, p: int) -> arb:
        """The mass of the events that are proven safe for property p; 0 where they are not."""
        view = int(self.choice.view[p])
        if view == TILES:
            return self.tiles(p)
        if view == LATTICE:
            if self.lattice is None or self.deployed is None:
                raise InvalidCertificate("a lattice needs several clients and a linear rule")
            safe = self.safe(p, around(self.deployed, self.radius(p)))
            return self.lattice.mass(self.radius(p)) if safe else ZERO
        if view == PRODUCT:
            safe = self.safe(p, self.image([around(law, self.radius(p)) for law in self.laws]))
            return central_mass(self.radius(p)) ** len(self.laws) if safe else ZERO
        return ZERO

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
        sizes = [
            count
            for layer in self.document.network
            if layer.linear
            for count in (layer.inputs * layer.outputs, layer.outputs)
        ]
        radii: Array = np.repeat(self.choice.tensor[p].astype(np.float64), sizes)
        return radii

    def image(self, boxes: Sequence[Interval]) -> Interval:
        """All parameters that draws from the boxes lead to."""
        return boxes[0] if self.rule is None else rules.image(self.rule, boxes)

    def safe(self, p: int, box: Interval) -> bool:
        """Whether property p is proven for all parameters of the box."""
        return proven(unflatten(self.document.network, box), self.document.properties, p)


def around(law: Law, radius: Array) -> Interval:
    """[μ − r σ, μ + r σ], rounded outward at 128 bits."""
    half = exact(radius) * law.scale
    return Interval(lower(law.loc - half), upper(law.loc + half))
