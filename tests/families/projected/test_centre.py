import itertools
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from problems import normal, uniform, vector
from torch import Tensor

from fedcert.certificate import clopper_pearson
from fedcert.families.projected.centre import Hidden, Known, LinearForm, linear_form
from fedcert.families.projected.excess import Excess
from fedcert.families.projected.layers import random_layers
from fedcert.families.projected.rectified import first_activations
from fedcert.families.projected.relaxation import Lines
from fedcert.families.projected.spread import Spread, concentration
from fedcert.laws import DiagonalGaussian
from fedcert.laws.diagonal_affine import DiagonalAffine
from fedcert.laws.independent_noise import IndependentNoise
from fedcert.model.network import mlp
from fedcert.randomness import stream

SURE = 6.5  # Q(u) < 1e-10: events of this width never fail in a test
SAMPLES = 3_000
WIDTHS = [(2, 5, 3), (2, 9, 2), (2, 5, 6, 3), (3, 6, 4, 2), (2, 5, 4, 6, 3)]


@dataclass(frozen=True)
class Sampled:
    """Networks, their normals as weights of mean zero, and the pre-activations at several inputs.

    The first input is the centre of the region.
    """

    layers: list[DiagonalAffine]
    noise: list[tuple[Tensor, Tensor]]
    pre: list[Tensor]
    x: Tensor
    radius: Tensor


def make_networks(seed: int, widths: tuple[int, ...], radius: float, scale=0.1, count=300) -> Sampled:
    generator = stream(seed, "centre")
    network = mlp(*widths)
    loc = 0.7 * normal(generator, network.parameters)
    law = DiagonalGaussian(loc, scale * (0.1 + uniform(generator, len(loc))))
    layers = random_layers(network, law)
    centre, reach = normal(generator, widths[0]), radius * (0.5 + uniform(generator, widths[0]))
    signs = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=widths[0])), dtype=torch.float64)
    shares = torch.cat([torch.zeros(1, widths[0]), signs, signs[:2] * uniform(generator, 2, widths[0])])
    x = centre + shares * reach
    noise, pre, h = [], [], x
    for layer in layers:
        weight = layer.weight_scale * normal(generator, count, *layer.weight.shape)
        bias = layer.bias_scale * normal(generator, count, layer.outputs)
        noise.append((weight, bias))
        pre.append(h @ (layer.weight + weight).mT + (layer.bias + bias).unsqueeze(-2))
        h = pre[-1].clamp(min=0.0)
    return Sampled(layers, noise, pre, x, reach.unsqueeze(0))


def know(networks: Sampled, share: float) -> tuple[Known, Tensor]:
    """What is known when each layer keeps to the range of a share of the samples; and which ones do."""
    layers, pre = networks.layers, networks.pre
    holds = torch.ones(len(pre[0]), dtype=torch.bool)
    first = first_activations(layers[0], networks.x[:1])
    spreads, hidden = [], []
    before = first.ceiling
    for depth, a in enumerate(pre[:-1]):
        moved = (a - a[:, :1]).abs().amax(1)
        reach = moved.quantile(share, dim=0) * (1 + 1e-9)
        low, high = a.amin(1).quantile(1 - share, dim=0), a.amax(1).quantile(share, dim=0)
        slope = torch.where(low > 0, 1.0, torch.where(high < 0, 0.0, 0.5)).double()
        lower = torch.where(high < 0, -torch.inf, torch.where(low > 0, 0.0, low))
        upper = torch.where(low > 0, torch.inf, torch.where(high < 0, 0.0, high))
        inside = (a >= lower).all(1) & (a <= upper).all(1)
        holds = holds & ((moved <= reach) & inside).all(-1) if depth else holds & (moved <= reach).all(-1)
        if depth == 0:
            keeps = first.mean[0].abs() - reach > 5 * first.deviation[0]
            slope = torch.where(keeps, (first.mean[0] > 0).double(), 0.5)
            signs = torch.where(slope == 1, (a > 0).all(1), torch.where(slope == 0, (a < 0).all(1), True))
            holds = holds & signs.all(-1)
            before = first.ceiling + reach
        else:
            h = pre[depth - 1][:, 0].clamp(min=0.0)
            layer = layers[depth]
            means = h @ layer.weight.mT + layer.bias
            deviations = ((h * h) @ (layer.weight_scale**2).mT + layer.bias_scale**2).sqrt()
            mean, deviation = (t.quantile(share, dim=0) for t in (means, deviations))
            holds = holds & ((means <= mean) & (deviations <= deviation)).all(-1)
            before = layer.ceiling(before)
            lines = Lines.of(lower.unsqueeze(0), upper.unsqueeze(0))
            rates = torch.ones(1, 2 * len(mean)).double(), torch.ones(1, len(mean)).double()
            excess = Excess(*[torch.ones(1, 2 * len(mean)).double()] * 3)
            hidden.append(Hidden(lines, mean.unsqueeze(0), deviation.unsqueeze(0), before, *rates, excess))
        spreads.append(Spread(reach.unsqueeze(0), slope.unsqueeze(0)))
    sure = vector(SURE)
    return Known(first, networks.radius, tuple(spreads), tuple(hidden), sure, sure), holds


