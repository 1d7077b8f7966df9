"""Networks with convolutions under a law: against exact arithmetic and draws, and on to the checker."""

from collections.abc import Iterator

import torch
from convolved_problems import FEATURES, HEADS, NETWORKS, make_convolved
from exact_images import exact_conv2d
from flint import arb
from problems import normal, uniform
from torch import Tensor

from fedcert.certificate import clopper_pearson
from fedcert.families.cells import Cells
from fedcert.families.problem import Problem
from fedcert.families.projected.family import ProjectedFamily
from fedcert.laws import DiagonalGaussian
from fedcert.model.layers import Conv2d
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.rules import LinearRule
from fedcert.wire.message import Message
from fuzz.balls import EXACT, above, accurate, balls, dot, precision, tail
from fuzz.checked import _judged
from fuzz.hostile import between, choice
from fuzz.images import CONVOLUTIONS
from fuzz.verdicts import Verdict

SURE, DRAWS = 1 - 1e-9, 300


def pieces(generator: torch.Generator) -> Iterator[Verdict]:
    """Deviations of a convolution's noise: at a point, of single pixels, and over boxes of inputs."""
    conv = choice(generator, *CONVOLUTIONS)
    size = 10 ** choice(generator, 0.0, between(generator, -150, 60))
    law = _law(generator, Network((conv,)))
    (layer,) = law.layers(Network((conv,)))
    rows, h = size * normal(generator, 1, 1, layer.outputs), size * normal(generator, 1, layer.inputs)
    if choice(generator, True, False):
        rows[..., 1:] = -rows[..., :-1] * (1 + 10 ** between(generator, -16, 0))
    noise, delta = layer.noise(rows), h.abs()
    at, bias, steepest = (own.item() for own in (noise.at(h), noise.bias, noise.steepest(delta)))
    within = noise.within(torch.zeros_like(delta), delta).item()
    value, error = layer.product(rows[0])
    units = Network((conv,)).unflatten(torch.eye(law.dimension, dtype=torch.float64))[0]
    with precision(EXACT):
        B, spread = balls(rows[0, 0]), balls(law.scale)
        parts = list(zip(*map(balls, units), strict=True))
        means = [balls(own) for own in Network((conv,)).unflatten(law.loc)[0]]
        nothing = [[arb(0)] * len(means[1])]

        def deviation(x: Tensor, constant: bool = True) -> arb:
            """√Σ_θ σ_θ² (B·∂y/∂θ)², with or without the biases."""
            moved = []
            for (W, b), s in zip(parts, spread, strict=True):
                if constant or not any(v != 0 for v in b):
                    moved.append(s * dot(B, exact_conv2d(conv)([W, b], balls(x))))
            return dot(moved, moved).sqrt()

        yield Verdict(above(at, deviation(h[0])), True, f"{conv}: deviation {at}")
        yield Verdict(above(bias, deviation(0 * h[0])), True, f"{conv}: deviation {bias} of biases")
        for j, found in enumerate(noise.weight[0, 0].tolist()):
            pixel = torch.eye(layer.inputs, dtype=torch.float64)[j]
            yield Verdict(above(found, deviation(pixel, False)), True, f"{conv}: deviation {found} of {j}")
            column = dot(B, exact_conv2d(conv)([means[0], nothing[0]], balls(pixel)))
            near = abs(column - arb(value[0, j].item())) <= arb(error[0, j].item())
            yield Verdict(bool(near), True, f"{conv}: product {value[0, j]} of {j}")
        for _ in range(4):
            corner = delta[0] * normal(generator, layer.inputs).sign()
            yield Verdict(above(steepest, deviation(corner, False)), True, f"{conv}: steepest {steepest}")
            inside = delta[0] * uniform(generator, layer.inputs).round()
            yield Verdict(above(within, deviation(inside)), True, f"{conv}: within {within}")


