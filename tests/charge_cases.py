"""Ill-conditioned cases: whether a bound of the fast path holds, against exact arithmetic."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
import torch
from flint import acb, arb
from fuzz.balls import EXACT, above, accurate, balls, below, dot, exactly, mass, norm, precision, relu, tail
from fuzz.networks import forward
from fuzz.pieces import exact_log_moment, exact_second_moment
from problems import noise_of, normal, uniform, vector
from torch import Tensor

from fedcert.families.projected import bound, centre, tails
from fedcert.families.projected.bound import Violation
from fedcert.families.projected.carried import Head, in_the_middle, to_inputs
from fedcert.families.projected.centre import LinearForm
from fedcert.families.projected.chain import Federation, _Chain, chained_violation
from fedcert.families.projected.chernoff import _exponents
from fedcert.families.projected.direct import lower_bound
from fedcert.families.projected.inversion import Row, characteristic
from fedcert.families.projected.joined import Seen, joint_deviation
from fedcert.families.projected.later import lowest_deviations
from fedcert.families.projected.layers import random_layers, rectified
from fedcert.families.projected.rectified import Rectified, first_activations
from fedcert.families.projected.references import Static
from fedcert.families.projected.relaxation import Lines as ReLULines
from fedcert.families.projected.relaxation import through_relu
from fedcert.families.projected.split import STARTS, least_violation, uniform_split
from fedcert.families.projected.spread import rounded_centre
from fedcert.families.projected.tails import Limit
from fedcert.laws import BlockGaussian, DenseBlock, DenseGaussian, DiagonalGaussian
from fedcert.laws.affine import MAX_NORMAL
from fedcert.laws.conv_affine import ConvAffine
from fedcert.laws.dependent_conv import DependentConvAffine
from fedcert.laws.diagonal_affine import DiagonalAffine
from fedcert.laws.kernel_parts import KroneckerKernel
from fedcert.laws.kronecker import KroneckerPart
from fedcert.model.layers import AvgPool2d, Conv2d, Linear, Lines, MaxPool2d, ResidualSum, Sigmoid, Tanh
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties, linf_robustness
from fedcert.numerics import envelope
from fedcert.numerics.backward import LinearBound, LooseBound
from fedcert.numerics.box import Box
from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.envelope import log_envelope
from fedcert.numerics.gaussian import tail_lower, tail_upper
from fedcert.numerics.interval import Bounds, total
from fedcert.numerics.rectified import log_moment, second_moment
from fedcert.numerics.rounding import exp_down, exp_up, log_down, log_up, sum_down, tanh_down
from fedcert.randomness import stream
from fedcert.rules import LinearRule, TrimmedMean
from fedcert.verify.interval import IntervalVerifier
from fedcert.verify.linear import LinearVerifier

Patch = Callable[[pytest.MonkeyPatch], None]
HUGE = 2.0**54  # 2^54 − 1 is no float


CANCELLING = vector(*(x for row in permutations([HUGE, -1.0, -HUGE]) for x in row)).view(6, 3)
"""Rows that add up to −1, in every order; floating point finds 0 for some."""


def full(value: float, *shape: int) -> Tensor:
    return torch.full(shape, value, dtype=torch.float64)


ONE = full(1.0, 1, 1)


def random(*shape: int) -> Tensor:
    """The same random numbers every time."""
    return normal(stream(11, "charges"), *shape)


# --- sums, functions, masses -------------------------------------------------------------------------------


def sums() -> bool:
    return all(below(low, arb(-1)) for low in sum_down(CANCELLING).tolist())


def exponentials() -> bool:
    x = random(200)
    with precision(200):
        return all(below(low, arb(v).exp()) for v, low in zip(x.tolist(), exp_down(x).tolist(), strict=True))


def logarithms() -> bool:
    x = random(200).exp()
    with precision(200):
        return all(below(low, arb(v).log()) for v, low in zip(x.tolist(), log_down(x).tolist(), strict=True))


def normal_tails() -> bool:
    """A relative error of u in z = 30 is one of 900 u in Q(z)."""
    z = 28 + 4 * uniform(stream(0, "tails"), 50)
    found = zip(z.tolist(), tail_lower(z).tolist(), tail_upper(z).tolist(), strict=True)
    truths = [(accurate(lambda v=v: tail(arb(v))), low, high) for v, low, high in found]
    return all(below(low, truth) and above(high, truth) for truth, low, high in truths)


def end_points() -> bool:
    """(x − μ)/σ, with its error, encloses the exact number."""
    law, x = DiagonalGaussian(random(50), random(50).abs() + 0.1), random(100)[50:]
    z, error = law._standardised(x)
    with precision(200):
        exact = [(a - m) / s for a, m, s in zip(balls(x), balls(law.loc), balls(law.scale), strict=True)]
        return all(abs(a - b) <= e for a, b, e in zip(exact, balls(z), balls(error), strict=True))


# --- rules ------------------------------------------------------------------------------------------------


def image() -> bool:
    rule = LinearRule(full(1.0, 3, 1))
    found = [rule.image([Box.point(row[i : i + 1]) for i in range(3)]) for row in CANCELLING]
    return all(below(box.lower.item(), arb(-1)) and above(box.upper.item(), arb(-1)) for box in found)


def trimmed_mean() -> bool:
    rows = torch.cat([CANCELLING, -CANCELLING])
    found = [TrimmedMean(3, 0).image([Box.point(row[i : i + 1]) for i in range(3)]) for row in rows]
    truths = [arb(-1) / 3] * 6 + [arb(1) / 3] * 6
    pairs = zip(found, truths, strict=True)
    return all(below(box.lower.item(), truth) and above(box.upper.item(), truth) for box, truth in pairs)


def deployed_mass() -> bool:
    """Means add up to −1, so [−0.5, 0.5] has almost no mass; floating point has them add up to 0."""
    rule, box = LinearRule(full(1.0, 3, 1)), Box(vector(-0.5), vector(0.5))
    truth = accurate(lambda: mass(0.5 / (arb(3).sqrt() * 0.01), 1.5 / (arb(3).sqrt() * 0.01)).log())
    laws = [[DiagonalGaussian(row[i : i + 1], vector(0.01)) for i in range(3)] for row in CANCELLING]
    return all(below(rule.pushforward(own).log_mass(box).item(), truth) for own in laws)


def deployed_scale() -> bool:
    scales = random(7, 20).abs() + 0.1
    laws = [DiagonalGaussian(torch.zeros_like(own), own) for own in scales]
    found = LinearRule(full(1.0, 7, 1)).pushforward(laws)
    with precision(EXACT):
        e = arb(found.scale_error)
        pairs = zip(balls(found.scale), zip(*balls(scales), strict=True), strict=True)
        return all((s * (1 - e)) ** 2 <= dot(own, own) <= (s * (1 + e)) ** 2 for s, own in pairs)


# --- verifiers --------------------------------------------------------------------------------------------


def margins(verifier: IntervalVerifier | LinearVerifier, network, theta: Tensor, x: Tensor, d: float) -> bool:
    """Whether every output plus d is bounded from below by no more than it is, at a point."""
    C = torch.eye(network.outputs).double().unsqueeze(0)
    properties = Properties(Box.point(x.unsqueeze(0)), C, full(d, 1, network.outputs))
    found = verifier.margins(network, Box.point(theta.unsqueeze(0)), properties)[0, 0].tolist()
    with precision(EXACT):
        truths = [exactly(value + arb(d)) for value in forward(network, theta, x)]
        return all(below(low, truth) for low, truth in zip(found, truths, strict=True))


def interval() -> bool:
    theta = torch.cat([CANCELLING.flatten(), full(0.0, 6)])
    return margins(IntervalVerifier(), mlp(3, 6), theta, full(1.0, 3), 0.5)


def underflow() -> bool:
    """Sixteen products of −2e-324 each, all of them rounded to 0."""
    theta = torch.cat([full(-2e-162, 16), full(0.0, 1)])
    return margins(IntervalVerifier(), mlp(16, 1), theta, full(1e-162, 16), 0.0)


def constrained(theta: Tensor, x: float) -> bool:
    """Constraints that add up to −1 on outputs of 1, from weights or from biases."""
    properties = Properties(Box.point(full(x, 6, 1)), CANCELLING.unsqueeze(1), full(0.5, 6, 1))
    found = LinearVerifier().margins(mlp(1, 3), Box.point(theta.unsqueeze(0)), properties)
    return all(below(low, arb("-0.5")) for low in found.flatten().tolist())


def coefficients() -> bool:
    return constrained(vector(-1.0, -1.0, -1.0, 0.0, 0.0, 0.0), -1.0)


def constants() -> bool:
    return constrained(vector(0.0, 0.0, 0.0, 1.0, 1.0, 1.0), -1.0)


def products_of_both() -> bool:
    """Where inputs are not negative, weights and inputs are multiplied at once."""
    return constrained(vector(1.0, 1.0, 1.0, 0.0, 0.0, 0.0), 1.0)


def constants_of_both() -> bool:
    return constrained(vector(0.0, 0.0, 0.0, 1.0, 1.0, 1.0), 1.0)


def kernel_that_cancels() -> bool:
    """A convolution of three channels whose output is −1, in every order of its terms, with d = ½."""
    network = Network((Conv2d((3, 1, 1), 1, (1, 1)),))
    properties = Properties(Box.point(full(1.0, 1, 3)), full(1.0, 1, 1, 1), full(0.5, 1, 1))
    theta = torch.cat([CANCELLING, full(0.0, 6, 1)], -1)
    found = IntervalVerifier().margins(network, Box.point(theta), properties)
    return all(below(low, arb("-0.5")) for low in found.flatten().tolist())


def filters_that_cancel() -> bool:
    """Three filters of weight 1 at one pixel of value 1: their constraints cancel in its coefficient."""
    network = Network((Conv2d((1, 1, 1), 3, (1, 1)),))
    properties = Properties(Box.point(full(1.0, 6, 1)), CANCELLING.unsqueeze(1), full(0.5, 6, 1))
    theta = vector(1.0, 1.0, 1.0, 0.0, 0.0, 0.0).unsqueeze(0)
    found = LinearVerifier().margins(network, Box.point(theta), properties)
    return all(below(low, arb("-0.5")) for low in found.flatten().tolist())


def overlapping_means() -> bool:
    """Three windows see a pixel of value 3 between zeros, with coefficients that add up to −1."""
    x, rows = Bounds(full(3.0, 1, 1), full(3.0, 1, 1)), CANCELLING.view(6, 1, 1, 3)
    bound = AvgPool2d((1, 1, 1), (1, 3), (1, 1), (0, 2)).backward((), x, LinearBound.of(rows))
    return all(below(low, arb(-1)) for low in bound.least(x).flatten().tolist())


def overlapping_maxima() -> bool:
    """Three windows of which the same pixel is the greatest."""
    pool, pixel = MaxPool2d((1, 1, 5), (1, 3), (1, 1)), torch.full((6, 1, 3), 2)
    low, high = (end[..., 2].flatten() for end in pool._onto_pixels(CANCELLING.view(6, 1, 1, 3), pixel))
    return bool(((low <= -1) & (high >= -1)).all())


def forms_that_cancel() -> bool:
    """One weight at three positions, multiplied by numbers that add up to −1: its noise is not 0."""
    layer = Conv2d((1, 1, 3), 1, (1, 1))
    (own,) = DiagonalGaussian(full(0.0, 2), vector(1.0, 0.0)).layers(Network((layer,)))
    found = own.noise(CANCELLING.unsqueeze(1)).at(full(1.0, 6, 3))
    return bool((found >= 1).all())


def biases_that_cancel() -> bool:
    layer = Conv2d((1, 1, 3), 1, (1, 1))
    (own,) = DiagonalGaussian(full(0.0, 2), vector(0.0, 1.0)).layers(Network((layer,)))
    return bool((own.noise(CANCELLING.unsqueeze(1)).bias >= 1).all())


def dependent_layer(weight: float, bias: float) -> DependentConvAffine:
    """One weight and one offset at three positions, with the same normal behind both."""
    law = BlockGaussian(full(0.0, 2), (DenseBlock(0, vector(weight, bias).view(2, 1)),))
    (own,) = law.layers(Network((Conv2d((1, 1, 3), 1, (1, 1)),)))
    assert isinstance(own, DependentConvAffine)
    return own


def dependent_forms_that_cancel() -> bool:
    """The weight is multiplied by −1."""
    noise = dependent_layer(1.0, 0.0).noise(CANCELLING.unsqueeze(1))
    return bool((noise.at(full(1.0, 6, 3)) >= 1).all())


def dependent_biases_that_cancel() -> bool:
    noise = dependent_layer(0.0, 1.0).noise(CANCELLING.unsqueeze(1))
    return bool((noise.bias >= 1).all())


def joined_forms_that_cancel() -> bool:
    """The weight depends on an offset of the next layer."""
    network = Network((Conv2d((1, 1, 3), 1, (1, 1)), Linear(3, 1)))
    factor = torch.cat([full(1.0, 1, 1), full(0.0, 4, 1), full(1.0, 1, 1)])
    layers = DenseGaussian(full(0.0, 6), factor).layers(network)
    seen = [Seen(CANCELLING.unsqueeze(1), full(1.0, 6, 3))]
    return bool((joint_deviation(layers, seen) >= 1).all())


def cancelling_columns() -> list[Tensor]:
    """Forty entries that nearly add up to 0."""
    one = random(20, 20)
    return list(torch.cat([one, -one * (1 + 2.0**-40 * random(40, 20)[20:])], dim=1))


def deviations_of_sums(found: list[float]) -> bool:
    with precision(EXACT):
        exact = [abs(sum(balls(own), arb(0))) for own in cancelling_columns()]
        return all(above(f, e) for f, e in zip(found, exact, strict=True))


def kernels() -> list[KroneckerKernel]:
    """Forty filters of one weight each, and one normal behind all of them."""
    return [
        KroneckerKernel(KroneckerPart(own.unsqueeze(-1), full(1.0, 1, 1), full(1.0, 1, 1)))
        for own in cancelling_columns()
    ]


def kronecker_forms_that_cancel() -> bool:
    form = full(1.0, 1, 1, 40, 1), full(0.0, 1, 1, 40)
    return deviations_of_sums([own.of_form(*form).item() for own in kernels()])


def kronecker_pixels_that_cancel() -> bool:
    layer = Conv2d((1, 1, 1), 40, (1, 1))
    return deviations_of_sums([own.of_pixels(layer, full(1.0, 1, 1, 40)).item() for own in kernels()])


def convolved_product() -> bool:
    """Three filters at one pixel: B M is −1, within what is charged."""
    layer = Conv2d((1, 1, 1), 3, (1, 1))
    (own,) = DiagonalGaussian(torch.cat([full(1.0, 3), full(0.0, 3)]), full(1.0, 6)).layers(Network((layer,)))
    value, error = own.product(CANCELLING)
    return bool(((value + 1).abs() <= error).all())


def convolved_outputs() -> bool:
    """Three pixels of a window that add up to −1."""
    layer = Conv2d((1, 1, 3), 1, (1, 3))
    (own,) = DiagonalGaussian(torch.cat([full(1.0, 3), full(0.0, 1)]), full(0.0, 4)).layers(Network((layer,)))
    found = own.at(CANCELLING)
    return bool(((found.mean + 1).abs() <= found.error).all())


def pooled_product() -> bool:
    """The mean of three pixels is a third of each, which no float is."""
    value, error = ConvAffine.mean_pool(AvgPool2d((1, 1, 3), (1, 3), (1, 1))).product(full(1.0, 1))
    return abs(Fraction(value[0].item()) - Fraction(1, 3)) <= Fraction(error[0].item())


def mean_of_an_interval() -> bool:
    """Pixels that add up to −1, in every order."""
    found = AvgPool2d((1, 1, 3), (1, 3), (1, 1)).interval((), Bounds(CANCELLING, CANCELLING))
    with precision(EXACT):
        return all(below(low, arb(-1) / 3) for low in found.lower.flatten().tolist())


def sum_of_chains() -> bool:
    """Interval and backward bounds of x + w x where 1 + w is no float."""
    layer, w = ResidualSum((Linear(1, 1),)), 2.0**-60
    parameters = [
        Bounds(full(own, 1, *shape), full(own, 1, *shape)) for own, shape in ((w, (1, 1)), (0.0, (1,)))
    ]
    x = Bounds(full(1.0, 1, 1), full(1.0, 1, 1))
    with precision(EXACT):
        truth = arb(1) + arb(w)
        ends = layer.backward(parameters, x, LinearBound.of(full(1.0, 1, 1, 1, 1))).ends
        interval = total([x, Bounds(x.lower * w, x.upper * w)])
        return all(
            below(low, truth) and above(high, truth)
            for low, high in (
                (interval.lower.item(), interval.upper.item()),
                (ends.lower.item(), ends.upper.item()),
            )
        )


def tangents() -> bool:
    x = random(400)
    with precision(200):
        return all(
            below(low, arb(v).tanh()) for v, low in zip(x.tolist(), tanh_down(x).tolist(), strict=True)
        )


def lines_around_tanh() -> bool:
    """Lines at both ends and at points between them, of random bounds."""
    low, high = random(2, 400).sort(dim=0).values
    lines = Tanh().lines(Bounds(low, high))
    parts = (lines.below.slope, lines.below.height, lines.above.slope, lines.above.height, low, high)
    with precision(200):
        for s, t, u, v, a, b in zip(*map(balls, parts), strict=True):
            for k in range(65):
                x = a + (b - a) * k / 64
                if not s * x + t <= x.tanh() <= u * x + v:
                    return False
    return True


def logistic_values() -> bool:
    x = random(400)
    found = Sigmoid().interval((), Bounds(x, x))
    with precision(200):
        truths = [(1 + (arb(v) / 2).tanh()) / 2 for v in x.tolist()]
        return all(
            below(low, truth) and above(high, truth)
            for truth, low, high in zip(truths, *(end.tolist() for end in found), strict=True)
        )


def underflowing_slope() -> bool:
    """A slope of some 60 times the least float multiplies a pre-activation of −1e300."""
    network, c = mlp(1, 2, 1), 1e-20
    region = Box(vector(-1.0).unsqueeze(0), vector(1e-200).unsqueeze(0))
    properties = Properties(region, full(1.0, 1, 1, 1), vector(-c).unsqueeze(0))
    thetas = [vector(1e300, 1.0, 0.0, 2.0, -(1 + k / 100) * 1e-308, c, 0.0) for k in range(20)]
    found = LinearVerifier().margins(network, Box.point(torch.stack(thetas)), properties).flatten().tolist()
    return all(below(low, arb(0)) for low in found)


def loose(constant: float) -> tuple[LooseBound, Bounds]:
    """Coefficients in random intervals, of random activations of both signs."""
    low, high = random(2, 2000, 1, 1, 3).sort(dim=0).values
    h = Bounds(-random(2000, 1, 3).abs(), random(4000, 1, 3)[2000:].abs())
    constants = full(constant, 2000, 1, 1)
    return LooseBound(Bounds(low, high), constants, constants.abs(), 13), h


def settles(constant: float, scale: float) -> bool:
    """Whether the constant falls by what one coefficient loses, at the worst of the others, at least."""
    bound, h = loose(constant)
    h = Bounds(scale * h.lower, scale * h.upper)
    found = bound.settled(h)
    low, high = bound.coefficients
    with precision(EXACT):
        for b in range(2000):
            ends = (low[b, 0, 0], high[b, 0, 0], found.coefficients[b, 0, 0], h.lower[b, 0], h.upper[b, 0])
            numbers = zip(*map(balls, ends), strict=True)
            lost = sum((max((u - a) * -bottom, (a - v) * top) for v, u, a, bottom, top in numbers), arb(0))
            if not below(found.constant[b, 0, 0].item(), arb(constant) - exactly(lost)):
                return False
    return True


def lost_by_settling() -> bool:
    return settles(0.0, 1.0)


def settled_constant() -> bool:
    """What is lost is a millionth of a step of the constant's floats."""
    return settles(1.0, 1e-24)


