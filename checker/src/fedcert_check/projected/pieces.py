"""Regions that are cut into the boxes of a grid (docs/soundness.md, 9.11): the witness names the parts."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from fedcert_check.document import Document
from fedcert_check.projected.exact import Region
from fedcert_check.projected.witness import PIECES
from fedcert_check.validation import Array, require

MOST_PIECES = 4096  # of one region


def counts(document: Document) -> Array:
    """n_k, the number of equal parts of each input, for each property."""
    table = document.tensor("pieces.counts", np.int32, *document.properties.lower.shape)
    require(bool((table >= 1).all()), "a region has parts of a number below 1")
    require(
        bool((table.astype(float).prod(1) <= MOST_PIECES).all()),
        f"a region has more than {MOST_PIECES} pieces",
    )
    return table


def first_rows(document: Document) -> Array:
    """The row of the first piece of each property; those of one region follow each other."""
    method = document.tensor("method", np.uint8, len(document.properties))
    numbers = np.where(method == PIECES, counts(document).prod(1, dtype=np.int64), 0)
    return np.asarray(np.concatenate([[0], numbers.cumsum()])[:-1])


def pieces(document: Document, p: int, region: Region) -> Iterator[Region]:
    """The property on each piece of its region; together these cover it, however edges are rounded."""
    own = document.properties
    ends = [
        _edges(low, high, parts)
        for low, high, parts in zip(own.lower[p], own.upper[p], counts(document)[p].tolist(), strict=True)
    ]
    for place in product(*(range(len(edge) - 1) for edge in ends)):
        low = np.array([edge[i] for edge, i in zip(ends, place, strict=True)])
        high = np.array([edge[i + 1] for edge, i in zip(ends, place, strict=True)])
        piece = Region.of(low, high, own.C[p], own.d[p])
        yield Region(piece.centre, piece.radius, region.C, region.d)


def _edges(low: float, high: float, parts: int) -> list[float]:
    """The ends of the parts, in order, from one end of the region to the other."""
    inner = [low + (high - low) * (part / parts) for part in range(1, parts)]
    return [low, *(min(max(edge, low), high) for edge in inner), high]
