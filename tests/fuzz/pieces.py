"""Pieces of the projected events: layers, moments, lines, noise, tails by inversion."""

import math
from collections.abc import Iterator

import numpy as np
import torch
from balls import exact_folded_mean
from flint import arb
from problems import normal, uniform
from torch import Tensor

from fedcert.families.projected.bound import analysis
from fedcert.families.projected.centre import linear_form
from fedcert.families.projected.inversion import Row, lower_tail
from fedcert.families.projected.later import lowest_deviations
from fedcert.families.projected.rectified import first_activations
from fedcert.families.projected.relaxation import Lines, through_relu
from fedcert.families.projected.split import uniform_split
from fedcert.families.projected.spread import concentration
from fedcert.laws.affine import MAX_NORMAL, MovedInputs
from fedcert.laws.diagonal_affine import DiagonalAffine
from fedcert.laws.independent_noise import IndependentNoise
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.numerics.envelope import log_envelope
from fedcert.numerics.rectified import log_moment, second_moment
from fuzz.balls import EXACT, above, accurate, balls, dot, exactly, norm, precision, relu, tail
from fuzz.hostile import anything, between, choice
from fuzz.neuron import Neuron
from fuzz.verdicts import Verdict, verdict

K = 3


def scales(generator: torch.Generator, *shape: int) -> Tensor:
    size = choice(generator, 1.0, 1.0, 1e-6, 10 ** between(generator, -99, 99))
    return (size * (0.01 + uniform(generator, *shape))).clamp(1e-100, 1e100)


def bounded(generator: torch.Generator, *shape: int) -> Tensor:
    """Hostile numbers that a law may have for means."""
    return anything(generator, *shape).clamp(-1e100, 1e100)


def layer_of(generator: torch.Generator, outputs: int = 2, inputs: int = K) -> DiagonalAffine:
    W, b = bounded(generator, outputs, inputs), bounded(generator, outputs)
    error = choice(generator, 0.0, 1e-15)
    return DiagonalAffine(
        W,
        b,
        scales(generator, outputs, inputs),
        scales(generator, outputs),
        error * W.abs(),
        error * b.abs(),
        0.0,
    )


def layers(generator: torch.Generator) -> Iterator[Verdict]:
    """B M, B·m and the deviations of B W̃ and B·b̃ for hostile rows B."""
    layer, rows = layer_of(generator), anything(generator, 3, 2)
    (product, product_error), (offset, offset_error) = layer.product(rows), layer.offset(rows)
    found = layer.noise(rows)
    noise, bias_noise = found.weight, found.bias
    with precision(EXACT):
        means = [*zip(*balls(layer.weight), strict=True), balls(layer.bias)]
        errors = [*zip(*balls(layer.weight_error), strict=True), balls(layer.bias_error)]
        widths = [*zip(*balls(layer.weight_scale), strict=True), balls(layer.bias_scale)]
        for r, row in enumerate(balls(rows)):
            values, charged = [*product[r], offset[r]], [*product_error[r], offset_error[r]]
            for k, deviation in enumerate([*noise[r], bias_noise[r]]):
                value, charge = values[k].item(), charged[k].item()
                reach = dot([abs(b) for b in row], errors[k])
                distance = abs(dot(row, means[k]) - arb(value)) if math.isfinite(value) else arb(0)
                variance = exactly(dot([b * b for b in row], [s * s for s in widths[k]]))
                sound = not math.isfinite(value) or above(charge, distance + reach)
                squared = arb(deviation.item()) ** 2 if math.isfinite(deviation) else variance
                yield verdict(sound and not squared < variance, "layer", value, charge, deviation.item())


def activations(generator: torch.Generator) -> Iterator[Verdict]:
    """μ and t of the first layer at hostile inputs: t from above, and both within the charged error."""
    layer, x = layer_of(generator), anything(generator, 2, K)
    found = first_activations(layer, x)
    with precision(EXACT):
        for p, point in enumerate(balls(x)):
            for j in range(2):
                mu, t, e = (own[p, j].item() for own in (found.mean, found.deviation, found.error))
                if not all(math.isfinite(v) for v in (mu, t, e)):
                    yield Verdict(True, False)
                    continue
                mean = dot(balls(layer.weight[j]), point) + arb(layer.bias[j].item())
                reach = (
                    dot(balls(layer.weight_error[j]), [abs(v) for v in point]) + layer.bias_error[j].item()
                )
                variance = dot([s * s for s in balls(layer.weight_scale[j])], [v * v for v in point])
                variance += arb(layer.bias_scale[j].item()) ** 2
                room = arb(e) - abs(mean - arb(mu)) - reach  # ≥ 40 (t − t*)
                least = arb(t) - room / MAX_NORMAL
                sound = exactly(variance) <= arb(t) ** 2 and room >= 0
                yield verdict(sound and (least <= 0 or least**2 <= variance), "activation", mu, t, e)