def touching_lines() -> bool:
    """Lines of random slopes around a ↦ |a|, at the ends and at the kink."""
    low, high = random(2, 200).sort(dim=0).values
    kink = full(0.0, 200).clamp(low, high)
    corners = [(a, Bounds(a.abs(), a.abs())) for a in (low, high, kink)]
    lines = Lines.touching(random(400)[200:], random(600)[400:], corners)
    parts = (lines.below.slope, lines.below.height, lines.above.slope, lines.above.height, low, high, kink)
    with precision(EXACT):
        numbers = zip(*map(balls, parts), strict=True)
        return all(s * a + t <= abs(a) <= u * a + v for s, t, u, v, *points in numbers for a in points)


def offset_of_a_margin() -> bool:
    """A margin of 1.2e-16 plus 1: the next float is above the sum."""
    return margins(LinearVerifier(), mlp(1, 1), vector(1.2e-16, 0.0), vector(1.0), 1.0)


def region() -> bool:
    x = uniform(stream(2, "region"), 50, 1)
    labels = torch.zeros(50, dtype=torch.int64)
    for epsilon in (0.001, 0.003):
        regions = linf_robustness(x, labels, epsilon, classes=2, domain=(-1.0, 2.0)).regions
        with precision(EXACT):
            ends = zip(balls(x[:, 0]), regions.lower.tolist(), regions.upper.tolist(), strict=True)
            e = arb(epsilon)
            if not all(below(low, v - e) and above(high, v + e) for v, (low,), (high,) in ends):
                return False
    return True


