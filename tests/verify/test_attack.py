import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from problems import normal, uniform
from torch import Tensor

from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.verify.attack import ProjectedGradient, least_margin


def make_problem(
    seed: int, widths: tuple[int, ...], networks: int, properties: int = 2, constraints: int = 2
) -> tuple[Network, Tensor, Properties]:
    """Networks, and properties that some of them violate."""
    generator = stream(seed, "attack")
    network = mlp(*widths)
    theta = normal(generator, networks, network.parameters)
    x = normal(generator, properties, widths[0])
    region = Box.around(x, 0.5 * uniform(generator, *x.shape))
    C = normal(generator, properties, constraints, widths[-1])
    values = torch.einsum("prk,bpk->bpr", C, network(theta, x))
    d = (values.std(0) if networks > 1 else 1.0) * uniform(generator, properties, constraints) - values.mean(
        0
    )
    return network, theta, Properties(region, C, d)


def corner_margins(network: Network, theta: Tensor, properties: Properties) -> Tensor:
    """The least margin over all corners of the regions, for each network and property."""
    low, high = properties.regions.lower, properties.regions.upper
    found = []
    for choice in itertools.product([False, True], repeat=network.inputs):
        corner = torch.where(torch.tensor(choice), high, low)
        found.append(least_margin(network, theta, corner.expand(len(theta), -1, -1), properties))
    return torch.stack(found).amin(0)


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32),
    widths=st.lists(st.integers(1, 4), min_size=2, max_size=4).map(tuple),
    steps=st.integers(1, 12),
    reach=st.sampled_from([0.5, 2.5, 1e9]),
)
def test_an_attack_stays_in_the_region_and_reports_the_margin_there(seed, widths, steps, reach) -> None:
    network, theta, properties = make_problem(seed, widths, networks=3)
    x, margin = ProjectedGradient(steps, reach)(network, theta, properties)
    assert (x >= properties.regions.lower).all()
    assert (x <= properties.regions.upper).all()
    assert torch.allclose(margin, least_margin(network, theta, x, properties), rtol=1e-12, atol=1e-12)
    assert (margin <= centre(network, theta, properties)[1]).all()


def centre(network: Network, theta: Tensor, properties: Properties) -> tuple[Tensor, Tensor]:
    """The middle of the regions, and the margins there."""
    middle = ((properties.regions.lower + properties.regions.upper) / 2).expand(len(theta), -1, -1)
    return middle, least_margin(network, theta, middle, properties)


@pytest.mark.parametrize("seed", range(5))
def test_the_worst_corner_of_a_linear_network_is_found(seed: int) -> None:
    """With one constraint; more of them make the least margin piecewise linear."""
    network, theta, properties = make_problem(seed, (3, 2), networks=10, constraints=1)
    x, margin = ProjectedGradient()(network, theta, properties)
    assert torch.allclose(margin, corner_margins(network, theta, properties), rtol=1e-12, atol=1e-12)
    low, high = properties.regions.lower, properties.regions.upper
    assert torch.minimum(x - low, high - x).max() < 1e-12  # steps may add up to one unit too few


def test_survival_nearly_agrees_with_the_corners_of_small_regions() -> None:
    agree = total = violated = 0
    for seed in range(20):
        network, theta, properties = make_problem(seed, (3, 6, 2), networks=50)
        survives = ProjectedGradient().survives(network, theta, properties)
        safe_at_corners = corner_margins(network, theta, properties) >= 0
        agree += int((survives == safe_at_corners).sum())
        total += survives.numel()
        violated += int((~survives).sum())
    assert agree > 0.97 * total
    assert 0.1 * total < violated < 0.9 * total


def test_a_violation_is_claimed_only_where_one_is_found() -> None:
    for seed in range(5):
        network, theta, properties = make_problem(seed, (2, 5, 5, 3), networks=40)
        attack = ProjectedGradient()
        x, _ = attack(network, theta, properties)
        violated = least_margin(network, theta, x, properties) < 0
        assert torch.equal(attack.survives(network, theta, properties), ~violated)
        assert violated.any()


def test_a_region_of_one_point_is_attacked_at_that_point() -> None:
    network, theta, properties = make_problem(3, (3, 5, 2), networks=4)
    points = Properties(Box.point(properties.regions.lower), properties.C, properties.d)
    x, margin = ProjectedGradient()(network, theta, points)
    assert torch.equal(x, points.regions.lower.expand_as(x))
    assert torch.equal(margin, least_margin(network, theta, x, points))


def test_a_margin_of_zero_is_safe() -> None:
    network = mlp(1, 1)
    theta = torch.zeros(1, 2).double()
    properties = Properties(
        Box.around(torch.zeros(1, 1).double(), 1.0), torch.ones(1, 1, 1).double(), torch.zeros(1, 1).double()
    )
    assert ProjectedGradient().survives(network, theta, properties).all()


def test_an_attack_works_where_gradients_are_off() -> None:
    network, theta, properties = make_problem(4, (3, 5, 2), networks=4)
    with torch.no_grad():
        x, _ = ProjectedGradient()(network, theta, properties)
    assert torch.equal(x, ProjectedGradient()(network, theta, properties)[0])


def test_no_gradient_is_left_behind() -> None:
    network, theta, properties = make_problem(4, (3, 5, 2), networks=4)
    x, _ = ProjectedGradient()(network, theta.requires_grad_(), properties)
    assert not x.requires_grad
    assert theta.grad is None
