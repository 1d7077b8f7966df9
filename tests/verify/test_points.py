import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from problems import normal, uniform

from fedcert.errors import UnsupportedLayer
from fedcert.model.layers import Linear
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.verify.interval import IntervalVerifier
from fedcert.verify.points import accepts


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


def test_both_verdicts_occur() -> None:
    found = accepts(*make_problem(0, (3, 5, 2)))
    assert 0.05 < found.double().mean() < 0.95


def test_an_unknown_layer_is_refused() -> None:
    class Doubling(Linear):
        def __call__(self, parameters, x):  # type: ignore[no-untyped-def]
            return 2 * super().__call__(parameters, x)

    _, theta, properties = make_problem(0, (3, 2))
    with pytest.raises(UnsupportedLayer, match="Doubling"):
        accepts(Network((Doubling(3, 2),)), theta, properties)
