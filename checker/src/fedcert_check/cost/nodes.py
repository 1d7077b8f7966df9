"""How many bounds a witness of `projected` events asks for: one a property, or one a tuple of components."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedcert_check.cost.rates import ENTRY_BYTES
from fedcert_check.document import Document
from fedcert_check.projected.mixtures import KEPT_WEIGHTS, built_weights, has_nodes, node_tensors
from fedcert_check.validation import Array, require

KEPT_BYTES = 3 * ENTRY_BYTES  # of a weight: means, variances, and both as floats
PRECISIONS = 3  # a law is built at each


class Evaluations(NamedTuple):
    """What one block of the witness asks for.

    Attributes:
        rows: of the tables of choices, for each node; the properties where there are no nodes.
        tuples: number of tuples of each node.
        laws: maximum number of different laws.
        members: number of components in all sets together.
        meetings: number of pairs of sets of one property's nodes that may have to be compared.
    """

    rows: Array
    tuples: Array
    laws: float
    members: int = 0
    meetings: float = 0.0

    def of_each_row(self, table: Array) -> Array:
        """The rows of a table, once for each node; a node without a row raises."""
        require(len(self.rows) == 0 or int(self.rows.max()) < len(table), "nodes.row names a row too many")
        own: Array = table[self.rows]
        return own


def evaluations(document: Document, prefix: str, clients: int) -> Evaluations:
    """The bounds that one block asks for.

    Args:
        document: the certificate.
        prefix: of the block.
        clients: number of sets that a node has.
    """
    if not has_nodes(document, prefix):
        rows = np.flatnonzero(_bounded(document, prefix))
        return Evaluations(rows, np.ones(len(rows)), 1.0)
    owner, rows, offsets, members = node_tensors(document, prefix, clients)
    sizes = np.diff(offsets).astype(float).reshape(len(owner), clients)
    tuples = sizes.prod(1)
    starts = offsets[::clients].tolist()
    content = [(sizes[t].tobytes(), members[starts[t] : starts[t + 1]].tobytes()) for t in range(len(owner))]
    different = dict(zip(content, tuples.tolist(), strict=True))
    each = np.unique(owner, return_counts=True)[1].astype(float)
    return Evaluations(
        rows, tuples, sum(different.values()), len(members), clients * float((each**2).sum()) / 2
    )


def _bounded(document: Document, prefix: str) -> Array:
    """Whether a property is asked for, and has a bound in this block of a direct claim that says anything."""
    asked = np.isin(np.arange(len(document.properties)), document.asked)
    if document.kind != "direct":
        return asked
    if prefix == "upper." and document.upper is not None:
        return np.asarray(asked & (document.upper < 1))
    return np.asarray(asked & (document.lower > 0))


def kept_bytes(document: Document, asked: Sequence[Evaluations]) -> float:
    """Of the laws that are kept for later properties."""
    built = built_weights(document)
    return KEPT_BYTES * built * min(float(KEPT_WEIGHTS // built), PRECISIONS * sum(own.laws for own in asked))
