"""Local certificates: each client's own model, averaged over the clients."""

from collections.abc import Sequence

import torch

from fedcert.certificate import Certificate, Claim
from fedcert.families.cells import Cells
from fedcert.families.paper_box.direct import verified
from fedcert.numerics.enclosure import Enclosure
from fedcert.verify import Safe
from fedcert.witness import Witness


def certify_local(cells: Sequence[Cells], safe: Safe, rule: str, events: str) -> Certificate:
    """L^loc = (1/n) Σ_i q_i(verified cells of client i): the mean of the clients' own bounds.

    It bounds the average safety of the clients' models and says nothing about the deployed model.

    Args:
        cells: each client's disjoint cells and their masses under its posterior.
        safe: the verifier and the properties.
        rule: the name of the deployed rule, for the table; the bound does not depend on it.
        events: the name of the family that the cells come from.
    """
    accepted = [verified(own, safe) for own in cells]
    per_client = torch.stack([own.mass(a) for own, a in zip(cells, accepted, strict=True)], dim=-1)
    mean = Enclosure.exactly(per_client).mean().lower.clamp(0.0, 1.0)
    witness = Witness({f"accepted.{i}": own for i, own in enumerate(accepted)})
    return Certificate(Claim("local", rule, events), mean, witness=witness)