# --- laws whose parameters depend on each other -----------------------------------------------------------


def nearly_equal() -> list[DenseGaussian]:
    """Rows of a factor that differ in their last digits, so that nearly all of a difference cancels."""
    one = random(20, 1, 40)
    other = one * (1 + 2.0**-20 * random(40, 1, 40)[20:].sign())
    factors = torch.cat([one, other, full(0.0, 20, 2, 40)], dim=1)
    return [DenseGaussian(full(0.0, 4), factor) for factor in factors]


def norms_of_differences(laws: list[DenseGaussian]) -> list[arb]:
    rows = [balls(law.factor[:2]) for law in laws]
    differences = [[a - b for a, b in zip(*pair, strict=True)] for pair in rows]
    return [dot(own, own).sqrt() for own in differences]


def cancelling_noise() -> bool:
    laws = nearly_equal()
    found = [law.covariance.of_projection(vector(1.0, -1.0, 0.0, 0.0)).item() for law in laws]
    with precision(EXACT):
        return all(above(f, exact) for f, exact in zip(found, norms_of_differences(laws), strict=True))


def cancelling_noise_from_below() -> bool:
    laws = nearly_equal()
    found = [law.covariance.least_projection(vector(1.0, -1.0, 0.0, 0.0)).item() for law in laws]
    with precision(EXACT):
        return all(below(f, exact) for f, exact in zip(found, norms_of_differences(laws), strict=True))


