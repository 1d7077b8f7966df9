import pytest
import torch
from problems import normal
from torch import nn

from fedcert.errors import ShapeMismatch, UnsupportedLayer
from fedcert.model.layers import Linear
from fedcert.numerics.backward import LinearBound, LooseBound
from fedcert.numerics.interval import Bounds
from fedcert.randomness import stream


@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize("widths", [(0, 2), (2, 0), (-1, 2), ("3", 2), (2, 1.0), (None, 2)])
def test_impossible_widths_raise(widths: tuple) -> None:
    with pytest.raises(ShapeMismatch, match="a linear layer from"):
        Linear.from_description(dict(zip(("inputs", "outputs"), widths, strict=True)))


@pytest.mark.parametrize("fields", [{}, {"inputs": 2}, {"inputs": 2, "outputs": 3, "bias": False}])
def test_a_description_has_two_widths_and_nothing_else(fields: dict) -> None:
    with pytest.raises(TypeError):
        Linear.from_description(fields)


def normed() -> nn.Linear:
    """A linear layer with a parameter that it should not have."""
    linear = nn.Linear(3, 2)
    linear.register_parameter("gain", nn.Parameter(torch.ones(2)))
    return linear


def test_a_module_without_a_bias_is_the_same_layer() -> None:
    assert Linear.from_module(nn.Linear(3, 2, bias=False), None) == Linear(3, 2)


@pytest.mark.parametrize(
    ("module", "shape", "message"),
    [
        (normed(), None, "no other parameters"),
        (nn.Linear(3, 2), (2, 3), "needs a Flatten"),
    ],
)
def test_other_modules_are_refused(module: nn.Module, shape: tuple[int, ...] | None, message: str) -> None:
    with pytest.raises(UnsupportedLayer, match=message):
        Linear.from_module(module, shape)


def test_the_matrix_is_the_parameters() -> None:
    weight, bias = torch.zeros(2, 3), torch.zeros(2)
    assert Linear(3, 2).matrix((weight, bias)) == (weight, bias)


def test_one_end_of_the_coefficients_is_enough_for_inputs_of_one_sign() -> None:
    generator = stream(0, "linear")
    weight, bias = (
        Bounds(own - 0.1, own + 0.1) for own in (normal(generator, 1, 2, 3), normal(generator, 1, 2))
    )
    rows = LinearBound.of(normal(generator, 1, 1, 4, 2))
    low, high = torch.zeros(1, 3, dtype=torch.float64), torch.ones(1, 3, dtype=torch.float64)
    single = Linear(3, 2).backward((weight, bias), Bounds(low, high), rows)
    both = Linear(3, 2).backward((weight, bias), Bounds(low - 1, high), rows)
    assert isinstance(single, LinearBound)
    assert isinstance(both, LooseBound)
    assert torch.equal(single.coefficients, both.coefficients.lower)
    assert (both.coefficients.upper > both.coefficients.lower).all()
    torch.testing.assert_close(single.least(Bounds(low, high)), both.least(Bounds(low, high)))


def test_what_overflowed_has_no_sign() -> None:
    """NaN is not known to be ≥ 0: both ends of the coefficients are kept, and nothing finite is claimed."""
    x = Bounds(torch.full((1, 1), torch.nan, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64))
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    bound = Linear(1, 1).backward(
        (Bounds(-one, one), Bounds(one[0], one[0])), x, LinearBound.of(one.unsqueeze(0))
    )
    assert isinstance(bound, LooseBound)
    assert not bound.settled(x).constant.isfinite().any()
