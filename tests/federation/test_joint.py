"""Joint draws: samples of what is deployed, whatever the rule."""

import pytest
import torch
from mixture_cases import LAWS, fedavg, pooling, problem, truth

from fedcert.certificate import clopper_pearson
from fedcert.federation.joint import JointDraws
from fedcert.randomness import stream
from fedcert.rules import AggregationRule

SAMPLES = 4000


@pytest.mark.parametrize("rule", [fedavg(), pooling()], ids=lambda rule: rule.name)
def test_samples_are_safe_as_often_as_they_should_be(rule: AggregationRule) -> None:
    asked = problem(rule)
    joint = JointDraws(LAWS, rule)
    theta = joint.sample(SAMPLES, stream(0, "joint"))
    assert theta.shape == (SAMPLES, joint.dimension)
    margins = asked.network(theta, asked.properties.regions.lower[:1]).squeeze()
    safe = int((margins + asked.properties.d[0, 0] >= 0).sum())
    low, high = clopper_pearson(safe, SAMPLES, 1 - 1e-9)
    assert low <= float(truth(rule)[0]) <= high


def test_a_pool_draws_no_average() -> None:
    theta = JointDraws([law.components[0] for law in LAWS], pooling()).sample(500, stream(1, "joint"))
    centres = torch.stack([law.components[0].loc for law in LAWS])
    deviations = torch.stack([law.components[0].scale for law in LAWS])
    near = ((theta[:, None] - centres).abs() < 6 * deviations).all(-1)
    assert near.any(1).all()