def cancelling_factors_from_below() -> bool:
    """The noise of a Kronecker factor whose entries nearly add up to 0."""
    one = random(20, 20)
    columns = torch.cat([one, -one * (1 + 2.0**-40 * random(40, 20)[20:])], dim=1)
    parts = [KroneckerPart(own.unsqueeze(-1), full(1.0, 1, 1), full(1.0, 1, 1)) for own in columns]
    found = [own.noise(full(1.0, 1, 1, 40)).at_least(full(1.0, 1, 1)).item() for own in parts]
    with precision(EXACT):
        exact = [abs(sum(balls(own), arb(0))) for own in columns]
        return all(below(f, e) for f, e in zip(found, exact, strict=True))


def cancelling_gram() -> bool:
    """Two outputs of one input whose noise nearly cancels, over an interval of it."""
    laws, rows = nearly_equal(), vector(1.0, -1.0).view(1, 1, 2)
    layers = [law.layers(mlp(1, 2))[0] for law in laws]
    found = [layer.noise(rows).steepest(full(1.0, 1, 1)).item() for layer in layers]
    with precision(EXACT):
        return all(above(f, exact) for f, exact in zip(found, norms_of_differences(laws), strict=True))


def forgetful(loc: Tensor, factor: Tensor, loc_error: Tensor | None, factor_error: float) -> DenseGaussian:
    """A deployed law that says nothing of the rounding of its factor."""
    return DenseGaussian(loc, factor, loc_error, 0.0)


