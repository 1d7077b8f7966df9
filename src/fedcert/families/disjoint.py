"""A check that the cells of each property are disjoint: its pairs, its cost, and the comparison."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from fedcert.numerics.box import Box

PAIRS = 2**16  # approximate maximum number of pairs held at a time
ELEMENTS = 2**17  # maximum number of coordinates of pairs compared at a time, so that copies stay in a cache
FIRST_COLUMNS, MOST_COLUMNS = 16, 256  # columns compared at a time: few at first, as most pairs differ early
PAIR = 32  # the number of comparisons that take as long as finding a pair


def comparisons(member: Bool[Tensor, "P M"], dimension: int) -> int:
    """The maximum number of coordinates of pairs that `first_overlap` compares: n_w Σ_j m_j (m_j − 1) / 2.

    m_j is the number of cells of property j. A pair counts as at least `PAIR` coordinates, since finding it
    costs that much. Only the members are read, not the cells.

    Args:
        member: which cells form the collection of property j.
        dimension: n_w.
    """
    sizes: list[int] = member.sum(-1, dtype=torch.int32).tolist()
    return max(dimension, PAIR) * sum(m * (m - 1) // 2 for m in sizes)


def first_overlap(boxes: Box, member: Bool[Tensor, "P M"]) -> tuple[int, int] | None:
    """Two cells of one property that share interior points; None if there are none.

    Args:
        boxes: M cells.
        member: which cells form the collection of property j.
    """
    for earlier, later in _pairs(member):
        clash = _clashes(boxes, earlier, later)
        if len(clash):
            return int(earlier[clash[0]]), int(later[clash[0]])
    return None


def _pairs(member: Bool[Tensor, "P M"]) -> Iterator[tuple[Int64[Tensor, " k"], Int64[Tensor, " k"]]]:
    """Pairs i < k of cells of one property, in batches of about `PAIRS`; no pair is repeated in a batch.

    The cells of all properties form one list, property by property, and each cell is paired with the cells
    of its own property that come before it.
    """
    whose, cell = member.nonzero().unbind(-1)
    count = member.sum(-1, dtype=torch.int32)
    start = (count.cumsum(0) - count)[whose]
    before = torch.arange(len(cell), device=cell.device) - start
    chunk = before.cumsum(0) // PAIRS
    sizes = chunk.unique_consecutive(return_counts=True)[1].tolist()
    for part in torch.arange(len(cell), device=cell.device).split(sizes):
        later = part.repeat_interleave(before[part])
        first = (before[part].cumsum(0) - before[part]).repeat_interleave(before[part])
        earlier = start[later] + torch.arange(len(later), device=cell.device) - first
        pairs = (cell[later] * member.shape[1] + cell[earlier]).unique()
        yield pairs % member.shape[1], pairs // member.shape[1]


def _clashes(
    boxes: Box, earlier: Int64[Tensor, " k"], later: Int64[Tensor, " k"]
) -> Int64[Tensor, " clashes"]:
    """Which pairs of boxes overlap; a pair is dropped at the first block of coordinates that separates it."""
    left = torch.arange(len(later), device=later.device)
    start, columns = 0, FIRST_COLUMNS
    while len(left) and start < boxes.shape[-1]:
        block = slice(start, start + columns)
        lower, upper = boxes.lower[:, block].contiguous(), boxes.upper[:, block].contiguous()
        parts = left.split(max(1, ELEMENTS // columns))
        left = torch.cat([part[~_apart(lower, upper, earlier[part], later[part])] for part in parts])
        start, columns = start + columns, min(2 * columns, MOST_COLUMNS)
    return left


def _apart(
    lower: Float64[Tensor, "M c"],
    upper: Float64[Tensor, "M c"],
    earlier: Int64[Tensor, " k"],
    later: Int64[Tensor, " k"],
) -> Bool[Tensor, " k"]:
    """Which pairs of boxes have no common interior points in some coordinate; touching faces have no mass."""
    above = lower.index_select(0, later) >= upper.index_select(0, earlier)
    below = lower.index_select(0, earlier) >= upper.index_select(0, later)
    return (above | below).any(-1)
