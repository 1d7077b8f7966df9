"""Convolutions whose kernels have dependent parameters: against exact arithmetic, and on to the checker."""

from collections.abc import Iterator, Sequence
from math import prod

import torch
from convolved_problems import DEPENDENT, NETWORKS, Kernels, dependent_law, make_convolved
from exact_images import exact_conv2d
from flint import arb
from problems import normal
from torch import Tensor

from fedcert.families.cells import Cells
from fedcert.families.problem import Problem
from fedcert.families.projected.family import ProjectedFamily
from fedcert.laws import BlockGaussian, DenseGaussian
from fedcert.laws.blocks import KroneckerBlock
from fedcert.model.layers import AvgPool2d, Conv2d
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.rules import LinearRule
from fedcert.wire.message import Message
from fuzz.balls import EXACT, above, accurate, balls, dot, precision, tail
from fuzz.checked import _judged
from fuzz.hostile import between, choice
from fuzz.images import CONVOLUTIONS
from fuzz.rescaled import rescaled
from fuzz.verdicts import Verdict

UNPOOLED = [
    name for name, own in NETWORKS.items() if not any(isinstance(layer, AvgPool2d) for layer in own.layers)
]
"""Networks whose layers one law may join."""
Law = BlockGaussian | DenseGaussian


def pieces(generator: torch.Generator) -> Iterator[Verdict]:
    """Deviations of the noise: at a point, of single pixels, of biases, and over boxes of inputs."""
    conv = choice(generator, *CONVOLUTIONS)
    size = 10 ** choice(generator, 0.0, between(generator, -150, 60))
    law = _law(generator, Network((conv,)), 10 ** choice(generator, 0.0, between(generator, -40, 40)))
    (layer,) = law.layers(Network((conv,)))
    rows, h = size * normal(generator, 1, 1, layer.outputs), size * normal(generator, 1, layer.inputs)
    if choice(generator, True, False):
        rows[..., 1:] = -rows[..., :-1] * (1 + 10 ** between(generator, -16, 0))
    if choice(generator, True, False):
        h[..., 1:] = -h[..., :-1] * (1 + 10 ** between(generator, -16, 0))
    noise, delta = layer.noise(rows), h.abs()
    at, bias, steepest = (own.item() for own in (noise.at(h), noise.bias, noise.steepest(delta)))
    within = noise.within(torch.zeros_like(delta), delta).item()
    with precision(EXACT):
        B, columns = balls(rows[0, 0]), _columns(law)

        def deviation(x: Tensor, constant: bool = True) -> arb:
            """Of B·(W̃ x + b̃), with or without the biases."""
            seen = _seen(conv, columns, B, balls(x), constant)
            return dot(seen, seen).sqrt()

        yield Verdict(above(at, deviation(h[0])), True, f"{conv}: deviation {at}")
        yield Verdict(above(bias, deviation(0 * h[0])), True, f"{conv}: deviation {bias} of biases")
        for j, found in enumerate(noise.weight[0, 0].tolist()):
            pixel = torch.eye(layer.inputs, dtype=torch.float64)[j]
            yield Verdict(above(found, deviation(pixel, False)), True, f"{conv}: deviation {found} of {j}")
        for _ in range(4):
            corner = delta[0] * normal(generator, layer.inputs).sign()
            yield Verdict(above(steepest, deviation(corner, False)), True, f"{conv}: steepest {steepest}")
            inside = delta[0] * choice(generator, 0.0, 1.0, between(generator, 0.0, 1.0))
            yield Verdict(above(within, deviation(inside)), True, f"{conv}: within {within}")


