import itertools
import math

import pytest
import torch
from balls import exact_folded_mean, precision, tail
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import exact
from problems import noise_of, normal, uniform, vector
from torch import Tensor

from fedcert.certificate import clopper_pearson
from fedcert.families.projected.layers import random_layers
from fedcert.families.projected.spread import (
    Spread,
    concentration,
    concentration_width,
    movement,
    rounded_centre,
)
from fedcert.laws import DiagonalGaussian
from fedcert.laws.affine import MovedInputs
from fedcert.laws.diagonal_affine import DiagonalAffine
from fedcert.laws.independent_noise import MEAN_OF_A_NORMAL
from fedcert.model.network import mlp
from fedcert.randomness import stream

SAMPLES = 3_000


def make_layers(seed: int, widths: tuple[int, ...], scale: float = 0.3) -> list[DiagonalAffine]:
    generator = stream(seed, "spread")
    network = mlp(*widths)
    loc = 0.7 * normal(generator, network.parameters)
    return random_layers(network, DiagonalGaussian(loc, scale * (0.1 + uniform(generator, len(loc)))))


def sampled(layer: DiagonalAffine, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Weights and biases of many networks."""
    weight = layer.weight + layer.weight_scale * normal(generator, count, *layer.weight.shape)
    return weight, layer.bias + layer.bias_scale * normal(generator, count, layer.outputs)


def corners(centre: Tensor, radius: Tensor) -> Tensor:
    """The centre of a box and its corners, where a convex function of x has its supremum."""
    signs = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=len(centre))), dtype=torch.float64)
    return torch.cat([centre.unsqueeze(0), centre + signs * radius])


def pre_activations(layers: list[DiagonalAffine], x: Tensor, count: int, generator) -> list[Tensor]:
    """The pre-activations of every layer, for each network and each input."""
    found: list[Tensor] = []
    h = x
    for layer in layers:
        weight, bias = sampled(layer, count, generator)
        found.append(h @ weight.mT + bias.unsqueeze(-2))
        h = found[-1].clamp(min=0.0)
    return found


def surely_at_most(failures: Tensor, probability: float) -> bool:
    """Whether a frequency does not refute that its probability is bounded so."""
    return clopper_pearson(int(failures.sum()), failures.numel(), 1 - 1e-7)[0] <= probability


@given(st.floats(0, 40))
def test_the_failure_probability_of_a_width_is_bounded_from_above(u: float) -> None:
    with precision(300):
        truth = tail(arb(u))
        found = concentration(vector(u)).upper.item()
        assert truth <= arb(found)
        assert u > 36 or arb(found) <= truth * (1 + 1e-10)


@given(st.floats(1e-15, 1.0))
def test_an_event_of_a_chosen_width_fails_no_more_often_than_was_planned(failure: float) -> None:
    found = concentration(concentration_width(vector(failure))).upper.item()
    assert 0.03 * failure < found < failure


def test_the_mean_of_an_absolute_normal_is_rounded_up() -> None:
    with precision(300):
        assert (2 / arb.pi()).sqrt() <= arb(MEAN_OF_A_NORMAL)


@pytest.mark.parametrize("u", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("size", [1, 2, 12])
def test_the_noise_over_a_box_exceeds_its_bound_no_more_often_than_stated(size: int, u: float) -> None:
    generator = stream(size, "inputs", int(10 * u))
    delta, deviation = uniform(generator, 1, size), 0.1 + uniform(generator, 1, 3, size)
    bound = noise_of(deviation).over(delta, vector(u))
    noise = deviation * normal(generator, SAMPLES, 3, size)
    supremum = (delta.unsqueeze(-2) * noise.abs()).sum(-1)
    for row in range(3):
        assert surely_at_most(supremum[:, row] > bound[0, row], concentration(vector(u)).upper.item())


def test_the_noise_over_a_box_is_its_mean_and_a_multiple_of_its_norm() -> None:
    delta, deviation = vector(1.0, 2.0).unsqueeze(0), vector(3.0, 2.0).view(1, 1, 2)
    assert noise_of(deviation).over(delta, vector(0.0)).item() == pytest.approx(
        7 * math.sqrt(2 / math.pi), rel=1e-12
    )
    expected = 7 * math.sqrt(2 / math.pi) + 2 * 5
    assert noise_of(deviation).over(delta, vector(2.0)).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("u", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_noise_of_a_linear_movement_exceeds_its_bound_no_more_often_than_stated(seed: int, u: float) -> None:
    """v(x) = W (x − x_c): the supremum of N·v is at a corner, and the bound by columns is the smaller."""
    generator = stream(seed, "linear", int(10 * u))
    layer = make_layers(seed, (3, 40))[0]
    radius = 0.1 + uniform(generator, 1, 3)
    weight, _ = sampled(layer, SAMPLES // 4, generator)
    v = corners(torch.zeros(3, dtype=torch.float64), radius[0]) @ weight.mT
    delta = v.abs().amax((0, 1)).unsqueeze(0)
    moved = MovedInputs(delta, torch.ones_like(delta), layer, radius)
    deviation = 0.1 + uniform(generator, 1, 1, 40)
    bound = noise_of(deviation).over_moved(moved, vector(u)).item()
    noise = deviation[0] * normal(generator, len(v), 40)
    supremum = (v @ noise.unsqueeze(-1)).amax((1, 2))
    assert surely_at_most(supremum > bound, 2 * concentration(vector(u)).upper.item())
    assert bound < noise_of(deviation).over(delta, vector(u)).item()


@pytest.mark.parametrize("u", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_noise_of_rectified_movement_exceeds_its_bound_no_more_often_than_stated(seed, u) -> None:
    """v(x) = h(x) − h(x_c), cut to 0 for the rare networks where it leaves the bounds of the movement."""
    generator = stream(seed, "rectified", int(10 * u))
    layer = make_layers(seed, (2, 8))[0]
    centre, radius = normal(generator, 2), 0.1 + 0.3 * uniform(generator, 1, 2)
    (a,) = pre_activations([layer], corners(centre, radius[0]), SAMPLES, generator)
    moved, v = (t - t[:, :1] for t in (a, a.clamp(min=0.0)))
    reach = moved.abs().amax(1).quantile(0.9, dim=0).unsqueeze(0)
    within = (moved.abs() <= reach.unsqueeze(1)).all(1).all(-1)
    assert within.double().mean() > 0.3
    deviation = 0.1 + uniform(generator, 1, 1, 8)
    noise = deviation[0] * normal(generator, SAMPLES, 8)
    sums = (v @ noise.unsqueeze(-1)).squeeze(-1)
    moved = MovedInputs(reach, torch.ones_like(reach), layer, radius)
    bound = noise_of(deviation).over_moved(moved, vector(u)).item()
    event = concentration(vector(u)).upper.item()
    assert surely_at_most((sums.amax(1) > bound) & within, 2 * event)
    assert surely_at_most((sums.abs().amax(1) > bound) & within, 3 * event)


@given(st.integers(0, 2**32), st.floats(0, 6))
def test_noise_over_a_movement_is_never_above_that_over_its_box(seed: int, u: float) -> None:
    generator = stream(seed, "box")
    layer = make_layers(seed, (3, 5))[0]
    delta, radius = uniform(generator, 2, 5), uniform(generator, 2, 3)
    steepness = uniform(generator, 2, 5).round()
    deviation, widths = uniform(generator, 2, 4, 5), u * torch.ones(2, dtype=torch.float64)
    moved = MovedInputs(delta, steepness, layer, radius)
    box = noise_of(deviation).over(delta, widths)
    assert (noise_of(deviation).over_moved(moved, widths) <= box * (1 + 1e-12)).all()


def test_spreads_of_inactive_neurons_do_not_reach_the_next_layer() -> None:
    spread = Spread(vector(1.0, 2.0, 3.0).unsqueeze(0), vector(0.0, 0.5, 1.0).unsqueeze(0))
    assert spread.activations.tolist() == [[0.0, 2.0, 3.0]]


@pytest.mark.parametrize("u", [1.0, 2.0, 4.5])
@pytest.mark.parametrize(
    ("widths", "seed"), [((2, 3), 0), ((2, 3), 1), ((2, 6, 3), 2), ((2, 9, 3), 3), ((3, 5, 6, 2), 4)]
)
def test_networks_move_beyond_the_bound_no_more_often_than_stated(widths, seed: int, u: float) -> None:
    """The spreads are quantiles of samples, and whatever leaves them is not counted."""
    generator = stream(seed, "movement", int(10 * u))
    layers = make_layers(seed, widths)
    centre, radius = normal(generator, widths[0]), 0.05 + 0.1 * uniform(generator, 1, widths[0])
    found = pre_activations(layers, corners(centre, radius[0]), SAMPLES, generator)
    spreads, holds = [], torch.ones(SAMPLES, dtype=torch.bool)
    for a in found[:-1]:
        moved = (a - a[:, :1]).abs().amax(1)
        reach = moved.quantile(0.98, dim=0)
        active, inactive = (a > 0).all(1), (a < 0).all(1)
        slope = torch.where(active.double().mean(0) > 0.95, 1.0, 0.5)
        slope = torch.where(inactive.double().mean(0) > 0.95, 0.0, slope).double()
        kept = torch.where(slope == 1, active, torch.where(slope == 0, inactive, True))
        holds = holds & ((moved <= reach) & kept).all(-1)
        spreads.append(Spread(reach.unsqueeze(0), slope.unsqueeze(0)))
    assert holds.double().mean() > 0.3
    rows = normal(generator, 1, 3, widths[-1])
    bound = movement(rows, layers, radius, spreads, vector(u))
    moved = ((found[-1] - found[-1][:, :1]) @ rows[0].mT).abs().amax(1)
    events = 3 * len(layers) - 2
    for row in range(3):
        failed = (moved[:, row] > bound[0, row]) & holds
        assert surely_at_most(failed, min(1.0, events * concentration(vector(u)).upper.item()))


MAGNITUDES = st.integers(-200, 100)


@pytest.mark.slow
@settings(max_examples=200)
@given(
    row=MAGNITUDES,
    mean=MAGNITUDES,
    scale=st.integers(-100, 100),
    delta=st.integers(-300, 0),
    seed=st.integers(0, 9),
)
def test_no_underflow_or_rounding_hides_a_movement(
    row: int, mean: int, scale: int, delta: int, seed: int
) -> None:
    random = stream(seed, "movement")
    rows = normal(random, 1, 1, 3) * 10.0**row
    weight, weight_scale = normal(random, 3, 2) * 10.0**mean, 10.0**scale * (1 + uniform(random, 3, 2)) / 2
    radius, u, nothing = (
        uniform(random, 1, 2) * 10.0**delta,
        torch.tensor([3.0]).double(),
        torch.zeros(3).double(),
    )
    layer = DiagonalAffine(weight, nothing, weight_scale, nothing + 1, torch.zeros_like(weight), nothing, 0.0)
    found = layer.movement(rows, radius, u).item()
    B, d = ([arb(x) for x in row.tolist()] for row in (rows[0, 0], radius[0]))
    M, S = ([[arb(x) for x in row] for row in table.tolist()] for table in (weight, weight_scale))
    means = [sum(B[j] * M[j][k] for j in range(3)) for k in range(2)]
    variances = [sum((B[j] * S[j][k]) ** 2 for j in range(3)) for k in range(2)]
    average = sum(d[k] * exact_folded_mean(means[k], variances[k].sqrt()) for k in range(2))
    truth = average + 3 * sum(d[k] ** 2 * variances[k] for k in range(2)).sqrt()
    assert math.isinf(found) or arb(found) >= truth


def test_the_movement_of_known_weights_is_exact() -> None:
    """With hardly any noise, and all neurons active, the network is linear."""
    layers = make_layers(5, (3, 4, 2), scale=1e-13)
    radius, rows = vector(0.1, 0.2, 0.3).unsqueeze(0), normal(stream(5, "rows"), 1, 2, 2)
    spread = Spread(10 * torch.ones(1, 4, dtype=torch.float64), torch.ones(1, 4, dtype=torch.float64))
    truth = (rows @ layers[1].weight @ layers[0].weight).abs() @ radius[0]
    found = movement(rows, layers, radius, [spread], vector(5.0))
    assert (found >= truth).all()
    assert torch.allclose(found, truth, rtol=1e-9)


@settings(max_examples=200)
@given(st.floats(-1e10, 1e10), st.one_of(st.floats(0, 1e10), st.sampled_from([0.0, 5e-324, 1e-300, 1e-17])))
def test_the_rounded_centre_and_its_radius_cover_the_region(lower: float, width: float) -> None:
    upper = lower + width
    centre, radius = rounded_centre(vector(lower).unsqueeze(0), vector(upper).unsqueeze(0))
    assert lower <= centre.item() <= upper
    assert exact(centre) - exact(radius) <= exact(lower) <= exact(upper) <= exact(centre) + exact(radius)
    assert radius.item() <= (upper - lower) / 2 + 2 * math.ulp(max(abs(lower), abs(upper)))
