"""Certificates from sums alone: no client's posterior is needed, only what all summands add up to."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from fedcert.api.certify import certify
from fedcert.api.result import Certification
from fedcert.certificate import Certificate
from fedcert.families.protocol import Family
from fedcert.federation.sums import FixedPoint, Summand, SummedRule, message_of_sum
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.wire.certificate_file import certificate_file
from fedcert_check import check


def certify_sum(
    summands: Sequence[Summand],
    rule: SummedRule,
    network: Network | nn.Module,
    properties: Properties,
    *,
    events: str | Sequence[str | Family] = "projected",
    bits: FixedPoint | None = None,
) -> Certification:
    """Bound the probability that a model of the deployed law has each property, for any law within the sums.

    The checker encloses such a law in balls, which widen on another way than our own bounds do. So each
    certificate claims the weaker of what is found here and what the checker proves with the same witness.

    Args:
        summands: one for each client.
        rule: what they are for: "fedavg" or "pog".
        network: the model that all clients train.
        properties: what is safe.
        events: the families of events, or their names.
        bits: the fixed point of the summands; the rule's default where None.

    Examples:
        >>> from fedcert import DiagonalGaussian, linf_robustness, mlp
        >>> from fedcert.federation.sums import summand
        >>> loc = torch.tensor([3, 0, 0, 3, 0, 0]).double()
        >>> clients = [DiagonalGaussian(loc + 0.1 * i, torch.full_like(loc, 0.1)) for i in range(2)]
        >>> asked = linf_robustness([[0.7, 0.3]], [0], 0.01, classes=2)
        >>> found = certify_sum([summand(law, "pog") for law in clients], "pog", mlp(2, 2), asked)
        >>> bool(found.lower[0] > 0.999)
        True
    """
    message, identity = message_of_sum(summands, rule, bits)
    found = certify([message], identity, network, properties, events=events, claims=("direct",))
    with tempfile.TemporaryDirectory(prefix="fedcert-") as folder:
        found.save(Path(folder) / "run")
        claimed = tuple(_weaker(own, Path(folder) / "run") for own in found.certificates)
    return replace(found, certificates=claimed)


def _weaker(own: Certificate, run: Path) -> Certificate:
    """The bounds that hold by both proofs."""
    proved = check(run / certificate_file(own.claim)).proved
    lower = torch.tensor([each.lower for each in proved], dtype=torch.float64)
    upper = torch.tensor([each.upper for each in proved], dtype=torch.float64)
    return replace(
        own,
        lower=torch.minimum(own.lower, lower),
        upper=None if own.upper is None else torch.maximum(own.upper, upper),
    )