def relaxed(coefficient: Tensor, hidden: Hidden) -> Tensor:
    """The rows one layer down: the lines that replace the ReLUs."""
    low, high = hidden.lines.lower, hidden.lines.upper
    chord = torch.where(low >= 0, 1.0, torch.where(high <= 0, 0.0, high / (high - low)))
    below = ((low >= 0) | (high > -low)).double()
    return coefficient.clamp(min=0.0) * below + coefficient.clamp(max=0.0) * chord


def evaluated(form: LinearForm, rows: Tensor, networks: Sampled, known: Known) -> Tensor:
    """The form with the normals of the sampled networks: one number for each network and row.

    Checks on the way that the conditional deviations of the later layers are bounded.
    """
    total = form.constant[0]
    for place, depth in enumerate(reversed(range(2, len(networks.layers)))):
        weight, bias = networks.noise[depth]
        h, layer = networks.pre[depth - 1][:, 0].clamp(min=0.0), networks.layers[depth]
        total = total + ((weight @ h.unsqueeze(-1)).squeeze(-1) + bias) @ rows.mT
        columns = (rows**2) @ layer.weight_scale**2
        deviation = ((h**2) @ columns.mT + (rows**2) @ layer.bias_scale**2).sqrt()
        within = (h <= known.hidden[depth - 2].mean + 6 * known.hidden[depth - 2].deviation).all(-1)
        assert (deviation[within] <= form.later[place][0]).all()
        rows = relaxed(rows @ layer.weight, known.hidden[depth - 2])
    assert torch.allclose(rows @ networks.layers[1].weight, form.coefficient[0], rtol=1e-10, atol=1e-12)
    weight, bias = networks.noise[1]
    z = (networks.pre[0][:, :1] - known.first.mean[0]) / known.first.deviation[0]
    h = (form.mean[0] + form.scale[0] * z).clamp(min=0.0)
    return total + ((form.coefficient[0] + rows @ weight) * h).sum(-1) + bias @ rows.mT


@pytest.mark.parametrize(("widths", "seed"), [((2, 5, 3), 0), ((3, 8, 2), 1), ((1, 1, 1), 2)])
def test_at_the_centre_a_network_of_two_layers_is_its_form(widths: tuple, seed: int) -> None:
    networks = make_networks(seed, widths, radius=0.0)
    known, _ = know(networks, 1.0)
    rows = normal(stream(seed, "rows"), 1, 3, widths[-1])
    form = linear_form(rows, networks.layers, known)
    truth = networks.pre[-1][:, 0] @ rows[0].mT
    assert form.later == ()
    assert torch.allclose(evaluated(form, rows[0], networks, known), truth, atol=1e-10)


@pytest.mark.parametrize("radius", [0.01, 0.1, 0.5])
@pytest.mark.parametrize(("widths", "seed"), list(zip(WIDTHS, range(len(WIDTHS)), strict=True)))
@pytest.mark.parametrize(("share", "scale"), [(0.99, 0.1), (1.0, 1e-6)])
def test_rows_of_a_network_are_above_their_form_on_the_whole_region(
    widths, seed, radius, share, scale
) -> None:
    networks = make_networks(seed, widths, radius, scale)
    known, holds = know(networks, share)
    assert holds.double().mean() > 0.2
    rows = normal(stream(seed, "rows"), 1, 4, widths[-1])
    form = linear_form(rows, networks.layers, known)
    assert len(form.later) == len(widths) - 3
    least = (networks.pre[-1] @ rows[0].mT).amin(1)
    assert (least >= evaluated(form, rows[0], networks, known))[holds].all()


@pytest.mark.parametrize(("widths", "seed"), list(zip(WIDTHS, range(len(WIDTHS)), strict=True)))
def test_forms_lose_little_where_the_region_and_the_noise_are_small(widths: tuple, seed: int) -> None:
    networks = make_networks(seed, widths, radius=1e-7, scale=1e-7)
    known, _ = know(networks, 1.0)
    rows = normal(stream(seed, "rows"), 1, 4, widths[-1])
    value = evaluated(linear_form(rows, networks.layers, known), rows[0], networks, known)
    assert ((networks.pre[-1][:, 0] @ rows[0].mT - value).abs() < 1e-3).all()


