import pytest
import torch
from problems import normal

from fedcert.model.network import mlp
from fedcert.model.properties import linf_robustness
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.verify import Safe
from fedcert.verify.around import may_be_accepted
from fedcert.verify.interval import IntervalVerifier


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", [1e-3, 3e-2])
def test_it_is_hardly_better_than_a_proof_and_never_worse(seed: int, scale: float) -> None:
    generator = stream(seed, "around")
    network = mlp(6, 8, 8, 3)
    centres = normal(generator, 40, network.parameters)
    x = torch.rand(25, 6, generator=generator, dtype=torch.float64)
    labels = network(centres[:1], x)[0].argmax(-1)
    asked = linf_robustness(x, labels, 1e-3, classes=3)
    radii = [factor * scale * torch.ones(network.parameters).double() for factor in (1.0, 2.0, 4.0, 30.0)]
    found = may_be_accepted(network, centres, radii, asked)
    safe = Safe(network, asked, IntervalVerifier())
    proven = torch.stack([safe(Box.around(centres, radius)) for radius in radii], dim=-1)
    assert not (proven & ~found).any()
    assert proven.any()
    assert (found & ~proven).double().mean() < 0.02
