"""The families of events that this checker knows: how each is proven, and what the proof takes."""

from collections.abc import Callable
from typing import NamedTuple

from flint import ctx

from fedcert_check import boxes, cells, projected
from fedcert_check.balls import PRECISION
from fedcert_check.cost import Cost, Estimate
from fedcert_check.cost import boxes as boxes_cost
from fedcert_check.cost import cells as cells_cost
from fedcert_check.cost import projected as projected_cost
from fedcert_check.document import Document, Proved
from fedcert_check.errors import InvalidCertificate
from fedcert_check.parts import mixed, pooled
from fedcert_check.pooling import Pooling
from fedcert_check.progress import Tracker

Prove = Callable[[Document, int, Tracker], list[Proved]]
"""What a witness proves of each property, given the certificate, the number of processes and a tracker."""


class Family(NamedTuple):
    """A family of events.

    Attributes:
        prove: proves a certificate again.
        estimate: what this takes.
    """

    prove: Prove
    estimate: Estimate


FAMILIES = {
    "box": Family(boxes.prove, boxes_cost.estimate),
    "projected": Family(projected.prove, projected_cost.estimate),
}
"""The families with a witness of their own, by name."""

CELLS = Family(cells.prove, cells_cost.estimate)
"""Any family whose events are cells, whatever its name: the witness says which cells are safe."""


def _prove_pooled(document: Document, jobs: int, track: Tracker) -> list[Proved]:
    """Σ_i w_i of what is proved of each client's own model."""
    if not isinstance(document.rule, Pooling):
        raise InvalidCertificate(f"the rule {document.rule.name} deploys no client's own model")
    found = [family_of(part).prove(part, jobs, track) for part in pooled(document)]
    with ctx.workprec(PRECISION):
        return mixed(document.rule.shares, found)


def _estimate_pooled(document: Document, jobs: int) -> Cost:
    """All clients' proofs, one after the other."""
    costs = [family_of(part).estimate(part, jobs) for part in pooled(document)]
    return Cost(max(cost.memory for cost in costs), sum(cost.seconds for cost in costs))


POOLED = Family(_prove_pooled, _estimate_pooled)
"""Direct and transported claims under pooling, which are made of claims about single clients."""


def family_of(document: Document) -> Family:
    """The family of a certificate; one that is neither in `FAMILIES` nor made of cells is refused by name.

    Args:
        document: the certificate.
    """
    if isinstance(document.rule, Pooling) and document.kind != "local":
        return POOLED
    if document.events in FAMILIES:
        return FAMILIES[document.events]
    if cells.is_witness(document):
        return CELLS
    raise InvalidCertificate(
        f"family of events {document.events!r}: this checker knows {' and '.join(FAMILIES)}, and families of"
        " cells, but the witness is not one of cells"
    )
