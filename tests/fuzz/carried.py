"""Random last layers behind fixed ones: against exact arithmetic, and against a law of one normal."""

from collections.abc import Iterator, Sequence
from math import isfinite

import torch
from dependent_problems import law as structured
from flint import acb, arb
from problems import normal, uniform
from torch import Tensor

from fedcert.families.problem import Problem
from fedcert.families.projected.family import ProjectedFamily
from fedcert.laws import DenseGaussian
from fedcert.laws.affine import CarriedNoise
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.rules import LinearRule
from fuzz.balls import EXACT, above, accurate, balls, below, dot, precision, tail
from fuzz.dependent import _law, _seen
from fuzz.hostile import between, choice
from fuzz.rescaled import rescaled
from fuzz.verdicts import Verdict


def pieces(generator: torch.Generator) -> Iterator[Verdict]:
    """Deviations along directions, and covariances with the noise at a point."""
    m, k = choice(generator, 1, 2, 3), choice(generator, 1, 2, 3)
    unit = 10 ** choice(generator, 0.0, between(generator, -60, 60))
    size = 10 ** choice(generator, 0.0, between(generator, -200, 50))
    network = mlp(k, m)
    if choice(generator, True, False):
        law = _law(generator, m * k + m, unit)
    else:
        loc = unit * normal(generator, m * k + m)
        law = rescaled(generator, structured(generator, network, "kronecker", loc, unit))
    rows, h = size * normal(generator, 1, 1, m), size * normal(generator, 1, k)
    directions = 10 ** choice(generator, 0.0, between(generator, -100, 60)) * normal(generator, 1, k, 4)
    directions[..., 1:] = directions[..., :-1] * (1 + 10 ** between(generator, -16, 0))
    noise = law.layers(network)[0].noise(rows)
    assert isinstance(noise, CarriedNoise)
    along, (covariances, errors) = noise.along(directions)[0, 0], noise.covariances(h)
    at, at_least, weights = noise.at(h).item(), noise.at_least(h).item(), noise.weight[0, 0].tolist()
    with precision(EXACT):
        B = balls(rows[0, 0])

        def seen(x: Tensor, biases: bool) -> list[arb]:
            """The normals behind B·(W̃ x + b̃), or behind B W̃ x."""
            every, constant = _seen(law, B, balls(x)), _seen(law, B, balls(torch.zeros_like(x)))
            return every if biases else [a - b for a, b in zip(every, constant, strict=True)]

        for place, found in enumerate(along.tolist()):
            own = seen(directions[0, :, place], biases=False)
            yield Verdict(above(found, dot(own, own).sqrt()), True, f"deviation {found} along {place}")
        whole = seen(h[0], biases=True)
        deviation = dot(whole, whole).sqrt()
        for found, sound in ((at, above(at, deviation)), (at_least, below(at_least, deviation))):
            yield Verdict(sound, True, f"deviation {found}, not {deviation}")
        pairs = zip(covariances[0, 0].tolist(), errors[0, 0].tolist(), strict=True)
        for own, weight, (found, error) in zip(torch.eye(k).double(), weights, pairs, strict=True):
            single = seen(own, biases=False)
            exact, more = dot(single, whole), arb(0)
            yield Verdict(above(weight, dot(single, single).sqrt()), True, f"deviation {weight} of a weight")
            if not isinstance(law, DenseGaussian):  # blocks speak of the law that their bounds are exact for
                more = (_excess(weight, single) * _excess(at, whole)).sqrt()
            says = isfinite(found) and isfinite(error)
            sound = not says or bool(abs(exact - arb(found)) <= arb(error) + more)
            yield Verdict(sound, says, f"covariance {found} ± {error}, not {exact}")


def _excess(deviation: float, normals: Sequence[arb]) -> arb:
    """How much variance a bound has more: by Cauchy and Schwarz excesses bound that of a covariance."""
    return (arb(deviation) ** 2 - dot(normals, normals)).abs_upper()


def one_normal(generator: torch.Generator) -> Iterator[Verdict]:
    """One normal behind the last layer: at finitely many inputs the safe models are an interval of it."""
    hidden = [choice(generator, 1, 2, 4) for _ in range(choice(generator, 0, 1, 1, 2))]
    network = mlp(choice(generator, 1, 2), *hidden, choice(generator, 1, 2))
    unit = 10 ** choice(generator, 0.0, between(generator, -20, 20))
    loc = 2 * network.initialise(generator).double()
    factor = torch.zeros(len(loc), 1, dtype=torch.float64)
    last = network.layers[-1].shapes
    start = len(loc) - sum(torch.Size(shape).numel() for shape in last)
    factor[start:, 0] = unit * normal(generator, len(loc) - start)
    loc[start:] = loc[start:] * unit
    law = DenseGaussian(loc, factor)
    x, radius = normal(generator, 1, network.inputs), choice(generator, 0.0, 0.01, 0.1, 0.5)
    C = normal(generator, 1, choice(generator, 1, 2), network.outputs)
    margins = torch.einsum("prk,spk->spr", C, network(law.sample(64, generator), x))
    d = choice(generator, 0.5, 2.0, 4.0) * margins.std(0) - margins.mean(0)
    region = Box.around(x, radius)
    found = ProjectedFamily().prove(
        Problem(network, Properties(region, C, d), (law,), LinearRule.fedavg([1])), "direct"
    )
    points = region.lower + (region.upper - region.lower) * uniform(generator, 24, network.inputs).round(
        decimals=choice(generator, 0, 1)
    )
    points = torch.minimum(torch.maximum(points, region.lower), region.upper)
    low, high = found.lower.item(), found.upper.item() if found.upper is not None else 1.0
    truth = accurate(lambda: _safe_at(network, law, points, C[0], d[0]))
    yield Verdict(not truth < arb(low), low > 0 or high < 1, f"{low}, but {truth} at {len(points)} inputs")


