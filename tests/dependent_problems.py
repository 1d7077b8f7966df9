"""Random federations whose parameters depend on each other: all, layer by layer, or the last layer's."""

from dataclasses import replace
from typing import Literal

import torch
from federated_problems import Federated, make_federated
from problems import normal, uniform
from torch import Tensor

from fedcert.laws import BlockGaussian, DenseBlock, DenseGaussian, DiagonalBlock, KroneckerBlock
from fedcert.laws.block_protocol import Block
from fedcert.model.network import Network

Structure = Literal["joined", "layers", "last", "kronecker", "head", "mixed"]
STRUCTURES: tuple[Structure, ...] = ("joined", "layers", "last", "kronecker", "head", "mixed")
"""By a factor: all parameters, layer by layer, the last layer's. By blocks: Kronecker ones, one for the last
layer, diagonal ones and a Kronecker one for the last layer."""


def factor(generator: torch.Generator, network: Network, structure: Structure) -> Tensor:
    """A factor whose rows have a norm of about one; half of the noise is shared by many parameters."""
    sizes = [
        sum(t.numel() for t in layer)
        for layer in network.unflatten(torch.zeros(network.parameters).double())
        if layer
    ]
    groups = [sum(sizes)] if structure == "joined" else sizes
    parts = [torch.cat([torch.eye(n).double(), normal(generator, n, 2)], dim=1) / 3**0.5 for n in groups]
    if structure == "last":
        parts[:-1] = [torch.zeros_like(part) for part in parts[:-1]]
    return torch.block_diag(*parts)


def blocks(generator: torch.Generator, network: Network, structure: Structure) -> tuple[Block, ...]:
    """Blocks with deviations of about one, of factors that are not quite orthogonal."""
    found: list[Block] = []
    start = 0
    layers = [own for own in network.unflatten(torch.zeros(network.parameters).double()) if own]
    for place, (weight, bias) in enumerate(layers):
        m, k = weight.shape
        if structure == "kronecker" or place == len(layers) - 1:
            U, V = (
                torch.linalg.qr(normal(generator, n, n)).Q + 0.01 * normal(generator, n, n) for n in (m, k)
            )
            found.append(KroneckerBlock(start, U, V, 0.3 + uniform(generator, m, k)))
            found.append(DenseBlock(start + m * k, normal(generator, m, m) / m**0.5))
        elif structure == "mixed":
            found.append(DiagonalBlock(start, 0.3 + uniform(generator, m * k + m)))
        start += weight.numel() + bias.numel()
    return tuple(found)


def law(
    generator: torch.Generator, network: Network, structure: Structure, loc: Tensor, scale: float
) -> DenseGaussian | BlockGaussian:
    """A law of this structure, of deviations of about `scale`."""
    if structure in ("joined", "layers", "last"):
        return DenseGaussian(loc, scale * factor(generator, network, structure))
    weight = torch.tensor(scale, dtype=torch.float64)
    return BlockGaussian(loc, tuple(own.times(weight) for own in blocks(generator, network, structure)))


def make_dependent(
    seed: int,
    widths: tuple[int, ...],
    scale: float,
    structure: Structure,
    radius: float = 0.0,
    clients: int = 2,
    constraints: int = 1,
    linear: bool = False,
) -> Federated:
    """A federation of laws of one structure; the arguments are those of `make_federated`."""
    made = make_federated(seed, widths, scale, radius, clients, constraints, linear=linear)
    own = scale * clients**0.5
    laws = [law(made.generator, made.network, structure, each.loc, own) for each in made.laws]
    return replace(made, laws=laws)
