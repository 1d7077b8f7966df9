"""Which boxes, tuples and products of sets are disjoint: exact comparisons of floats and integers."""

from collections.abc import Sequence

import numpy as np

from fedcert.check.document import Array, require


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
        whose: the cells, for the message.
    """
    for pattern in np.unique(used, axis=0):
        chosen = np.flatnonzero(pattern)
        pair = overlapping(low[chosen], high[chosen])
        if pair is not None:
            require(
                False,
                f"cells {chosen[pair[0]]} and {chosen[pair[1]]} of {whose} overlap: their masses do not add",
            )


Node = tuple[frozenset[int], ...]
"""S_1 × … × S_n, sets of cells of each client; it stands for all its tuples."""


def require_disjoint_nodes(nodes: Sequence[Node]) -> None:
    """Raise unless any two nodes differ in all cells of some client.

    Nodes of single tuples are disjoint if they are distinct.
    """
    if all(len(cells) == 1 for node in nodes for cells in node):
        require(len(set(nodes)) == len(nodes), "a tuple is counted twice")
        return
    for k, node in enumerate(nodes):
        for other in nodes[:k]:
            require(
                any(mine.isdisjoint(yours) for mine, yours in zip(node, other, strict=True)),
                "two nodes share a tuple: it would be counted twice",
            )