@pytest.mark.parametrize("u", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("bias", [5.0, 0.0, -0.02])
def test_noise_moves_a_form_no_more_often_than_stated_and_more_often_if_its_mean_is_not_paid(
    bias: float, u: float
) -> None:
    """30 inputs, each with a neuron of its own, and a second layer of mean 0: all that moves is N·h(x)."""
    generator, size = stream(0, "moving"), 30
    unit, zero = torch.eye(size, dtype=torch.float64), torch.zeros(size, size, dtype=torch.float64)
    first = DiagonalAffine(unit, bias + zero[0], zero, zero[0] + 1e-9, zero, zero[0], 0.0)
    deviation, delta = 0.1 + uniform(generator, 1, size), 0.1 + uniform(generator, 1, size)
    second = DiagonalAffine(zero[:1], zero[0, :1], deviation, zero[0, :1] + 1e-9, zero[:1], zero[0, :1], 0.0)
    active = torch.full((1, size), bias > 3)
    spread = Spread.of(delta + 1e-6, active, torch.zeros_like(active))
    width, rows = vector(u), torch.ones(1, 1, 1, dtype=torch.float64)
    known = Known(first_activations(first, zero[:1]), delta, (spread,), (), width, width)
    form = linear_form(rows, [first, second], known)
    noise, centre = deviation * normal(generator, SAMPLES, size), form.mean[0].clamp(min=0.0)
    ends = [(bias + side * delta).clamp(min=0.0) - centre for side in (-1, 1)]
    least = torch.minimum(noise * ends[0], noise * ends[1]).sum(-1)

    def refuted(constant: float) -> bool:
        """Whether the noise falls below this more often than two events fail."""
        allowed = 2 * concentration(width).upper.item()
        return clopper_pearson(int((least < constant).sum()), SAMPLES, 1 - 1e-7)[0] > allowed

    assert not refuted(form.constant.item())
    if active.all():  # where h(x) = a + Δ(x), nothing of the bound is lost
        assert refuted(-u * (deviation * spread.activations).norm().item())


def test_a_shift_is_rounded_down() -> None:
    networks = make_networks(0, (2, 5, 3), radius=0.1, count=10)
    known, _ = know(networks, 1.0)
    form = linear_form(normal(stream(0, "rows"), 1, 4, 3), networks.layers, known)
    by = normal(stream(0, "shift"), 1, 4)
    moved = form.shifted(by)
    assert (moved.constant < form.constant + by).all()
    assert torch.allclose(moved.constant, form.constant + by, rtol=1e-14)


@pytest.mark.parametrize("widths", [(2, 5, 3), (2, 5, 4, 3)])
def test_without_its_own_noise_a_form_keeps_that_of_the_layers_before(widths: tuple) -> None:
    networks = make_networks(1, widths, radius=0.1, count=200)
    known, _ = know(networks, 1.0)
    form = linear_form(normal(stream(0, "rows"), 1, 4, 3), networks.layers, known)
    silent = form.without_own_noise()
    if len(widths) == 3:
        assert (silent.noise == 0).all()
        assert (silent.bias_noise == 0).all()
    else:
        assert silent.later == form.later[1:]
        assert silent.noise is form.noise


@pytest.mark.parametrize("u", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("size", [1, 3, 20])
def test_conditional_deviations_exceed_their_bound_no_more_often_than_stated(size: int, u: float) -> None:
    generator = stream(size, "conditional", int(10 * u))
    mean, deviation = normal(generator, 1, size), 0.1 + uniform(generator, 1, size)
    noise, bias_noise = uniform(generator, 1, 3, size), 0.1 * uniform(generator, 1, 3)
    bound = IndependentNoise(noise, bias_noise).at_rectified(mean, deviation, vector(u))
    h = (mean + deviation * normal(generator, 6_000, size)).clamp(min=0.0)
    found = (h.square() @ noise[0].square().mT + bias_noise.square()).sqrt()
    for row in range(3):
        failures = int((found[:, row] > bound[0, row]).sum())
        assert clopper_pearson(failures, len(found), 1 - 1e-7)[0] <= concentration(vector(u)).upper.item()


@given(st.integers(0, 2**32), st.floats(0, 5))
def test_conditional_deviations_grow_with_the_bounds_they_are_given(seed: int, u: float) -> None:
    generator = stream(seed, "growth")
    mean, deviation = normal(generator, 1, 4), 0.1 + uniform(generator, 1, 4)
    noise, bias_noise, width = uniform(generator, 1, 3, 4), uniform(generator, 1, 3), vector(u)
    small = IndependentNoise(noise, bias_noise).at_rectified(mean, deviation, width)
    large = IndependentNoise(noise, bias_noise).at_rectified(
        mean + uniform(generator, 1, 4), deviation * (1 + uniform(generator, 1, 4)), width
    )
    assert (small <= large).all()


def test_nan_of_a_hidden_layer_claims_nothing() -> None:
    networks = make_networks(3, (2, 5, 4, 3), radius=0.1, count=200)
    known, _ = know(networks, 1.0)
    nan, lines = torch.full_like(known.hidden[0].mean, torch.nan), known.hidden[0].lines
    spoils = [{name: nan} for name in ("mean", "deviation", "ceiling")]
    spoils += [{"lines": Lines.of(nan, lines.upper)}, {"lines": Lines.of(lines.lower, nan)}]
    for spoil in spoils:
        values = {**vars(known.hidden[0]), **spoil}
        spoiled = Known(known.first, known.radius, known.spreads, (Hidden(**values),), *[vector(SURE)] * 2)
        form = linear_form(normal(stream(0, "rows"), 1, 4, 3), networks.layers, spoiled)
        assert (form.constant.isnan() | form.later[0].isnan()).all()