def half_spaces(generator: torch.Generator) -> Iterator[Verdict]:
    """One convolution and one constraint at a point: probabilities in closed form, from either side."""
    conv = choice(generator, *CONVOLUTIONS)
    network, clients = Network((conv,)), choice(generator, 1, 2)
    laws = [_law(generator, network) for _ in range(clients)]
    weights = normal(generator, clients, 1)
    rule = LinearRule(weights.sign() * weights.abs().clamp(min=0.05))
    x, C = normal(generator, 1, network.inputs), normal(generator, 1, 1, network.outputs)
    c = torch.stack([
        (C[0, 0] * network(unit, x)[0]).sum() for unit in torch.eye(network.parameters).double()
    ])
    spread = torch.stack([(w * law.scale * c).norm() for w, law in zip(weights, laws, strict=True)]).norm()
    mean = c @ rule([law.loc for law in laws])
    d = (choice(generator, 1.0, 3.0, 7.0) * normal(generator, 1)[0] * spread - mean).view(1, 1)
    found = ProjectedFamily().prove(
        Problem(network, Properties(Box.point(x), C, d), tuple(laws), rule),
        kind := choice(generator, "direct", "transported"),
    )
    truth = accurate(lambda: _half_space(conv, laws, rule, (C[0, 0], x[0], d.item())))
    low, high = found.lower.item(), 1.0 if found.upper is None else found.upper.item()
    sound = not (truth < arb(low) or truth > arb(high))
    yield Verdict(bool(sound), low > 0 or high < 1, f"{kind}: [{low}, {high}], but {truth}")


def _half_space(
    conv: Conv2d, laws: list[DiagonalGaussian], rule: LinearRule, asked: tuple[Tensor, Tensor, float]
) -> arb:
    C, x, d = asked
    units = Network((conv,)).unflatten(torch.eye(laws[0].dimension).double())[0]
    own = [
        dot(balls(C), exact_conv2d(conv)([W, b], balls(x))) for W, b in zip(*map(balls, units), strict=True)
    ]
    mean, variance = arb(d), arb(0)
    for w, law in zip(rule.weights[:, 0].tolist(), laws, strict=True):
        mean = mean + arb(w) * dot(own, balls(law.loc))
        parts = [arb(w) * c * s for c, s in zip(own, balls(law.scale), strict=True)]
        variance = variance + dot(parts, parts)
    if variance == 0:
        return arb(1 if mean >= 0 else 0)
    return tail(-mean / variance.sqrt())


def _law(generator: torch.Generator, network: Network) -> DiagonalGaussian:
    """In any unit; sometimes some parameters are fixed."""
    unit, count = 10 ** choice(generator, 0.0, between(generator, -80, 80)), network.parameters
    scale = unit * (0.01 + uniform(generator, count))
    if choice(generator, True, False, False):
        scale[uniform(generator, count) < 0.3] = 0.0
    return DiagonalGaussian(unit * normal(generator, count), scale)


def drawn(generator: torch.Generator) -> Iterator[Verdict]:
    """Bounds at a point against what drawn networks do."""
    made = _made(generator, 0.0)
    found = ProjectedFamily().prove(made, "direct")
    thetas = made.rule.pushforward(made.laws).sample(DRAWS, generator)
    outputs = made.network(thetas, made.properties.regions.lower)
    margins = torch.einsum("prk,spk->spr", made.properties.C, outputs) + made.properties.d
    low, high = clopper_pearson(int((margins >= 0).all(-1).sum()), DRAWS, SURE)
    assert found.upper is not None
    bounds = found.lower.item(), found.upper.item()
    sound = bounds[0] <= high and low <= bounds[1]
    yield Verdict(sound, bounds != (0.0, 1.0), f"{made.network}: {bounds}, drawn [{low}, {high}]")


def checked(generator: torch.Generator) -> Iterator[Verdict]:
    """Certificates of every kind, which the checker must prove."""
    made = _made(generator, choice(generator, 0.0, 1e-6, 1e-3, 0.05))
    messages = [Message(f"client-{i}", law, Cells.none(law.dimension), 1) for i, law in enumerate(made.laws)]
    certificate = ProjectedFamily().prove(made, choice(generator, "local", "direct", "direct", "transported"))
    yield from _judged(certificate, made.network, made.properties, made.rule, messages)


def _made(generator: torch.Generator, radius: float) -> Problem:
    seed, scale = int(torch.randint(2**31, (1,), generator=generator)), 10 ** between(generator, -3.0, -0.5)
    sigmas, name = choice(generator, 1.5, 3.0, 6.0, 20.0, -6.0), choice(generator, *NETWORKS, *FEATURES)
    return make_convolved(
        name, seed, scale, radius, sigmas, choice(generator, 1, 2, 3), choice(generator, *HEADS)
    )
