import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from problems import normal, uniform

from fedcert.errors import UnsupportedLayer
from fedcert.model.layers import Linear, ReLU
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.verify.interval import IntervalVerifier, MergedIntervalVerifier
from fedcert.verify.points import accepts, accepts_in_double, shows_safe


def make_problem(seed: int, widths: tuple[int, ...]) -> tuple[Network, torch.Tensor, Properties]:
    """Networks, and properties that interval bounds show some of them to have."""
    generator = stream(seed, "points")
    network = mlp(*widths)
    theta = normal(generator, 20, network.parameters)
    regions = Box.around(normal(generator, 6, widths[0]), 0.1 * uniform(generator, 6, widths[0]))
    C = normal(generator, 6, 2, widths[-1])
    return network, theta, Properties(regions, C, normal(generator, 6, 2))


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), widths=st.lists(st.integers(1, 5), min_size=2, max_size=4).map(tuple))
def test_verdicts_are_those_of_the_verifier_but_for_rounding(seed: int, widths: tuple[int, ...]) -> None:
    network, theta, properties = make_problem(seed, widths)
    margins = IntervalVerifier().margins(network, Box.point(theta), properties).amin(-1)
    for dtype, error in [(torch.float64, 1e-9), (torch.float32, 1e-3)]:
        found = accepts(network, theta.to(dtype), properties)
        clear = margins.abs() > error
        assert torch.equal(found[clear], (margins >= 0)[clear])


@pytest.mark.parametrize("seed", range(5))
def test_single_precision_decides_only_what_double_precision_would(seed: int) -> None:
    network, theta, asked = make_problem(seed, (3, 5, 2))
    margins = IntervalVerifier().margins(network, Box.point(theta), asked)
    edge = Properties(asked.regions, asked.C, asked.d - margins[0])  # where the first network just holds
    for own in (asked, edge):
        found = accepts_in_double(network, theta.float(), own)
        assert torch.equal(found, accepts(network, theta.float().double(), own))
        assert torch.equal(accepts_in_double(network, theta, own), accepts(network, theta, own))


def test_both_verdicts_occur() -> None:
    found = accepts(*make_problem(0, (3, 5, 2)))
    assert 0.05 < found.double().mean() < 0.95


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("widths", [(3, 2), (3, 5, 2), (2, 4, 4, 3)], ids=str)
def test_merged_verdicts_are_those_of_the_merged_verifier(seed: int, widths: tuple[int, ...]) -> None:
    network, theta, properties = make_problem(seed, widths)
    margins = MergedIntervalVerifier().margins(network, Box.point(theta), properties).amin(-1)
    found = shows_safe(network, theta, properties)
    clear = margins.abs() > 1e-9
    assert torch.equal(found[clear], (margins >= 0)[clear])
    assert (found >= accepts(network, theta, properties)).all()


def test_a_network_that_ends_with_a_rectifier_has_nothing_to_merge() -> None:
    network, theta, properties = make_problem(0, (3, 2))
    rectified = Network((*network.layers, ReLU()))
    assert torch.equal(shows_safe(rectified, theta, properties), accepts(rectified, theta, properties))


def test_an_unknown_layer_is_refused() -> None:
    class Doubling(Linear):
        def __call__(self, parameters, x):  # type: ignore[no-untyped-def]
            return 2 * super().__call__(parameters, x)

    _, theta, properties = make_problem(0, (3, 2))
    with pytest.raises(UnsupportedLayer, match="Doubling"):
        accepts(Network((Doubling(3, 2),)), theta, properties)
