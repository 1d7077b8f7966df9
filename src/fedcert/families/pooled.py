"""Claims under pooling: made of the same claims about each client's own model.

Pr(safe) = Σ_i w_i Pr(Θ_i is safe), so that Σ_i w_i L^(i) ≤ Pr(safe) ≤ Σ_i w_i U^(i).
"""

import torch
from torch import Tensor

from fedcert.certificate import Certificate, Claim, Kind
from fedcert.errors import ShapeMismatch
from fedcert.families.problem import Problem
from fedcert.families.protocol import CellFamily, Family
from fedcert.numerics.enclosure import Enclosure
from fedcert.progress import Tracker, silent
from fedcert.rules import Pooling
from fedcert.witness import Witness


def is_pooled(problem: Problem, kind: Kind) -> bool:
    """Whether a claim is one about the clients' own models, mixed.

    Args:
        problem: the clients, the rule and the properties.
        kind: the kind of claim; a local one does not depend on the rule.
    """
    return isinstance(problem.rule, Pooling) and kind != "local"


def supports_pooled(family: Family, problem: Problem, kind: Kind) -> bool:
    """Whether a family has claims of this kind about every client's own model.

    Args:
        family: of events.
        problem: under pooling.
        kind: the kind of claim.
    """
    return all(family.supports(problem.alone(i), kind) for i in range(len(problem.laws)))


def prove_pooled(family: Family, problem: Problem, kind: Kind, track: Tracker = silent) -> Certificate:
    """The mixture of the certificates of the clients' own models.

    Args:
        family: of events.
        problem: under pooling.
        kind: the kind of claim.
        track: shows progress.
    """
    if not isinstance(problem.rule, Pooling):
        raise ShapeMismatch(f"the rule {problem.rule.name} deploys no client's own model")
    clients = track(range(len(problem.laws)), "certifying clients", len(problem.laws))
    own = [family.prove(problem.alone(i), kind) for i in clients]
    shares = problem.rule.shares
    lowers = torch.stack([found.lower for found in own], dim=-1)
    lower = (shares * lowers).sum().lower.clamp(0.0, 1.0)
    uppers = [found.upper for found in own if found.upper is not None]
    upper = None
    if len(uppers) == len(own):
        upper = (shares * Enclosure.exactly(torch.stack(uppers, dim=-1))).sum().upper.clamp(0.0, 1.0)
    sent = problem.sent if kind == "transported" and isinstance(family, CellFamily) else None
    events = family.name if sent is None else sent.events
    return Certificate(Claim(kind, problem.rule.name, events), lower, upper, _witness(own))


def _witness(own: list[Certificate]) -> Witness | None:
    """The clients' witnesses and bounds in one; None if a client has none."""
    tensors: dict[str, Tensor] = {}
    for i, found in enumerate(own):
        if found.witness is None:
            return None
        block = {"claim.lower": found.lower, **found.witness.tensors}
        if found.upper is not None:
            block["claim.upper"] = found.upper
        tensors |= {f"client.{i}.{name}": tensor for name, tensor in block.items()}
    return Witness(tensors)
