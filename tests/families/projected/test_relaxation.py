import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact
from problems import normal, uniform
from torch import Tensor

from fedcert.families.projected.relaxation import Lines, through_relu
from fedcert.randomness import stream

ROWS, NEURONS = 3, 4
KINDS = ["random", "active", "inactive", "unbounded active", "unbounded inactive", "at zero"]


def bounds(kind: str, generator: torch.Generator, magnitude: float) -> tuple[Tensor, Tensor]:
    """Ranges of the neurons of one layer, some of them stable or known on one side only."""
    ends = magnitude * normal(generator, 1, NEURONS, 2)
    low, high = ends.amin(-1), ends.amax(-1)
    infinity = torch.full_like(low, math.inf)
    match kind:
        case "active":
            return low.abs(), low.abs() + high.abs()
        case "inactive":
            return -low.abs() - high.abs(), -high.abs()
        case "unbounded active":
            return low.abs(), infinity
        case "unbounded inactive":
            return -infinity, -high.abs()
        case "at zero":
            return torch.zeros_like(low), high.abs()
        case _:
            return low, high


def within(low: Tensor, high: Tensor, generator: torch.Generator, magnitude: float) -> Tensor:
    """A pre-activation within its bounds, often at one of them or at zero."""
    finite_low = low.clamp(min=-3 * magnitude).minimum(high)
    finite_high = high.clamp(max=3 * magnitude).maximum(low)
    share = uniform(generator, *low.shape)
    share = torch.where(uniform(generator, *low.shape) < 0.5, share.round(), share)
    a = finite_low + share * (finite_high - finite_low)
    a = torch.where(uniform(generator, *low.shape) < 0.2, 0.0, a)
    return a.maximum(finite_low).minimum(finite_high)


def relu(a: Fraction) -> Fraction:
    return max(a, Fraction(0))


@given(
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(KINDS),
    magnitude=st.sampled_from([1e-150, 1e-3, 1.0, 1e8]),
    inexact=st.sampled_from([0.0, 1e-12, 0.1]),
    tilt=st.sampled_from([None, 0.0, 1e-3, 0.8, 1e3, math.inf, math.nan]),
)
def test_the_lines_stay_below_the_relus_in_rational_arithmetic(seed, kind, magnitude, inexact, tilt) -> None:
    generator = stream(seed, "relaxation")
    low, high = bounds(kind, generator, magnitude)
    A = normal(generator, 1, ROWS, NEURONS)
    error = inexact * uniform(generator, 1, ROWS, NEURONS)
    a = within(low, high, generator, magnitude)
    lines = Lines.of(low, high, None if tilt is None else torch.tensor([tilt], dtype=torch.float64))
    B, c, e = through_relu(A, error, lines, a.clamp(min=0.0))
    assert (c <= 0).all()
    for r in range(ROWS):
        line = exact(c[0, r]) - exact(e[0, r])
        least = Fraction(0)
        for k in range(NEURONS):
            line += exact(B[0, r, k]) * exact(a[0, k])
            # the exact coefficient that makes the claim hardest is the least one
            least += (exact(A[0, r, k]) - exact(error[0, r, k])) * relu(exact(a[0, k]))
        assert line <= least


@pytest.mark.parametrize("bounded", [True, False])
def test_neurons_that_keep_their_sign_lose_nothing(bounded: bool) -> None:
    generator = stream(1, "relaxation")
    A = normal(generator, 2, ROWS, NEURONS)
    far = 5.0 if bounded else math.inf
    zero, end = torch.zeros(2, NEURONS, dtype=torch.float64), torch.full((2, NEURONS), far).double()
    active, inactive = (
        through_relu(A, torch.zeros_like(A), Lines.of(low, high), torch.full_like(zero, 5.0))
        for low, high in ((zero, end), (-end, zero))
    )
    assert torch.equal(active[0], A)
    assert not inactive[0].any()
    for _, constant, charge in (active, inactive):
        assert not constant.any()
        assert (charge < 1e-300).all()


def test_a_line_over_an_unstable_neuron_is_the_chord() -> None:
    A = torch.tensor([[[-1.0], [1.0]]], dtype=torch.float64)
    low, high = torch.tensor([[-1.0]]).double(), torch.tensor([[3.0]]).double()
    B, c, e = through_relu(A, torch.zeros_like(A), Lines.of(low, high), high)
    assert B.flatten().tolist() == [-0.75, 1.0]
    assert c.flatten().tolist() == pytest.approx([-0.75, 0.0], rel=1e-12)
    assert (e < 1e-14).all()
    mostly_inactive, _, _ = through_relu(A, torch.zeros_like(A), Lines.of(-high, -low), high)
    assert mostly_inactive.flatten().tolist() == [-0.25, 0.0]


def test_an_unstable_neuron_without_a_bound_yields_nothing_that_could_be_believed() -> None:
    A = -torch.ones(1, 1, 1, dtype=torch.float64)
    for low, high in [(-math.inf, 1.0), (-1.0, math.inf), (math.nan, 1.0), (-1.0, math.nan)]:
        ends = torch.tensor([[low]]).double(), torch.tensor([[high]]).double()
        _, c, e = through_relu(A, torch.zeros_like(A), Lines.of(*ends), torch.ones(1, 1, dtype=torch.float64))
        value = (c - e).item()
        assert math.isnan(value) or value == -math.inf


def test_a_tilt_turns_the_line_below_between_zero_and_the_neuron_itself() -> None:
    low, high = (
        torch.tensor([[-1.0, -1.0, -1.0, 0.0]]).double(),
        torch.tensor([[3.0, 1.0, 0.5, 2.0]]).double(),
    )

    def below(tilt: float) -> list[float]:
        return Lines.of(low, high, torch.tensor([tilt], dtype=torch.float64)).below.flatten().tolist()

    assert below(1.0) == Lines.of(low, high).below.flatten().tolist() == [1.0, 0.0, 0.0, 1.0]
    assert below(0.1) == [0.0, 0.0, 0.0, 1.0]
    assert below(1.5) == [1.0, 1.0, 0.0, 1.0]
    assert below(10.0) == [1.0, 1.0, 1.0, 1.0]