def half_spaces(generator: torch.Generator) -> Iterator[Verdict]:
    """One convolution and one constraint at a point: probabilities in closed form, from either side."""
    conv = choice(generator, *CONVOLUTIONS)
    network, unit = Network((conv,)), 10 ** choice(generator, 0.0, between(generator, -20, 20))
    laws = [_law(generator, network, unit) for _ in range(choice(generator, 1, 2))]
    weights = normal(generator, len(laws), 1)
    rule = LinearRule(weights.sign() * weights.abs().clamp(min=0.05))
    x, C = normal(generator, 1, network.inputs), normal(generator, 1, 1, network.outputs)
    margin = torch.einsum("k,spk->s", C[0, 0], network(rule.pushforward(laws).sample(64, generator), x))
    d = choice(generator, 1.0, 3.0, 7.0) * normal(generator, 1)[0] * margin.std() - margin.mean()
    found = ProjectedFamily().prove(
        Problem(network, Properties(Box.point(x), C, d.view(1, 1)), tuple(laws), rule),
        kind := choice(generator, "direct", "transported"),
    )
    truth = accurate(lambda: _half_space(conv, laws, rule, (C[0, 0], x[0], d.item())))
    low, high = found.lower.item(), 1.0 if found.upper is None else found.upper.item()
    sound = not (truth < arb(low) or truth > arb(high))
    yield Verdict(bool(sound), low > 0 or high < 1, f"{kind}: [{low}, {high}], but {truth}")


def checked(generator: torch.Generator) -> Iterator[Verdict]:
    """Certificates of every kind, which the checker must prove."""
    kernels = choice(generator, *DEPENDENT)
    made = make_convolved(
        choice(generator, *(UNPOOLED if kernels == "joined" else NETWORKS)),
        int(torch.randint(2**31, (1,), generator=generator)),
        10 ** between(generator, -3.0, -0.5),
        choice(generator, 0.0, 1e-6, 1e-3, 0.05),
        choice(generator, 1.5, 3.0, 6.0, 20.0, -6.0),
        choice(generator, 1, 2, 3),
        kernels=kernels,
    )
    messages = [Message(f"client-{i}", law, Cells.none(law.dimension), 1) for i, law in enumerate(made.laws)]
    certificate = ProjectedFamily().prove(made, choice(generator, "local", "direct", "direct", "transported"))
    yield from _judged(certificate, made.network, made.properties, made.rule, messages)


def _law(generator: torch.Generator, network: Network, unit: float) -> Law:
    kernels: Kernels = choice(generator, *DEPENDENT)
    law = dependent_law(generator, network, kernels, unit * normal(generator, network.parameters), unit)
    assert isinstance(law, Law)
    return rescaled(generator, law)


def _columns(law: Law) -> list[list[arb]]:
    """What each of the normals behind a law is multiplied by, for all parameters."""
    if isinstance(law, DenseGaussian):
        return balls(law.factor.mT)
    found = []
    for own in law.blocks:
        before, after = [arb(0)] * own.start, [arb(0)] * (law.dimension - own.start - own.size)
        if isinstance(own, KroneckerBlock):
            U, V, D = balls(own.left), balls(own.right), balls(own.scale)
            parts = [
                [left[a] * D[a][b] * right[b] for left in U for right in V]
                for a in range(len(U))
                for b in range(len(V))
            ]
        else:
            parts = balls(own.factor.mT)
        found += [[*before, *part, *after] for part in parts]
    return found


def _seen(
    conv: Conv2d, columns: Sequence[list[arb]], B: list[arb], x: list[arb], constant: bool = True
) -> list[arb]:
    """What B·(W x + b) sees of each column."""
    shape, found = conv.shapes[0], []
    for column in columns:
        weights = prod(shape)
        bias = column[weights:] if constant else [arb(0)] * (len(column) - weights)
        found.append(dot(B, exact_conv2d(conv)([_nested(column[:weights], shape), bias], x)))
    return found


def _nested(flat: list[arb], shape: Sequence[int]) -> list:
    if len(shape) == 1:
        return flat
    step = len(flat) // shape[0]
    return [_nested(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def _half_space(
    conv: Conv2d, laws: Sequence[Law], rule: LinearRule, asked: tuple[Tensor, Tensor, float]
) -> arb:
    C, x, d = balls(asked[0]), balls(asked[1]), asked[2]
    mean, variance = arb(d), arb(0)
    for w, law in zip(rule.weights[:, 0].tolist(), laws, strict=True):
        mean = mean + arb(w) * _seen(conv, [balls(law.loc)], C, x)[0]
        seen = [arb(w) * own for own in _seen(conv, _columns(law), C, x)]
        variance = variance + dot(seen, seen)
    return tail(-mean / variance.sqrt())