forgetful.of = DenseGaussian.of  # type: ignore[attr-defined]


def deployed_factor() -> bool:
    """What a weight makes of a factor is within the error that the law states."""
    laws = [DenseGaussian(full(0.0, 5), random(5, 5)) for _ in range(2)]
    rule = LinearRule(vector(1 / 3, 0.7).view(2, 1))
    found = rule.pushforward(laws)
    with precision(EXACT):
        exact = [
            [arb(w) * v for w, law in zip((1 / 3, 0.7), laws, strict=True) for v in balls(law.factor[k])]
            for k in range(5)
        ]
        e = arb(found.factor_error)
        return all(
            abs(a - b) <= e * abs(b)
            for row, own in zip(exact, balls(found.factor), strict=True)
            for a, b in zip(row, own, strict=True)
        )


# --- projected events -------------------------------------------------------------------------------------


def exact_layer(weight: Tensor, bias: Tensor, scale: float = 1e-100) -> DiagonalAffine:
    network = mlp(weight.shape[1], len(weight))
    loc = torch.cat([weight.flatten(), bias])
    return random_layers(network, DiagonalGaussian(loc, torch.full_like(loc, scale)))[0]


def layer_product() -> bool:
    value, error = exact_layer(full(1.0, 3, 1), full(0.0, 3)).product(CANCELLING)
    return all(abs(v + 1) <= e for v, e in zip(value[:, 0].tolist(), error[:, 0].tolist(), strict=True))


def layer_offset() -> bool:
    value, error = exact_layer(full(0.0, 3, 1), full(1.0, 3)).offset(CANCELLING)
    return all(abs(v + 1) <= e for v, e in zip(value.tolist(), error.tolist(), strict=True))


def layer_deviations(rows: Tensor, scale: Tensor) -> bool:
    layer = replace(exact_layer(torch.ones_like(scale), full(1.0, len(scale))), weight_scale=scale)
    found = layer.noise(rows).weight
    with precision(EXACT):
        columns = [[s * s for s in column] for column in zip(*balls(scale), strict=True)]
        for row, own in zip(balls(rows), balls(found), strict=True):
            squares = [b * b for b in row]
            if any(
                deviation**2 < dot(squares, column) for deviation, column in zip(own, columns, strict=True)
            ):
                return False
    return True


def deviations() -> bool:
    return layer_deviations(random(30, 40), random(40, 5).abs() + 0.1)


def underflowing_rows() -> bool:
    return layer_deviations(full(1e-170, 1, 1), full(1e99, 1, 1))


def first_layer() -> bool:
    found = first_activations(exact_layer(full(1.0, 1, 3), full(0.0, 1)), CANCELLING)
    pairs = zip(found.mean[:, 0].tolist(), found.error[:, 0].tolist(), strict=True)
    return all(abs(mean + 1) <= error for mean, error in pairs)


def lines() -> bool:
    """One unstable neuron a property, at both ends of its range."""
    ends = random(2000, 1, 2).abs()
    low, high, A = -ends[..., 0], ends[..., 1], -random(4000, 1, 1)[2000:].abs()
    slope, constant, error = through_relu(A, torch.zeros_like(A), ReLULines.of(low, high), high)
    with precision(EXACT):
        numbers = zip(*(balls(own.flatten()) for own in (A, slope, constant, error, low, high)), strict=True)
        return not any(s * x + c - e > a * relu(x) for a, s, c, e, *both in numbers for x in both)


def underflowing_lines() -> bool:
    low, high = vector(-1e300).view(1, 1), vector(3e284).view(1, 1)
    for k in range(50):
        A = vector(-(1 + k / 50) * 1e-307).view(1, 1, 1)
        slope, constant, error = through_relu(A, torch.zeros_like(A), ReLULines.of(low, high), high)
        with precision(EXACT):
            if arb(slope.item()) * arb(-1e300) + arb(constant.item()) - arb(error.item()) > 0:
                return False
    return True


