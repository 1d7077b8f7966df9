"""Mixtures: nodes of tuples of components, read from a witness, and the mixture of their bounds, in balls.

A node S_1 × … × S_n stands for all tuples of components k_i ∈ S_i. Nodes that are disjoint add up with the
weights Π_i Σ_{k ∈ S_i} π_{i,k}; the tuples of no node count as unsafe below and as safe above.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple, TypeVar, cast

import numpy as np
from flint import arb, ctx

from fedcert_check.balls import ONE, ZERO, Balls, float_down, float_up
from fedcert_check.blocks import BlockGaussian
from fedcert_check.disjoint import Node, require_disjoint_nodes
from fedcert_check.document import Document
from fedcert_check.laws import Law
from fedcert_check.masses import Gaussian, component_shares, gaussian
from fedcert_check.projected.block_laws import AnyGaussian
from fedcert_check.validation import Array, require

T = TypeVar("T")
NODES = "nodes.property"


class Entry(NamedTuple):
    """A node, and the row of the tables of choices with which all its tuples are bounded."""

    node: Node
    row: int


class Part(NamedTuple):
    """A weight, and a bound that holds with it."""

    weight: arb
    bound: float


class Side(NamedTuple):
    """Lower or upper bounds: the entries of each property that is asked for, and how one is bounded.

    Attributes:
        entries: by property.
        bound: the bound for one law (whatever it was built to), a property and a row.
    """

    entries: Mapping[int, Sequence[Entry]]
    bound: Callable[..., float]


def has_nodes(document: Document, prefix: str = "") -> bool:
    """Whether a block of the witness speaks of tuples of components."""
    return prefix + NODES in document.witness


def read_entries(document: Document, prefix: str, laws: Sequence[Law]) -> list[list[Entry]]:
    """The entries of each property; Gaussian laws without nodes have one each, in the row of the property.

    Args:
        document: the certificate.
        prefix: of the block.
        laws: whose components the nodes are made of.
    """
    count, n = len(document.properties), len(laws)
    if not has_nodes(document, prefix) and all(len(law.components) == 1 for law in laws):
        return [[Entry((frozenset([0]),) * n, p)] for p in range(count)]
    owner, row, offsets, members = node_tensors(document, prefix, n)
    entries: list[list[Entry]] = [[] for _ in range(count)]
    sets = [frozenset(part.tolist()) for part in np.split(members, offsets[1:-1])]
    for t, (p, place) in enumerate(zip(owner.tolist(), row.tolist(), strict=True)):
        node = tuple(sets[t * n : (t + 1) * n])
        for i, (own, law) in enumerate(zip(node, laws, strict=True)):
            held = len(law.components)
            require(
                min(own) >= 0 and max(own) < held,
                f"{prefix}nodes.components: law {i} has {held} components, not one of number"
                f" {min(own) if min(own) < 0 else max(own)}",
            )
        entries[p].append(Entry(node, place))
    for some in entries:
        require_disjoint_nodes([entry.node for entry in some])
    return entries


def node_tensors(document: Document, prefix: str, clients: int) -> tuple[Array, Array, Array, Array]:
    """The property and the row of each node, and where its sets of components begin among all of them.

    Args:
        document: the certificate.
        prefix: of the block.
        clients: number of sets that a node has.
    """
    owner = document.tensor(prefix + NODES, np.int32, None)
    row = document.tensor(prefix + "nodes.row", np.int32, len(owner))
    offsets = document.tensor(prefix + "nodes.offsets", np.int32, len(owner) * clients + 1)
    members = document.tensor(prefix + "nodes.components", np.int32, None)
    require(
        bool(offsets[0] == 0 and offsets[-1] == len(members) and (offsets[1:] > offsets[:-1]).all()),
        f"{prefix}nodes.offsets does not divide {prefix}nodes.components into sets",
    )
    inside = (owner >= 0) & (owner < len(document.properties))
    require(bool(inside.all()), f"{prefix}nodes.property names a property that does not exist")
    require(bool((row >= 0).all()), f"{prefix}nodes.row is negative")
    return owner, row, offsets, members


KEPT_WEIGHTS = 2**20  # of all laws that are kept for later properties


class Kept:
    """What was built of laws of independent parameters, for later properties of the same proof.

    Args:
        document: the certificate, whose matrices are counted.
    """

    def __init__(self, document: Document) -> None:
        self.room, self.found = KEPT_WEIGHTS // built_weights(document), dict[object, object]()

    def get(self, key: object, build: Callable[[], T]) -> T:
        """What was built for this key at the same precision, or what is built now.

        Args:
            key: says what is built.
            build: how.
        """
        if (ctx.prec, key) in self.found:
            return cast(T, self.found[ctx.prec, key])
        built = build()
        if len(self.found) < self.room:
            self.found[ctx.prec, key] = built
        return built


def built_weights(document: Document) -> int:
    """Of all matrices of the network, under the deployed law and, if need be, each client's share of it."""
    stacks = 1 + len(document.clients) if document.kind == "transported" else 1
    return stacks * sum(before * after for before, after in document.network.maps)


