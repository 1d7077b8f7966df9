import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import normal, uniform

from fedcert.model.layers import Linear, Tanh
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.verify.attack import ProjectedGradient, least_margin
from fedcert.verify.backward_points import shows_safe_backward
from fedcert.verify.points import shows_safe


def make_problem(seed: int, network: Network) -> tuple[Network, torch.Tensor, Properties]:
    """Networks, and properties that hold for some of them at the centres of the regions."""
    generator = stream(seed, "backward points")
    theta = normal(generator, 12, network.parameters)
    x = normal(generator, 5, network.inputs)
    C = normal(generator, 5, 2, network.outputs)
    d = torch.einsum("prk,bpk->bpr", C, network(theta, x)).std(0) * uniform(generator, 5, 2)
    return network, theta, Properties(Box.around(x, 0.2 * uniform(generator, *x.shape)), C, d)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), widths=st.lists(st.integers(1, 5), min_size=2, max_size=4).map(tuple))
def test_what_is_shown_safe_is_broken_nowhere(seed: int, widths: tuple[int, ...]) -> None:
    network, theta, properties = make_problem(seed, mlp(*widths))
    tried = uniform(stream(seed, "tried"), len(theta), len(properties)) < 0.7
    shown = shows_safe_backward(network, theta, properties, tried)
    assert not (shown & ~tried).any()
    low, high = properties.regions.lower, properties.regions.upper
    for corner in uniform(stream(seed, "inputs"), 40, *low.shape).round():
        margin = least_margin(network, theta, low + corner * (high - low), properties)
        assert (margin[shown] >= -1e-9).all()
    assert (ProjectedGradient()(network, theta, properties)[1][shown] >= -1e-9).all()


def test_a_network_without_rectifiers_is_decided_exactly() -> None:
    network, theta, properties = make_problem(0, mlp(4, 3))
    everything = torch.ones(len(theta), len(properties), dtype=torch.bool)
    shown = shows_safe_backward(network, theta, properties, everything)
    _, worst = ProjectedGradient(steps=1, reach=10.0)(network, theta, properties)  # least for one constraint
    assert (shown <= (worst >= 0)).all()
    merged = shows_safe(network, theta, properties)
    assert torch.equal(shown, merged)
    assert 0 < shown.double().mean() < 1


@pytest.mark.parametrize("seed", range(3))
def test_it_shows_more_than_intervals(seed: int) -> None:
    network, theta, properties = make_problem(seed, mlp(4, 12, 12, 3))
    everything = torch.ones(len(theta), len(properties), dtype=torch.bool)
    backward, forward = (
        shows_safe_backward(network, theta, properties, everything),
        shows_safe(network, theta, properties),
    )
    assert backward.sum() > forward.sum()


def test_properties_in_pieces_are_shown_as_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    network, theta, properties = make_problem(0, mlp(4, 12, 3))
    everything = torch.ones(len(theta), len(properties), dtype=torch.bool)
    whole = shows_safe_backward(network, theta, properties, everything)
    monkeypatch.setattr("fedcert.verify.backward_points.HELD_ELEMENTS", 2 * len(theta) * 2 * 4)
    assert torch.equal(shows_safe_backward(network, theta, properties, everything), whole)
    assert 0 < whole.double().mean() < 1


def test_other_layers_show_nothing() -> None:
    network, theta, properties = make_problem(0, Network((Linear(2, 3), Tanh(), Linear(3, 2))))
    everything = torch.ones(len(theta), len(properties), dtype=torch.bool)
    assert not shows_safe_backward(network, theta, properties, everything).any()