def second_moments() -> bool:
    mean, t = random(1, 200) - 1, full(1.0, 1, 200)
    found = second_moment(mean, t)[0].tolist()
    truths = [accurate(lambda m=m: exact_second_moment(m, 1.0)) for m in mean[0].tolist()]
    return all(above(high, truth) for high, truth in zip(found, truths, strict=True))


def log_moments() -> bool:
    mean, c = 3 * random(2, 1, 1, 100)
    found = log_moment(c, torch.zeros_like(c), mean, full(1.0, 1, 100))[0, 0].tolist()
    numbers = zip(mean.flatten().tolist(), c.flatten().tolist(), strict=True)
    truths = [accurate(lambda m=m, v=v: exact_log_moment(m, 1.0, v, 0.0)) for m, v in numbers]
    return all(above(high, truth) for high, truth in zip(found, truths, strict=True))


def rough_envelopes() -> bool:
    """e^(cv) Q(v) ≤ C(c) at the v where they touch, though v_0 is another one."""
    c = 1 + 10 * random(50).abs()
    best = envelope._touching(c)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(envelope, "_touching", lambda _c: best + 0.3)
        found = log_envelope(c).tolist()
    with precision(200):
        numbers = zip(c.tolist(), best.tolist(), found, strict=True)
        return all(above(high, tail(arb(v)).log() + arb(r) * arb(v)) for r, v, high in numbers)


def exponent() -> bool:
    """K(λ) = −λ g + λ² (r_b² + s_3²)/2 where no neuron counts."""
    g, rate, bias, later = 1e6 * random(4, 1, 400).abs()
    nothing = full(0.0, 1, 400, 1)
    found = _exponents(LinearForm(g, nothing, nothing, nothing, bias, (later,), ONE), rate.unsqueeze(0))[
        0, 0
    ].tolist()
    with precision(EXACT):
        numbers = zip(*(balls(own[0]) for own in (g, rate, bias, later)), found, strict=True)
        return all(above(high, -r * a + r * r * (b * b + s * s) / 2) for a, r, b, s, high in numbers)


def shifted_form() -> bool:
    nothing = full(0.0, 1, 1, 1)
    form = LinearForm(full(1.2e-16, 1, 1), nothing, nothing, nothing, nothing[0], (), ONE)
    with precision(EXACT):
        return below(form.shifted(ONE).constant.item(), arb(1) + arb(1.2e-16))


def half_space() -> bool:
    """Outputs of 1 and constraints that add up to −1: violated, were it not for rounding."""
    outputs = Rectified(full(1.0, 6, 3), full(1e-30, 6, 3), full(0.0, 6, 3))
    found = bound._gaussian_tails(CANCELLING.unsqueeze(1), outputs, full(0.5, 6, 1))
    return bool((found == 1).all())


def half_space_of_tiny_coefficients() -> bool:
    """1e-160 a ≥ 0 for an output a of mean −1: (C t)² underflows, and nothing may be made of that."""
    outputs = Rectified(full(-1.0, 1, 1), full(0.1, 1, 1), full(0.0, 1, 1))
    found = bound._gaussian_tails(full(1e-160, 1, 1, 1), outputs, full(0.0, 1, 1))
    return bool((found > 0.99).all())


def violation_sum() -> bool:
    found = Violation(vector(1e-17).view(1, 1), vector(0.3)).probability.item()
    with precision(EXACT):
        return above(found, arb(0.3) + arb(1e-17))


def squares() -> bool:
    x = random(300)
    found = Enclosure.exactly(x).square()
    with precision(EXACT):
        pairs = zip(found.lower.tolist(), x.tolist(), strict=True)
        return all(arb(low) <= arb(own) ** 2 for low, own in pairs)


def shaken_movement() -> bool:
    """Σ_k δ_k E |r_k Z| + u ‖δ∘r‖ of rows with noise, at weights of mean 0."""
    S, q, delta = random(2, 300).abs(), random(1, 1, 2).abs(), random(1, 300).abs()
    layer = DiagonalAffine(0 * S, full(0.0, 2), S, full(1.0, 2), 0 * S, full(0.0, 2), 0.0)
    found = layer.movement(full(0.0, 1, 1, 2), delta, full(0.0, 1), q).item()
    with precision(300):
        root, pairs = (2 / arb.pi()).sqrt(), list(zip(*balls(S), strict=True))
        shares = [norm(*(a * b for a, b in zip(balls(q[0, 0]), own, strict=True))) for own in pairs]
        widest = max(balls(q[0, 0]))
        beyond = [widest * max(own) / arb.pi() for own in pairs]
        truth = dot(balls(delta[0]), [root * s + t for s, t in zip(shares, beyond, strict=True)])
        return above(found, truth)


def noise() -> bool:
    """√(2/π) Σ δ r + u ‖δ r‖."""
    (delta, r), u = random(2, 3000, 3).abs(), full(3.0, 3000)
    found = noise_of(r.unsqueeze(1)).over(delta, u)[:, 0].tolist()
    with precision(200):
        root = (2 / arb.pi()).sqrt()
        wide = [
            [a * b for a, b in zip(*own, strict=True)] for own in zip(balls(delta), balls(r), strict=True)
        ]
        truths = [root * sum(own, arb(0)) + 3 * norm(*own) for own in wide]
        return all(above(high, truth) for high, truth in zip(found, truths, strict=True))


def total_deviation() -> bool:
    s = random(100, 60).abs()
    with precision(200):
        pairs = zip(tails.total(s).tolist(), balls(s), strict=True)
        return all(above(high, norm(*own)) for high, own in pairs)


