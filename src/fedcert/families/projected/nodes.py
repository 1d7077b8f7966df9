"""The witness of a mixture's bounds: nodes of tuples of components, and the choices behind each bound."""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

import torch
from torch import Tensor

from fedcert.errors import InvalidConfig
from fedcert.families.projected.choices import Choices
from fedcert.families.projected.components import Interval, MixtureBounds, mixture_bounds
from fedcert.laws import GaussianLaw, Law
from fedcert.search import IndexProduct
from fedcert.witness import Witness

UPPER = "upper."
"""What the names of an upper bound's choices begin with."""
BoundWithChoices = Callable[[Sequence[GaussianLaw]], tuple[Interval, Choices]]
Entry = tuple[int, IndexProduct, int]
"""A property, a node, and the number of the call whose choices bound all tuples of the node."""


def bounds_and_witness(
    laws: Sequence[Law], bound: BoundWithChoices, budget: int, good: float
) -> tuple[Interval, Witness]:
    """The bounds of Gaussian laws or of mixtures, with the witness of their choices.

    Args:
        laws: the clients' laws, Gaussians or mixtures of them.
        bound: gives L and U for one law per client, or for all laws that these enclose, and its choices:
            tensors with one row for each property.
        budget: the maximum number of bounds tried.
        good: a node with 1 − L of at most this much is not split.
    """
    if budget < 1:
        raise InvalidConfig(f"at least one tuple of components must be bounded, not {budget}")
    if all(len(law.components) == 1 for law in laws):
        found, choices = bound([law.components[0] for law in laws])
        return found, Witness(choices)
    made: list[Choices] = []

    def recorded(components: Sequence[GaussianLaw]) -> Interval:
        interval, choices = bound(components)
        made.append(choices)
        return interval

    mixture = mixture_bounds(laws, recorded, budget, good)
    below = _block(_entries(mixture, upper=False), [_side(own, upper=False) for own in made])
    above = [_side(own, upper=True) for own in made]
    if any(above):
        below |= {UPPER + name: t for name, t in _block(_entries(mixture, upper=True), above).items()}
    return (mixture.lower, mixture.upper), Witness(below)


def _side(choices: Choices, upper: bool) -> Choices:
    """The choices of lower or of upper bounds, without their prefix."""
    return {name.removeprefix(UPPER): t for name, t in choices.items() if name.startswith(UPPER) == upper}


def _entries(found: MixtureBounds, upper: bool) -> list[Entry]:
    """For each property disjoint nodes with a bound that says something, and the calls that they come from.

    Nodes that share a call are written as the one node that it was made for, if they are all its parts.
    """
    settled = [(node.tuples, node.known) for node in found.nodes if node.known is not None]
    sources = [(known.above if upper else known.below).tolist() for _, known in settled]
    useful = [(known.upper < 1 if upper else known.lower > 0).tolist() for _, known in settled]
    parts = [[j for j, (node, _) in enumerate(settled) if _within(node, whole)] for whole in found.called]
    entries: list[Entry] = []
    for p in range(len(found.lower)):
        calls = dict.fromkeys(own[p] for own, says in zip(sources, useful, strict=True) if says[p])
        for call in calls:
            mine = [j for j in parts[call] if sources[j][p] == call]
            whole = mine == parts[call]
            nodes = [found.called[call]] if whole else [settled[j][0] for j in mine]
            entries += [(p, node, call) for node in nodes]
    return entries


def _within(node: IndexProduct, whole: IndexProduct) -> bool:
    return all(set(own) <= set(all_of) for own, all_of in zip(node, whole, strict=True))


def _block(entries: Sequence[Entry], made: Sequence[Choices]) -> dict[str, Tensor]:
    """The nodes, and a table of choices with one row for each call and property that a node needs."""
    wanted = sorted({(call, p) for p, _, call in entries})
    row = {pair: place for place, pair in enumerate(wanted)}
    sets = [own for _, node, _ in entries for own in node]
    lists = {
        "nodes.property": [p for p, _, _ in entries],
        "nodes.row": [row[call, p] for p, _, call in entries],
        "nodes.offsets": [0, *accumulate(len(own) for own in sets)],
        "nodes.components": [k for own in sets for k in own],
    }
    tensors = {name: torch.tensor(values, dtype=torch.int32) for name, values in lists.items()}
    shapes = {name: tensor for choices in made for name, tensor in choices.items()}
    for name, like in shapes.items():
        table = like.new_zeros((len(wanted), *like.shape[1:]))
        for call, rows, properties in _by_call(wanted):
            if name in made[call]:
                table[rows] = made[call][name][properties]
        tensors[name] = table
    return tensors


def _by_call(wanted: Sequence[tuple[int, int]]) -> Iterator[tuple[int, slice, list[int]]]:
    """The rows of each call, which follow each other, and their properties."""
    start = 0
    while start < len(wanted):
        call = wanted[start][0]
        properties = [p for own, p in wanted[start:] if own == call]
        yield call, slice(start, start + len(properties)), properties
        start += len(properties)