def together(generator: torch.Generator) -> Iterator[Verdict]:
    """Half-spaces of one output layer at a point: all hold with a probability that one integral gives.

    The constraints are g_r + c_r T + ρ_r Z_r ≥ 0 with independent normals; c may have any signs.
    """
    count = choice(generator, 2, 2, 3, 5)
    unit = 10 ** choice(generator, 0.0, between(generator, -60, 60))
    shared = normal(generator, count) if choice(generator, True, False) else uniform(generator, count)
    own = uniform(generator, count) * choice(generator, 0.0, 1e-9, 1.0)
    factor = unit * torch.cat([torch.zeros(count, count + 1).double(), _columns(shared, own)])
    g = unit * (normal(generator, count) + choice(generator, 0.0, 1.0, 2.0))
    loc = torch.cat([torch.zeros(count).double(), g])
    C, d = torch.eye(count).double()[None], torch.zeros(1, count).double()
    properties = Properties(Box.point(torch.zeros(1, 1).double()), C, d)
    problem = Problem(mlp(1, count), properties, (DenseGaussian(loc, factor),), LinearRule.fedavg([1]))
    found = ProjectedFamily().prove(problem, "direct")
    low = found.lower.item()
    with precision(128):
        truth = _all_hold(balls(loc[count:]), balls(factor[count:]))
    yield Verdict(not truth < arb(low), low > 0, f"{low}, but {truth}")


def _columns(shared: Tensor, own: Tensor) -> Tensor:
    return torch.cat([shared.unsqueeze(-1), torch.diag(own)], dim=1)


def _all_hold(g: Sequence[arb], factor: Sequence[Sequence[arb]]) -> arb:
    """∫ φ(t) Π_r Φ((g_r + c_r t) / ρ_r) dt; signs alone where ρ is 0."""
    least, most, smooth = arb("-inf"), arb("inf"), []
    for place, (mean, row) in enumerate(zip(g, factor, strict=True)):
        c, rho = row[0], row[1 + place]
        if rho != 0:
            smooth.append((mean, c, rho))
        elif c == 0 and mean < 0:
            return arb(0)
        elif c > 0:
            least = _larger(least, -mean / c)
        elif c < 0:
            most = _smaller(most, -mean / c)
    if least > most:
        return arb(0)
    start, end = _larger(arb(-9), least), _smaller(arb(9), most)
    if start > end:
        return arb(0, "1e-18")

    def density(t: acb, _: bool) -> acb:
        value = (-t * t / 2).exp() / (2 * arb.pi()).sqrt()
        for mean, c, rho in smooth:
            value = value * (-(mean + c * t) / rho / arb(2).sqrt()).erfc() / 2
        return value

    inside = acb.integral(density, acb(start), acb(end), rel_tol=arb("1e-15"), abs_tol=arb("1e-15")).real
    return inside + arb(0, "1e-18")  # beyond nine deviations


def _safe_at(network: Network, law: DenseGaussian, points: Tensor, C: Tensor, d: Tensor) -> arb:
    """Pr(C f(x) + d ≥ 0 at all of these points), each constraint linear in the one normal."""
    least, most = arb("-inf"), arb("inf")
    for x in points:
        mean, noise = _at(network, balls(law.loc), balls(x)), _at_noise(network, law, balls(x))
        for row, offset in zip(C, d.tolist(), strict=True):
            value, slope = dot(balls(row), mean) + arb(offset), dot(balls(row), noise)
            if slope == 0:
                if value < 0:
                    return arb(0)
                continue
            end = -value / slope
            least, most = (_larger(least, end), most) if slope > 0 else (least, _smaller(most, end))
    if least > most:
        return arb(0)
    lower = arb(0) if most == arb("inf") else tail(most)
    return (arb(1) if least == arb("-inf") else tail(least)) - lower


def _larger(a: arb, b: arb) -> arb:
    return b if a < b else a


def _smaller(a: arb, b: arb) -> arb:
    return b if b < a else a


def _features(network: Network, theta: Sequence[arb], x: Sequence[arb]) -> tuple[list[arb], int]:
    """What the last layer reads, and where its parameters begin."""
    start, h = 0, list(x)
    for layer in network.layers[:-1]:
        if not layer.shapes:
            h = [v if v > 0 else arb(0) for v in h]
            continue
        m, k = layer.shapes[0]
        W, b = theta[start : start + m * k], theta[start + m * k : start + m * k + m]
        h = [dot(W[i * k : i * k + k], h) + b[i] for i in range(m)]
        start += m * k + m
    return h, start


def _at(network: Network, theta: Sequence[arb], x: Sequence[arb]) -> list[arb]:
    """f_θ(x)."""
    h, start = _features(network, theta, x)
    m, k = network.layers[-1].shapes[0]
    own = theta[start:]
    return [dot(own[i * k : i * k + k], h) + own[m * k + i] for i in range(m)]


def _at_noise(network: Network, law: DenseGaussian, x: Sequence[arb]) -> list[arb]:
    """What the one normal adds to f_θ(x), of a law about the last layer alone."""
    h, start = _features(network, balls(law.loc), x)
    m, k = network.layers[-1].shapes[0]
    own = balls(law.factor[start:, 0])
    return [dot(own[i * k : i * k + k], h) + own[m * k + i] for i in range(m)]