def convolution() -> bool:
    a, b = random(20).abs(), random(30).abs()
    found = tails._convolve_down(a, b).tolist()
    with precision(EXACT):
        x, y = balls(a), balls(b)
        truths = [sum((x[i] * y[k - i] for i in range(20) if 0 <= k - i < 30), arb(0)) for k in range(49)]
        return all(below(low, truth) for low, truth in zip(found, truths, strict=True))


def lowest_deviation() -> bool:
    """σ_3 = s* ‖C‖ |h| of a last layer whose scale is only known within a quarter; all else is fixed."""
    one, none = full(1.0, 1, 1), full(0.0, 1, 1)
    fixed = DiagonalAffine(one, none[0], none, none[0], none, none[0], 0.0)
    layers = [fixed, fixed, DiagonalAffine(one, none[0], one, none[0], none, none[0], 0.25)]
    properties = Properties(Box.point(full(2.0, 1, 1)), full(1.0, 1, 1, 1), none)
    split = uniform_split(layers, properties, STARTS[0])
    found = bound.analysis(layers, properties, split)[1]
    form = centre.linear_form(properties.C, layers, found[0])
    (low,), _ = lowest_deviations(form, layers, found[0], split.deviation[:, -1])
    return 1.4 < low.item() <= 0.75 * 2.0


def exceeded_lines() -> bool:
    """Pr(relu(a) ≥ 2) for a standard normal a: the line that replaces relu is far below it there."""
    one, none = full(1.0, 1, 1), full(0.0, 1, 1)
    fixed = DiagonalAffine(none, none[0], none, none[0], none, none[0], 0.0)
    noisy = DiagonalAffine(none, none[0], none, one[0], none, none[0], 0.0)
    last = DiagonalAffine(-one, none[0], none, 0.1 * one[0], none, none[0], 0.0)
    properties = Properties(Box.point(none), full(1.0, 1, 1, 1), full(2.0, 1, 1))
    split = uniform_split([fixed, noisy, last], properties, STARTS[0], 0.2)
    return bound.violation([fixed, noisy, last], properties, split).probability.item() > 0.0228


def characteristic_function() -> bool:
    """One neuron of mean 0 and no constant: φ is known, and nothing but the library errs."""
    row = Row(0.0, np.array([1.3]), np.array([0.4]), 0.7, (), np.array([0.0]), np.array([1.0]))
    tau = np.linspace(0.1, 3.0, 40)
    value, error = characteristic(row, tau)
    with precision(200):
        for t, z, e in zip(tau.tolist(), value.tolist(), error.tolist(), strict=True):
            v, x = arb(t) * arb(1.3), (arb(t) * arb(0.4)) ** 2
            root = (1 + x).sqrt()
            zeta = acb(0, v / root)
            normal_cdf = (-zeta / arb(2).sqrt()).erfc() / 2
            factor = arb("0.5") + (-v * v / (2 * (1 + x))).exp() * normal_cdf / root
            exact = factor * (-((arb(t) * arb(0.7)) ** 2) / 2).exp()
            if abs(exact - acb(z.real, z.imag)) > e:
                return False
    return True


def narrow() -> tuple[Network, DiagonalGaussian, Properties]:
    """A network that is 1 everywhere, all but without noise, and constraints that add up to −1."""
    network = mlp(1, 1, 3)
    loc = torch.cat([
        part.flatten() for part in (full(1.0, 1, 1), full(0.0, 1), full(1.0, 3, 1), full(0.0, 3))
    ])
    properties = Properties(Box.point(full(1.0, 6, 1)), CANCELLING.unsqueeze(1), full(0.5, 6, 1))
    return network, DiagonalGaussian(loc, torch.full_like(loc, 1e-40)), properties


def linear_forms() -> bool:
    """Violated for sure, whatever floating point makes of C W."""
    network, law, properties = narrow()
    own = random_layers(network, law)
    split = uniform_split(own, properties, STARTS[0])
    return bool((bound.violation(own, properties, split).probability == 1).all())


def chained_forms() -> bool:
    network, law, properties = narrow()
    own = random_layers(network, law)
    found = chained_violation(Federation(own, [own]), properties, full(5.0, 6), full(1e-8, 6))
    return bool((found.probability == 1).all())


def last_layer(widths: tuple[int, ...], *parameters: Tensor) -> Head:
    """Layers without ReLUs at the input 1, of which the last one's weights have one normal."""
    network = Network(tuple(Linear(*pair) for pair in pairwise(widths)))
    loc = torch.cat(parameters)
    factor = torch.zeros_like(loc).unsqueeze(-1)
    factor[-1 - widths[-2] : -1] = 1.0
    layers = random_layers(network, DenseGaussian(loc, factor))
    properties = Properties(Box.point(full(1.0, 1, 1)), full(1.0, 1, 1, 1), full(0.0, 1, 1))
    federation = Federation(layers, [layers], rectified(network))
    chain = _Chain(federation, properties, full(0.5, 1), Static(), Limit())
    for depth in range(len(layers) - 1):
        chain.add_layer(depth, full(1.0, 1))
    return Head(chain.view, properties)


def carried_rows() -> bool:
    """A mean margin of −1, whose terms cancel, from below."""
    ones, nothing = full(1.0, 3), full(0.0, 3)
    found = [last_layer((1, 3, 1), ones, nothing, row, full(0.0, 1)).mean for row in CANCELLING]
    with precision(EXACT):
        return all(arb(own.constant.item()) - arb(own.error.item()) <= -1 for own in found)


