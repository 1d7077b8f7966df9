"""Direct certificates: disjoint safe boxes under the law of the deployed model [III-G]."""

from jaxtyping import Bool
from torch import Tensor

from fedcert.certificate import Certificate, Claim
from fedcert.families.cells import Cells
from fedcert.verify import Safe
from fedcert.witness import Witness


def verified(cells: Cells, safe: Safe) -> Bool[Tensor, "P M"]:
    """Which cells of each property's collection are proven safe.

    The cells of a collection are disjoint, so their masses add up to q(∪ C_t) ≤ q(S).
    """
    return safe(cells.boxes).mT & cells.members(len(safe.properties))


def certify_direct(cells: Cells, safe: Safe, rule: str, events: str) -> Certificate:
    """L^dir = Σ_t q_g(C_t) ≤ q_g(S) (eq. direct_fedavg_certificate).

    Args:
        cells: disjoint cells and their masses under the deployed law q_g.
        safe: the verifier and the properties.
        rule: the name of the rule that deploys q_g.
        events: the name of the family that the cells come from.
    """
    accepted = verified(cells, safe)
    used = accepted.any(0)
    witness = {
        "cells.lower": cells.boxes.lower[used],
        "cells.upper": cells.boxes.upper[used],
        "accepted": accepted[:, used],
    }
    lower = cells.mass(accepted).clamp(max=1.0)
    return Certificate(Claim("direct", rule, events), lower, witness=Witness(witness))