def lines(generator: torch.Generator) -> Iterator[Verdict]:
    """A·relu(a) ≥ B·a + c − e at hostile coefficients and points of hostile ranges."""
    ends = anything(generator, 1, K, 2)
    low, high = ends.amin(-1), ends.amax(-1)
    A, error = anything(generator, 1, 3, K), choice(generator, 0.0, 1e-15) * uniform(generator, 1, 3, K)
    points = [low, high, low.clamp(max=0.0).maximum(torch.zeros_like(low).minimum(high)).maximum(low)]
    points.append(torch.where(uniform(generator, 1, K) < 0.5, low, high))
    ceiling = torch.maximum(low.abs(), high.abs())
    tilt = choice(generator, None, 2 * uniform(generator, 1))
    B, c, e = through_relu(A, error, Lines.of(low, high, tilt), ceiling)
    with precision(EXACT):
        for r in range(3):
            if not (torch.isfinite(B[0, r]).all() and torch.isfinite(c[0, r]) and torch.isfinite(e[0, r])):
                yield Verdict(True, False)
                continue
            slope, constant = balls(B[0, r]), arb(c[0, r].item()) - arb(e[0, r].item())
            least = [a - own for a, own in zip(balls(A[0, r]), balls(error[0, r]), strict=True)]
            sound = True
            for point in points:
                a = balls(point[0])
                sound &= not exactly(dot(slope, a) + constant) > exactly(dot(least, [relu(v) for v in a]))
            yield verdict(sound, "line", c[0, r].item(), e[0, r].item())


def moments(generator: torch.Generator) -> Iterator[Verdict]:
    """E relu(μ + tZ)² and log E exp(c h + q² h²/2) in closed form."""
    count = 4
    t = 10 ** between(generator, -50, 50) * (0.1 + uniform(generator, 1, count))
    nu = choice(generator, 0.5, 3.0, 10.0, 40.0) * normal(generator, 1, count)
    v, root = (
        choice(generator, 0.1, 3.0, 30.0) * normal(generator, 1, 1, count),
        0.7 * uniform(generator, 1, 1, count),
    )
    mean, c, q = nu * t, v / t, choice(generator, 0.0, 1.0) * root / t
    second = second_moment(mean, t)[0].tolist()
    logs = log_moment(c, q, mean.unsqueeze(0), t)[0, 0].tolist()
    for k in range(count):
        numbers = (mean[0, k].item(), t[0, k].item(), c[0, 0, k].item(), q[0, 0, k].item())
        truth = accurate(lambda n=numbers: exact_second_moment(*n[:2]))
        logarithm = accurate(lambda n=numbers: exact_log_moment(*n))
        sound = above(second[k], truth) and above(logs[k], logarithm)
        yield verdict(sound, f"moments of {numbers}", second[k], logs[k])


def exact_second_moment(mean: float, deviation: float) -> arb:
    mu, t = arb(mean), arb(deviation)
    nu = mu / t
    return (mu * mu + t * t) * tail(-nu) + mu * t * (-nu * nu / 2).exp() / (2 * arb.pi()).sqrt()


def exact_log_moment(mean: float, deviation: float, c: float, q: float) -> arb:
    nu, v, w = arb(mean) / deviation, arb(c) * deviation, (arb(q) * deviation) ** 2
    exponent = (nu * nu * w + 2 * nu * v + v * v) / (2 * (1 - w))
    return (tail(nu) + exponent.exp() * tail(-(nu + v) / (1 - w).sqrt()) / (1 - w).sqrt()).log()


