"""Random federations of networks with convolutions, and properties near what their models do."""

from typing import Literal

import torch
from problems import normal, uniform

from fedcert.families.problem import Problem
from fedcert.laws import BlockGaussian, DenseBlock, DenseGaussian, DiagonalGaussian, KroneckerBlock
from fedcert.laws.block_protocol import Block
from fedcert.laws.protocol import GaussianLaw
from fedcert.model.layers import AvgPool2d, Conv2d, LeakyReLU, Linear, MaxPool2d, ReLU, Sigmoid, Tanh
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import LinearRule

NETWORKS = {
    "one": Network((Conv2d((1, 3, 3), 2, (2, 2)), ReLU(), Linear(8, 2))),
    "two": Network((
        Conv2d((1, 4, 3), 2, (2, 2), (2, 1), (1, 0)), ReLU(), Conv2d((2, 3, 2), 2, (2, 2), groups=2), ReLU(),
        Linear(4, 2),
    )),
    "wide": Network((
        Conv2d((1, 6, 6), 2, (3, 3), (2, 2), (1, 1)), ReLU(),
        Conv2d((2, 3, 3), 2, (2, 2), (1, 1), (1, 0), (2, 1)), ReLU(), Linear(12, 2),
    )),
    "last": Network((Linear(3, 4), ReLU(), Conv2d((1, 2, 2), 2, (2, 2)))),
    "alone": Network((Conv2d((2, 2, 2), 2, (2, 2)),)),
    "pooled": Network((
        Conv2d((1, 5, 5), 2, (2, 2)), ReLU(), AvgPool2d((2, 4, 4), (2, 2), (2, 2)), Linear(8, 2)
    )),
    "averaged": Network((
        Conv2d((1, 4, 4), 2, (2, 2)), AvgPool2d((2, 3, 3), (2, 2), (1, 1), (1, 1)), ReLU(), Linear(32, 3),
        Linear(3, 2),
    )),
}  # fmt: skip
"""All parameters may be random."""
FEATURES = {
    "convolved": Network((
        Conv2d((1, 4, 4), 2, (2, 2)), ReLU(), AvgPool2d((2, 3, 3), (2, 2), (1, 1)),
        Conv2d((2, 2, 2), 3, (2, 2)), ReLU(), Linear(3, 2),
    )),
    "maxima": Network((
        Conv2d((1, 4, 4), 2, (2, 2), (1, 1), (1, 1)), ReLU(), MaxPool2d((2, 5, 5), (2, 2), (2, 2)),
        Linear(8, 2),
    )),
    "tanh": Network((
        Conv2d((1, 3, 3), 2, (2, 2)), Tanh(), AvgPool2d((2, 2, 2), (2, 2), (1, 1)), Linear(2, 2)
    )),
    "sigmoid": Network((Linear(3, 3), Sigmoid(), Linear(3, 4), ReLU(), Linear(4, 2))),
    "leaky": Network((Linear(3, 3), LeakyReLU(0.25), Linear(3, 2))),
}  # fmt: skip
"""All parameters but those of the last layer are fixed."""
GEOMETRIES = {
    "kernel": Network((Conv2d((1, 4, 4), 2, (1, 2)), ReLU(), Linear(24, 2))),
    "stride": Network((Conv2d((1, 4, 4), 2, (2, 2), stride=(1, 2)), ReLU(), Linear(12, 2))),
    "padding": Network((Conv2d((1, 4, 4), 2, (2, 2), padding=(1, 0)), ReLU(), Linear(30, 2))),
    "dilation": Network((Conv2d((1, 4, 4), 2, (2, 2), dilation=(1, 2)), ReLU(), Linear(12, 2))),
}
"""Turned by a right angle, the named field has as many neurons and parameters."""
Kernels = Literal["diagonal", "kronecker", "dense", "joined"]
DEPENDENT: tuple[Kernels, ...] = ("kronecker", "dense", "joined")
"""Laws of all layers: by blocks for each layer, or one factor of all parameters."""
Head = Literal["diagonal", "dense", "kronecker"]
HEADS: tuple[Head, ...] = ("diagonal", "dense", "kronecker")


def head_law(
    generator: torch.Generator, network: Network, head: Head, loc: torch.Tensor, scale: float
) -> GaussianLaw:
    """A law of the last layer alone."""
    m, k = network.layers[-1].shapes[0]
    size = m * k + m
    start = network.parameters - size
    if head == "diagonal":
        scales = torch.zeros_like(loc)
        scales[start:] = scale * (0.5 + uniform(generator, size))
        return DiagonalGaussian(loc, scales)
    if head == "dense":
        return BlockGaussian(loc, (DenseBlock(start, scale * normal(generator, size, size) / size**0.5),))
    U, V = (torch.linalg.qr(normal(generator, n, n)).Q for n in (m, k))
    block = KroneckerBlock(start, U, V, scale * (0.5 + uniform(generator, m, k)))
    return BlockGaussian(loc, (block,))


def dependent_law(
    generator: torch.Generator, network: Network, kernels: Kernels, loc: torch.Tensor, scale: float
) -> GaussianLaw:
    """A law whose parameters depend on each other, within each layer or all of them."""
    if kernels == "joined":
        return DenseGaussian(loc, scale * normal(generator, len(loc), 6) / 6**0.5)
    blocks: list[Block] = []
    start = 0
    for weight, bias in (own for own in network.unflatten(loc) if own):
        weights, filters = weight.numel(), bias.numel()
        if kernels == "dense":
            size = weights + filters
            blocks.append(DenseBlock(start, scale * normal(generator, size, 5) / 5**0.5))
        else:
            U, V = (
                torch.linalg.qr(normal(generator, n, n)).Q + 0.01 * normal(generator, n, n)
                for n in (filters, weights // filters)
            )
            D = scale * (0.3 + uniform(generator, filters, weights // filters))
            blocks.append(KroneckerBlock(start, U, V, D))
            factor = scale * normal(generator, filters, filters) / filters**0.5
            blocks.append(DenseBlock(start + weights, factor))
        start += weights + filters
    return BlockGaussian(loc, tuple(blocks))


def make_convolved(
    name: str,
    seed: int,
    scale: float,
    radius: float = 0.0,
    sigmas: float = 3.0,
    clients: int = 2,
    head: Head = "diagonal",
    kernels: Kernels = "diagonal",
) -> Problem:
    """A federation, and a property that holds by some deviations of the sampled margins."""
    network, generator = {**NETWORKS, **FEATURES, **GEOMETRIES}[name], stream(seed, "convolved", name)
    loc = 2 * network.initialise(generator).double()
    laws: list[GaussianLaw] = []
    for _ in range(clients):
        own = loc + scale * normal(generator, len(loc))
        spread = scale * clients**0.5
        if name in FEATURES:
            laws.append(head_law(generator, network, head, own, spread))
        elif kernels != "diagonal":
            laws.append(dependent_law(generator, network, kernels, own, spread))
        else:
            laws.append(DiagonalGaussian(own, spread * (0.5 + uniform(generator, len(loc)))))
    rule = LinearRule.fedavg([1] * clients)
    x, C = normal(generator, 1, network.inputs), normal(generator, 1, 2, network.outputs)
    margins = torch.einsum("prk,spk->spr", C, network(rule.pushforward(laws).sample(400, generator), x))
    d = sigmas * margins.std(0) - margins.mean(0)
    return Problem(network, Properties(Box.around(x, radius), C, d), tuple(laws), rule)