def bounded(
    laws: Sequence[Law],
    build: Callable[[Sequence[AnyGaussian]], T],
    sides: Sequence[Side],
    hulls: bool,
    kept: Kept,
    prefix: str = "",
) -> list[dict[int, list[Part]]]:
    """For each side and property the weighted bounds of all entries; each law is built once.

    Args:
        laws: whose components the nodes are made of.
        build: makes of one Gaussian for each law what the sides bound.
        sides: what is asked.
        hulls: whether a node is bounded at once, by balls that contain its components, or tuple by tuple.
        kept: what was built before.
        prefix: of the block of the witness, whose laws these are.
    """
    wanted: dict[Node, list[tuple[int, int, int]]] = {}
    for number, side in enumerate(sides):
        for p, entries in side.entries.items():
            for entry in entries:
                for node in [entry.node] if hulls else tuples(entry.node):
                    wanted.setdefault(node, []).append((number, p, entry.row))
    shares = [component_shares(law) for law in laws]
    found: list[dict[int, list[Part]]] = [{p: [] for p in side.entries} for side in sides]
    independent = not any(isinstance(law, BlockGaussian) for law in laws)
    for node, asked in wanted.items():
        fresh = partial(_built, laws, build, node)
        built = kept.get((prefix, node), fresh) if independent else fresh()
        weight = weight_of(shares, node)
        for number, p, row in asked:
            found[number][p].append(Part(weight, sides[number].bound(built, p, row)))
    return found


def _built(laws: Sequence[Law], build: Callable[[Sequence[AnyGaussian]], T], node: Node) -> T:
    return build([hull(law, own) for law, own in zip(laws, node, strict=True)])


def tuples(node: Node) -> Iterator[Node]:
    """The tuples of a node, as nodes."""
    return (tuple(frozenset([k]) for k in chosen) for chosen in product(*map(sorted, node)))


def hull(law: Law, chosen: frozenset[int]) -> AnyGaussian:
    """A Gaussian whose balls contain the means and the scales of some components."""
    if isinstance(law, BlockGaussian):
        return law
    first, *others = (gaussian(law.components[k]) for k in sorted(chosen))
    for other in others:
        first = Gaussian(_union(first.loc, other.loc), _union(first.scale, other.scale))
    return first


def _union(one: Balls, other: Balls) -> Balls:
    return np.array([a.union(b) for a, b in zip(one.tolist(), other.tolist(), strict=True)], dtype=object)


def weight_of(shares: Sequence[Sequence[arb]], node: Node) -> arb:
    """Π_i Σ_{k ∈ S_i} π_{i,k}; all components of a law together weigh exactly 1."""
    weight = ONE
    for own, chosen in zip(shares, node, strict=True):
        if len(chosen) < len(own):
            weight = weight * sum((own[k] for k in sorted(chosen)), ZERO)
    return weight


def below(parts: Sequence[Part]) -> float:
    """Σ weight · L, rounded down."""
    return max(0.0, float_down(sum((part.weight * arb(part.bound) for part in parts), ZERO)))


def above(parts: Sequence[Part]) -> float:
    """Σ weight · U + (1 − Σ weight), rounded up."""
    whole = sum((part.weight for part in parts), ZERO)
    total = sum((part.weight * arb(part.bound) for part in parts), ONE - whole)
    return min(1.0, float_up(total))
