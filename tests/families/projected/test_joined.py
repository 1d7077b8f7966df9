"""The noise of layers that depend on each other is that of one projection."""

from itertools import pairwise

import pytest
import torch
from dependent_problems import Structure, make_dependent
from problems import normal

from fedcert.errors import InvalidLaw
from fedcert.families.projected.joined import Seen, joined, joint_deviation
from fedcert.laws import DenseGaussian
from fedcert.randomness import stream

WIDTHS = (2, 3, 4, 2)


def seen() -> list[Seen]:
    generator = stream(0, "seen")
    return [Seen(normal(generator, 2, 5, m), normal(generator, 2, k)) for k, m in pairwise(WIDTHS)]


@pytest.mark.parametrize("structure", ["joined", "layers", "last"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_deviation_is_that_of_the_sum(structure: Structure, count: int) -> None:
    made = make_dependent(0, WIDTHS, 0.5, structure)
    law = made.laws[0]
    assert isinstance(law, DenseGaussian)
    layers, parts = law.layers(made.network), seen()[:count]
    found = joint_deviation(layers, parts)
    c = torch.cat(
        [torch.cat([(B[..., None] * h[:, None, None]).flatten(-2), B], -1) for B, h in parts], dim=-1
    )
    exact = (c @ law.factor[: c.shape[-1]]).norm(dim=-1)
    assert (found >= exact).all()
    assert torch.allclose(found, exact, rtol=1e-9)


def test_a_sum_of_the_layers_deviations_would_be_wrong() -> None:
    """One normal for all parameters: deviations add up, not their squares."""
    made = make_dependent(0, WIDTHS, 0.5, "joined")
    law = DenseGaussian(made.laws[0].loc, torch.ones(made.network.parameters, 1).double())
    layers = law.layers(made.network)
    parts = [Seen(own.rows.abs(), own.inputs.abs()) for own in seen()]
    apart = [layer.noise(own.rows).at(own.inputs) for layer, own in zip(layers, parts, strict=True)]
    assert (joint_deviation(layers, parts) > 1.2 * torch.stack(apart).norm(dim=0)).all()


def test_some_layers_cannot_be_joined_without_the_others() -> None:
    one, other = (
        make_dependent(0, WIDTHS, 0.5, structure)
        .laws[0]
        .layers(make_dependent(0, WIDTHS, 0.5, "last").network)
        for structure in ("joined", "layers")
    )
    assert joined(one)
    assert not joined(other)
    with pytest.raises(InvalidLaw, match="all its layers"):
        joined([one[0], other[1]])
