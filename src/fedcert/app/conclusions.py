"""What a user may conclude from a run, radius by radius (`fedcert_check.conclusions`)."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from fedcert.app.proofs import Proven
from fedcert.app.run import RunResult
from fedcert.wire.subject import as_checked
from fedcert_check.conclusions import Bounds, Conclusion, Sampled, conclude


def conclusions(result: RunResult) -> list[Conclusion]:
    """All conclusions about the model that the run's rule deploys.

    Args:
        result: of the run.
    """
    rule = result.config.rule
    deployed = [one for one in result.proven if one.certificate.claim.kind != "local" and _rule(one) == rule]
    found: list[Conclusion] = []
    for epsilon in result.config.epsilon:
        certificates = [one for one in deployed if one.epsilon == epsilon]
        if certificates:
            at_margins = [one for one in result.proven_at_margins if one.epsilon == epsilon]
            known = replace(best_bounds(certificates, at_margins), sampled=_sampled(result, epsilon))
            found += conclude(known, result.config.confidence)
    return found


def best_bounds(certificates: Sequence[Proven], at_margins: Sequence[Proven]) -> Bounds:
    """For each input the greatest L and the least U of several certificates about the same model.

    Args:
        certificates: of the same inputs, radius and rule, at least one.
        at_margins: certificates of the same inputs, radius and rule for other margins.
    """
    properties = certificates[0].properties
    if properties.subject is None:
        raise AssertionError("the properties of a run say what they mean")
    lower = torch.stack([one.certificate.lower for one in certificates]).amax(0)
    uppers = [one.certificate.upper for one in certificates if one.certificate.upper is not None]
    return Bounds(
        as_checked(properties.subject),
        _rule(certificates[0]),
        tuple(lower.tolist()),
        tuple(torch.stack(uppers).amin(0).tolist()) if uppers else None,
        tuple((one.margin, tuple(one.certificate.lower.tolist())) for one in at_margins),
        properties.C.shape[-1],
    )


def _sampled(result: RunResult, epsilon: float) -> Sampled | None:
    """The confidence bound of the deployed rule at a radius, if there is one."""
    for one in result.drawn:
        if one.epsilon == epsilon:
            found = one.bound
            return Sampled(
                tuple(found.lower.tolist()), tuple(found.upper.tolist()), found.confidence, found.draws
            )
    return None


def _rule(one: Proven) -> str:
    return one.certificate.claim.rule