def noises(generator: torch.Generator) -> Iterator[Verdict]:
    """Concentration, and the widths of `IndependentNoise`."""
    u = choice(generator, 1.0, 6.0, 30.0) * uniform(generator, 1)
    delta, r = scales(generator, 1, K), scales(generator, 1, 1, K)
    layer, inputs = layer_of(generator, K, 2), scales(generator, 1, 2)
    steepness = uniform(generator, 1, K).round()
    moved = MovedInputs(delta, steepness, layer, inputs)
    mean, deviation, bias = bounded(generator, 1, K), scales(generator, 1, K), scales(generator, 1, 1)
    noise = IndependentNoise(r, bias)
    found = [
        concentration(u).upper.item(),
        noise.over(delta, u).item(),
        noise.over_moved(moved, u).item(),
        noise.at_rectified(mean, deviation, u).item(),
    ]

    def truths(place: int) -> arb:
        width, d, own, ends = arb(u.item()), balls(delta[0]), balls(r[0, 0]), balls(inputs[0])
        if place == 0:
            return tail(width)
        wide = [x * y for x, y in zip(d, own, strict=True)]
        root = (2 / arb.pi()).sqrt()
        if place == 1:
            return root * sum(wide, arb(0)) + width * norm(*wide)
        if place == 2:
            reading = [x * arb(t) for x, t in zip(own, steepness[0].tolist(), strict=True)]
            M = [
                [abs(m) + e for m, e in zip(*pair, strict=True)]
                for pair in zip(balls(layer.weight), balls(layer.weight_error), strict=True)
            ]
            S = balls(layer.weight_scale)
            columns = [
                end * sum((reading[k] ** 2 * (M[k][j] ** 2 + S[k][j] ** 2) for k in range(K)), arb(0)).sqrt()
                for j, end in enumerate(ends)
            ]
            largest = norm(*(end * max(reading[k] * S[k][j] for k in range(K)) for j, end in enumerate(ends)))
            linear = sum(columns, arb(0)) + width * largest
            return root * min(sum(wide, arb(0)), linear) + width * norm(*wide)
        pairs = list(zip(mean[0].tolist(), deviation[0].tolist(), strict=True))
        square = sum((x * x * exact_second_moment(*pair) for x, pair in zip(own, pairs, strict=True)), arb(0))
        lipschitz = max(x * arb(t) for x, (_, t) in zip(own, pairs, strict=True))
        return (square + arb(bias.item()) ** 2).sqrt() + width * lipschitz

    for place, value in enumerate(found):
        yield verdict(above(value, accurate(lambda p=place: truths(p), 20)), f"noise {place}", value)


def shaken_rows(generator: torch.Generator) -> Iterator[Verdict]:
    """What a region moves of rows with noise: folded normals, s̄, τ and the Lipschitz constant."""
    layer, rows, q = layer_of(generator, 2, K), bounded(generator, 1, 1, 2), scales(generator, 1, 1, 2)
    radius, u = scales(generator, 1, K), choice(generator, 1.0, 6.0, 30.0) * uniform(generator, 1)
    found = [layer.movement(rows, radius, u, own).item() for own in (None, q)]

    def truth(shaking: list[arb]) -> arb:
        total, square = arb(0), arb(0)
        M, error, S = (balls(own) for own in (layer.weight, layer.weight_error, layer.weight_scale))
        B, deltas = balls(rows[0, 0]), balls(radius[0])
        for k, delta in enumerate(deltas):
            mean = abs(sum((B[j] * M[j][k] for j in range(2)), arb(0)))
            inexact = sum((abs(B[j]) * error[j][k] for j in range(2)), arb(0))
            own = sum(((B[j] * S[j][k]) ** 2 for j in range(2)), arb(0))
            moment = sum((shaking[j] ** 2 * (M[j][k] ** 2 + S[j][k] ** 2) for j in range(2)), arb(0))
            steepest = max(shaking[j] * S[j][k] for j in range(2))
            average = exact_folded_mean(mean, (own + moment).sqrt())
            total += delta * (average + inexact + steepest / arb.pi())
            square += delta * delta * (own + steepest * steepest)
        return total + arb(u.item()) * square.sqrt()

    for value, own in zip(found, ([arb(0)] * 2, balls(q[0, 0])), strict=True):
        yield verdict(above(value, accurate(lambda s=own: truth(s), 20)), "shaken rows", value)


