"""Transport by boxes: what the networks of one image share, and what a transported claim then says."""

import pytest
import torch
from family_contract import half_space
from hypothesis import given
from hypothesis import strategies as st
from problems import normal, uniform
from scipy.special import ndtr

from fedcert.errors import InvalidConfig
from fedcert.families.problem import Problem
from fedcert.families.projected import transported
from fedcert.families.projected.boxes import Boxes
from fedcert.families.projected.direct import certify_projected_directly
from fedcert.families.projected.layers import random_layers
from fedcert.families.projected.tails import Cells
from fedcert.families.projected.transported import certify_projected
from fedcert.laws import DenseGaussian, DiagonalGaussian, GaussianLaw
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import LinearRule

NETWORK = mlp(3, 4, 5, 2)
COARSE = Boxes(bits=8)  # images so wide that floating point sees them


def random_problem(seed: int, dense: bool = False) -> tuple[GaussianLaw, Properties, torch.Generator]:
    generator = stream(seed, "boxes")
    loc = normal(generator, NETWORK.parameters)
    scale = 0.1 * uniform(generator, NETWORK.parameters) * (uniform(generator, NETWORK.parameters) > 0.2)
    law = DenseGaussian(loc, torch.diag(scale)) if dense else DiagonalGaussian(loc, scale)
    region = Box.around(normal(generator, 2, 3), uniform(generator, 2, 3))
    return law, Properties(region, normal(generator, 2, 4, 2), normal(generator, 2, 4)), generator


@pytest.mark.parametrize("dense", [False, True], ids=["diagonal", "dense"])
@given(seed=st.integers(0, 2**32))
def test_networks_of_one_image_differ_by_less_than_the_slack(seed: int, dense: bool) -> None:
    """Parameters at 40 deviations, others as far from them as an image is wide, inputs at corners."""
    law, properties, generator = random_problem(seed, dense)
    slack = COARSE.slack(random_layers(NETWORK, law), properties)
    spread = law.scale if isinstance(law, DiagonalGaussian) else law.factor.diagonal()
    drawn = law.loc + 40 * spread * normal(generator, NETWORK.parameters).clamp(-1, 1)
    width = 2.0**-COARSE.bits * (law.loc.abs() + 40 * spread)
    other = drawn + width * normal(generator, 64, NETWORK.parameters).sign()
    upper = uniform(generator, 2, 3) > 0.5
    corners = torch.where(upper, properties.regions.upper, properties.regions.lower)
    here, there = NETWORK(drawn, corners), torch.stack([NETWORK(own, corners) for own in other])
    moved = torch.einsum("prk,npk->npr", properties.C, there - here).abs().amax(0)
    assert (moved <= slack).all()
    assert (moved.amax() > slack.amax() * 1e-4).all()  # and not by orders of magnitude more than they do


@pytest.mark.parametrize("dense", [False, True], ids=["diagonal", "dense"])
def test_a_transported_claim_is_the_direct_one_but_for_the_slack(dense: bool) -> None:
    law, properties, _ = random_problem(3, dense)
    point = properties.regions.lower
    margins = torch.einsum("prk,pk->pr", properties.C, NETWORK(law.loc, point))
    lenient = Properties(Box.around(point, 1e-3), properties.C, torch.tensor([[4.0], [8.0]]) - margins)
    problem = Problem(NETWORK, lenient, (law, law), LinearRule.fedavg([1, 2]))
    whole, direct = certify_projected(problem), certify_projected_directly(problem)
    assert (whole.lower <= direct.lower + 1e-15).all()
    assert whole.lower.numpy() == pytest.approx(direct.lower.numpy(), abs=1e-9)
    assert direct.lower.amax() > 0.2
    if not dense:
        assert (certify_projected(problem, Cells()).lower <= whole.lower).all()


def test_a_margin_within_the_slack_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one number Θ + d ≥ 0 the safe tuples have the mass of Θ + d ≥ ε, not of Θ + d ≥ 0."""
    problem, truth = half_space(0.5)
    monkeypatch.setattr(transported, "Boxes", lambda: COARSE)
    layers = random_layers(problem.network, problem.deployed)
    slack = COARSE.slack(layers, problem.properties).item()
    found = certify_projected(problem).lower.item()
    scale = problem.deployed_diagonal.layers(problem.network)[0].at(problem.properties.regions.lower)
    margin = scale.mean.item() + problem.properties.d.item()
    assert found == pytest.approx(float(ndtr((margin - slack) / scale.deviation.item())), abs=1e-6)
    assert found < truth["transported"] - 1e-3


def test_a_slack_that_is_no_number_proves_nothing() -> None:
    huge = torch.full((NETWORK.parameters,), 1e99, dtype=torch.float64)
    law, region = DiagonalGaussian(huge, torch.zeros_like(huge)), Box.point(huge[:3].unsqueeze(0))
    ones = torch.ones(1, 1, 2).double()
    problem = Problem(NETWORK, Properties(region, ones, ones[0, :, :1]), (law,), LinearRule.fedavg([1]))
    assert certify_projected(problem).lower.item() == 0.0


def test_a_constraint_of_zeros_keeps_its_offset() -> None:
    law, properties, _ = random_problem(5)
    trivial = Properties(properties.regions, torch.zeros_like(properties.C), torch.zeros_like(properties.d))
    tightened, known = COARSE.tightened(random_layers(NETWORK, law), trivial)
    assert torch.equal(tightened.d, trivial.d)
    assert known.all()


@pytest.mark.parametrize("bits", [7, 513])
def test_widths_that_no_bound_allows_for_are_refused(bits: int) -> None:
    with pytest.raises(InvalidConfig, match="from 8 to 512"):
        Boxes(bits)


def test_the_search_of_one_claim_serves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    from fedcert.families.projected import direct

    searches, search = [], direct.searched
    monkeypatch.setattr(direct, "searched", lambda *given: searches.append(1) or search(*given))
    law, properties, _ = random_problem(3)
    problem = Problem(NETWORK, properties, (law, law), LinearRule.fedavg([1, 1]))
    certify_projected(problem)
    certify_projected_directly(problem)
    assert len(searches) == 1
