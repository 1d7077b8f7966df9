"""Which boxes, tuples and products of sets are disjoint: exact comparisons of floats and integers."""

from collections.abc import Sequence

import numpy as np

from fedcert_check.validation import Array, require


def overlapping(low: Array, high: Array) -> tuple[int, int] | None:
    """The first two of M boxes, of shape (M, …), that share interior points; None if there are none."""
    coordinates = tuple(range(1, low.ndim))
    for k in range(1, len(low)):
        clash = ((low[k] < high[:k]) & (low[:k] < high[k])).all(coordinates)
        if clash.any():
            return int(np.flatnonzero(clash)[0]), k
    return None


def require_disjoint_cells(low: Array, high: Array, used: Array, whose: str) -> None:
    """Raise unless the cells that one property uses are disjoint, faces apart.

    Args:
        low: of M cells.
        high: of M cells.
        used: which cells each property uses, of shape (P, M).
        whose: the owner of the cells, for the message.
    """
    for pattern in np.unique(used, axis=0):
        chosen = np.flatnonzero(pattern)
        pair = overlapping(low[chosen], high[chosen])
        if pair is not None:
            require(
                False,
                f"cells {chosen[pair[0]]} and {chosen[pair[1]]} of {whose} overlap: their masses do not add",
            )


MAX_UNDIVIDED_NODES = 8  # so few are compared pair by pair at once
Node = tuple[frozenset[int], ...]
"""S_1 × … × S_n, sets of cells of each client; it stands for all its tuples."""


def require_disjoint_nodes(nodes: Sequence[Node]) -> None:
    """Raise unless any two nodes differ in all cells of some client.

    Nodes of single tuples are disjoint if they are distinct. Others are divided by a client whose cells fall
    into groups that no node crosses: nodes of different groups are disjoint, and each group is divided again.
    The leaves of a search that splits sets come apart so. What does not, or what takes more steps than there
    are pairs, is compared pair by pair.
    """
    if all(len(cells) == 1 for node in nodes for cells in node):
        require(len(set(nodes)) == len(nodes), "a tuple is counted twice")
        return
    waiting, steps = [list(nodes)], len(nodes) ** 2
    while waiting:
        some = waiting.pop()
        steps -= sum(len(cells) for node in some for cells in node)
        divided = _divided(some) if len(some) > MAX_UNDIVIDED_NODES and steps > 0 else [some]
        if len(divided) > 1:
            waiting += divided
        else:
            _require_disjoint_pairs(some)


def _require_disjoint_pairs(nodes: Sequence[Node]) -> None:
    for k, node in enumerate(nodes):
        for other in nodes[:k]:
            require(
                any(mine.isdisjoint(yours) for mine, yours in zip(node, other, strict=True)),
                "two nodes share a tuple: it would be counted twice",
            )


def _divided(nodes: Sequence[Node]) -> list[list[Node]]:
    """The groups by the client that makes the largest of them smallest; one group where nobody divides."""
    divisions = [_groups([node[i] for node in nodes]) for i in range(len(nodes[0]))]
    best = min(divisions, key=lambda groups: max(len(group) for group in groups))
    return [[nodes[k] for k in group] for group in best]


def _groups(sets: Sequence[frozenset[int]]) -> list[list[int]]:
    """The sets, by number, so that sets of different groups are disjoint."""
    parent: dict[int, int] = {}

    def root(cell: int) -> int:
        while parent.setdefault(cell, cell) != cell:
            parent[cell] = parent[parent[cell]]
            cell = parent[cell]
        return cell

    for cells in sets:
        first, *others = cells
        for cell in others:
            parent[root(cell)] = root(first)
    groups: dict[int, list[int]] = {}
    for k, cells in enumerate(sets):
        groups.setdefault(root(next(iter(cells))), []).append(k)
    return list(groups.values())