def carried_features() -> bool:
    """A feature of −1, whose terms cancel, on either side."""
    ones, nothing, every = full(1.0, 3), full(0.0, 3), full(1.0, 1, 1, 1)
    heads = [
        last_layer((1, 3, 1, 1), ones, nothing, row, full(0.0, 1), full(1.0, 1), full(0.0, 1))
        for row in CANCELLING
    ]
    found = [to_inputs(head.view, every, torch.zeros_like(every), in_the_middle) for head in heads]
    with precision(EXACT):
        return all(abs(arb(own.constant.item()) + 1) <= arb(own.error.item()) for own in found)


def covariances_that_cancel() -> bool:
    """Cov(N_k, N·h + N_b) of a factor whose rows nearly cancel."""
    laws, rows = nearly_equal(), vector(1.0, -1.0).view(1, 1, 2)
    for law in laws:
        found, error = law.layers(mlp(1, 2))[0].noise(rows).covariances(full(1.0, 1, 1))
        with precision(EXACT):
            one, other = balls(law.factor[:2])
            difference = [a - b for a, b in zip(one, other, strict=True)]
            exact = dot(difference, difference)
            if not abs(arb(found.item()) - exact) <= arb(error.item()):
                return False
    return True


def directions_that_cancel() -> bool:
    """√Var(N·t) of a factor whose rows nearly cancel."""
    laws, rows = nearly_equal(), vector(1.0, -1.0).view(1, 1, 2)
    found = [law.layers(mlp(1, 2))[0].noise(rows).along(full(1.0, 1, 1, 1)).item() for law in laws]
    with precision(EXACT):
        return all(above(f, exact) for f, exact in zip(found, norms_of_differences(laws), strict=True))


def complement() -> bool:
    """L ≤ 1 − V for a bound V of the probability of a violation."""
    law = DiagonalGaussian(vector(0.0, 0.0), vector(1.0, 1.0))
    properties = Properties(Box.point(full(1.0, 40, 1)), full(1.0, 40, 1, 1), 8 + random(40, 1).abs())
    violated, _ = least_violation(random_layers(mlp(1, 1), law), properties)
    lower, _ = lower_bound(mlp(1, 1), law, properties)
    with precision(EXACT):
        pairs = zip(lower.tolist(), balls(violated.probability), strict=True)
        return all(below(low, 1 - probability) for low, probability in pairs)


def exponentials_from_above() -> bool:
    x = random(200)
    with precision(200):
        return all(above(high, arb(v).exp()) for v, high in zip(x.tolist(), exp_up(x).tolist(), strict=True))


def logarithms_from_above() -> bool:
    x = random(200).exp()
    with precision(200):
        return all(above(high, arb(v).log()) for v, high in zip(x.tolist(), log_up(x).tolist(), strict=True))


def underflowing_inputs() -> bool:
    """t ≥ S |x| where x² is no float."""
    layer = replace(exact_layer(ONE, vector(0.0)), weight_scale=full(1e99, 1, 1))
    return first_activations(layer, full(1e-170, 1, 1)).deviation.item() >= 1e-71


def looseness() -> bool:
    """The deviations exceed the exact ones by no more than is said."""
    layer, rows = (
        replace(exact_layer(full(1.0, 4, 1), full(1.0, 4)), weight_scale=full(0.3, 4, 1)),
        random(50, 4),
    )
    found = layer.noise(rows).weight
    with precision(200):
        exact = [norm(*row) * arb(0.3) for row in balls(rows)]
        charged = balls(layer.looseness(found)[:, 0])
        return all(d - e <= x for d, e, x in zip(balls(found[:, 0]), exact, charged, strict=True))


def numbers_form(coefficient: Tensor, noise: Tensor) -> LinearForm:
    """A form of neurons that are all numbers, 1 each."""
    nothing, ones = torch.zeros_like(coefficient[..., 0]), torch.ones_like(coefficient)
    return LinearForm(nothing, coefficient, ones, noise, nothing, (), torch.zeros_like(coefficient[:, 0]))


def sums_of_numbers() -> bool:
    """Σ A_k h_k joins the constant, from below."""
    A = CANCELLING.unsqueeze(1)
    return all(g <= -1 for g in centre._folded(numbers_form(A, torch.zeros_like(A))).constant[:, 0].tolist())


def joined_noise(noise: Tensor) -> bool:
    """√Σ r_k² h_k², and what it is too large by times the largest normal: both are in the form."""
    found = centre._folded(numbers_form(torch.zeros_like(noise), noise))
    with precision(EXACT):
        exact = [norm(*row) for row in balls(noise[:, 0])]
        numbers = zip(balls(found.bias_noise[:, 0]), balls(found.constant[:, 0]), exact, strict=True)
        return all(r >= e and g <= -arb(MAX_NORMAL) * (r - e) for r, g, e in numbers)


def noise_of_numbers() -> bool:
    return joined_noise(random(30, 1, 7))


def no_noise_of_numbers() -> bool:
    return joined_noise(torch.zeros(1, 1, 7).double())


def underflowing_fixed_bias() -> bool:
    """Where the bias is fixed and x² is no float, t is too large by more than its scale tells."""
    layer = replace(exact_layer(ONE, vector(0.0)), weight_scale=ONE, bias_scale=vector(0.0))
    found = first_activations(layer, full(1e-200, 1, 1))
    with precision(EXACT):
        t, error = arb(found.deviation.item()), arb(found.error.item())
        return bool(error >= MAX_NORMAL * (t - arb(1e-200)))


def covered_region() -> bool:
    """Every point of a region is within the radius of its centre."""
    ends = random(2, 100, 1)
    lower, upper = ends.amin(0), ends.amax(0)
    found = rounded_centre(lower, upper)
    with precision(EXACT):
        numbers = zip(*(balls(own[:, 0]) for own in (lower, upper, *found)), strict=True)
        return all(high - c <= r and c - low <= r for low, high, c, r in numbers)