def inversion(generator: torch.Generator) -> Iterator[Verdict]:
    """The tail of one rectified neuron with noise, against an integral in ball arithmetic."""
    t, bias = 0.1 + uniform(generator, 1).item(), 0.2 + uniform(generator, 1).item()
    mean, a = 2 * normal(generator, 1).item(), normal(generator, 1).item()
    r, sigmas = choice(generator, 0.0, 0.5) * uniform(generator, 1).item(), 8 * uniform(generator, 1).item()
    form = Neuron(*(arb(v) for v in (0.0, a, r, bias, mean, t)))
    rough, spread = form.rough()
    constant = sigmas * spread - rough
    row = Row(constant, np.array([a]), np.array([r]), bias, (), np.array([mean]), np.array([t]))
    found = lower_tail(row, constant + rough, spread)
    yield verdict(above(found, form.shifted(constant).tail()), f"inversion {row}", found)


def later_noise(generator: torch.Generator) -> Iterator[Verdict]:
    """The tail of g + N_b − s' max(Z, 0) + s max(−Z, 0): those of two neurons, less that of none."""
    bias, highest = 0.2 + uniform(generator, 1).item(), 2 * uniform(generator, 1).item()
    lowest, sigmas = highest * uniform(generator, 1).item(), 8 * uniform(generator, 1).item() - 2
    constant, none = sigmas * math.hypot(bias, highest), np.zeros(1)
    row = Row(constant, none, none, bias, ((lowest, highest),), none, np.ones(1))
    found = lower_tail(row, constant, math.hypot(bias, highest))
    halves = [Neuron(*(arb(v) for v in (constant, s, 0.0, bias, 0.0, 1.0))) for s in (-highest, lowest)]
    with precision(64):
        truth = halves[0].tail() + halves[1].tail() - tail(arb(constant) / arb(bias))
    yield verdict(above(found, truth), f"later noise {row}", found)


def lowest_deviation(generator: torch.Generator) -> Iterator[Verdict]:
    """σ_3 = √(Σ r_k² h_k² + r_b²) of a network whose first two layers are fixed: a number."""
    inner = [fixed_layer(generator, 3, K), fixed_layer(generator, 4, 3)]
    last, x = layer_of(generator, 2, 4), normal(generator, 1, K)
    C, d = normal(generator, 1, 1, 2), torch.zeros(1, 1, dtype=torch.float64)
    problem, network = Properties(Box.point(x), C, d), [*inner, last]
    split = uniform_split(network, problem, (1e-6, 1e-9, 1e-9))
    known = analysis(network, problem, split)[1][0]
    form = linear_form(C, network, known)
    ((found,), _) = lowest_deviations(form, network, known, split.deviation[:, -1])
    with precision(EXACT):
        h = balls(x[0])
        for layer in inner:
            h = [relu(dot(row, h) + m) for row, m in zip(balls(layer.weight), balls(layer.bias), strict=True)]
        rows = [v * v for v in balls(C[0, 0])]
        S = [*zip(*balls(last.weight_scale), strict=True)]
        variances = [dot(rows, [s * s for s in column]) for column in S]
        square = dot(variances, [v * v for v in h]) + dot(rows, [s * s for s in balls(last.bias_scale)])
        truth = square.sqrt()
    value = found.item()
    yield verdict(not truth < arb(value), f"lowest deviation {value} of {float(truth)}", value)


def fixed_layer(generator: torch.Generator, outputs: int, inputs: int) -> DiagonalAffine:
    """A layer without noise."""
    W, b = normal(generator, outputs, inputs), normal(generator, outputs)
    return DiagonalAffine(W, b, 0 * W, 0 * b, 0 * W, 0 * b, 0.0)


def envelopes(generator: torch.Generator) -> Iterator[Verdict]:
    """e^(cv) Q(v) ≤ C(c) for any c and v ≥ 0."""
    c = choice(generator, 1.0, 10 ** between(generator, -9, 2)) * 6 * uniform(generator, 3)
    found = log_envelope(c).tolist()
    v = (c + choice(generator, 0.0, 3.0) * normal(generator, 3)).abs()
    for value, rate, at in zip(found, c.tolist(), v.tolist(), strict=True):
        truth = accurate(lambda r=rate, z=at: tail(arb(z)).log() + arb(r) * arb(z))
        yield verdict(above(value, truth), f"envelope of {rate} at {at}", value)
