"""Laplace's approximation with weights that depend on each other, by laplace-torch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor, nn
from torch.nn.utils import skip_init
from torch.utils.data import DataLoader, TensorDataset

from fedcert.adapters.laplace import from_laplace
from fedcert.adapters.library import LAPLACE
from fedcert.errors import InvalidLaw, UnsupportedLayer
from fedcert.laws import BlockGaussian, DenseGaussian
from fedcert.laws.block_protocol import Block
from fedcert.laws.blocks import DenseBlock, KroneckerBlock
from fedcert.laws.dense import MAX_DENSE
from fedcert.model.layers import Conv2d, Layer, Linear, ReLU
from fedcert.model.network import Network
from fedcert.progress import Tracker, silent
from fedcert.training.laplace import Laplace

DependentStructure = Literal["kron", "last-layer-kron", "last-layer-full"]
BATCH = 256
"""Examples whose curvature is computed at a time, which bounds the memory."""


@dataclass(frozen=True)
class StructuredLaplace:
    """N(θ*, (H/β + δ I)^-1) around the θ* of `Laplace`; weights that H is not about are fixed at θ*.

    H is the generalised Gauss–Newton matrix of one example: Kronecker-factored for each layer, or of the last
    layer alone, Kronecker-factored or in full. The library's likelihood of n examples at the temperature n β
    counts as that of 1/β. δ is that of `Laplace`: the marginal likelihood asks of H only its eigenvalues.

    The last layer's law is that of the model whose inputs are the features: all layers before are fixed.

    Attributes:
        laplace: finds θ*, and states β and δ.
        structure: of H.
    """

    laplace: Laplace
    structure: DependentStructure

    def __call__(
        self,
        network: Network,
        x: Float[Tensor, "n p"],
        label: Int[Tensor, "n"],
        initial: Float[Tensor, "n_w"],
        generator: torch.Generator,
        track: Tracker = silent,
    ) -> BlockGaussian:
        """Train on one client's examples from the shared initialisation.

        Args:
            network: f_θ.
            x: the client's inputs.
            label: their classes.
            initial: the initial θ, the same for all clients.
            generator: the source of randomness.
            track: shows progress.
        """
        self.untrained(network, initial.double())  # raises before hours of training
        mode = self.laplace.mode(network, x, label, initial, generator, track)
        features, start = x.double(), 0
        fixed, random = self._divided(network)
        if fixed:
            before = Network(fixed)
            start = before.parameters
            features = before(mode[:start], features)
        temperature = len(x) * self.laplace.temper(len(x))
        shape = random[0].image if isinstance(random[0], Conv2d) else features.shape[1:]
        seen = features.unflatten(-1, shape)
        fitted = _fitted(_module(random, mode[start:]), self._method, seen, label, temperature)
        fitted.prior_precision = self.laplace.precision(mode[start:], _eigenvalues(fitted) / temperature)
        return BlockGaussian(
            mode, tuple(_moved(own, start) for own in _blocks(from_laplace(fitted, shape=tuple(shape)).law))
        )

    def untrained(self, network: Network, loc: Float64[Tensor, "n_w"]) -> BlockGaussian:
        """A law of the kind that training makes; raises for a network, or where laplace-torch is missing.

        Args:
            network: f_θ.
            loc: its mean.
        """
        LAPLACE.load()
        fixed, random = self._divided(network)
        start = Network(fixed).parameters if fixed else 0
        if self._method == "full":
            count = network.parameters - start
            if count > MAX_DENSE:
                raise InvalidLaw(
                    f"{self.structure}: {count} random parameters, but {MAX_DENSE} at most: take"
                    " last-layer-kron, or a narrower layer before the last"
                )
            return BlockGaussian(loc, (DenseBlock(start, torch.eye(count, dtype=loc.dtype)),))
        blocks: list[Block] = []
        for (rows, *entries), bias in (layer.shapes for layer in random if layer.shapes):
            columns = math.prod(entries)
            left, right = (torch.eye(side, dtype=loc.dtype) for side in (rows, columns))
            blocks += [KroneckerBlock(start, left, right, loc.new_ones(rows, columns))]
            start += rows * columns
            blocks += [DenseBlock(start, torch.eye(*bias, dtype=loc.dtype))]
            start += bias[0]
        return BlockGaussian(loc, tuple(blocks))

    @property
    def _method(self) -> Literal["kron", "full"]:
        """The library's name of the structure."""
        return "full" if self.structure == "last-layer-full" else "kron"

    def _divided(self, network: Network) -> tuple[tuple[Layer, ...], tuple[Layer, ...]]:
        """The layers that are fixed, and those whose weights are random: linear ones, convolutions, ReLUs."""
        place = 0 if self.structure == "kron" else len(network.layers) - 1
        random = network.layers[place:]
        for layer in random:
            if not isinstance(layer, Linear | Conv2d | ReLU):
                raise UnsupportedLayer(
                    f"{self.structure}: there is no law for the weights of {layer}: take last-layer-kron or"
                    " last-layer-full"
                )
        return network.layers[:place], random


def _module(layers: Sequence[Layer], theta: Float64[Tensor, "n_w"]) -> nn.Sequential:
    """The layers as torch has them, with these parameters."""
    modules: list[nn.Module] = []
    for layer, own in zip(layers, Network(tuple(layers)).unflatten(theta), strict=True):
        match layer:
            case Linear():
                modules.append(nn.Flatten())
                linear = skip_init(nn.Linear, layer.inputs, layer.outputs, dtype=theta.dtype)
                modules.append(_stating(linear, own))
            case Conv2d():
                kernel = skip_init(
                    nn.Conv2d,
                    layer.image[0],
                    layer.filters,
                    layer.kernel,
                    layer.stride,
                    layer.padding,
                    layer.dilation,
                    layer.groups,
                    dtype=theta.dtype,
                )
                modules.append(_stating(kernel, own))
            case _:
                modules.append(nn.ReLU())
    return nn.Sequential(*modules)


def _stating(module: nn.Module, parameters: Sequence[Tensor]) -> nn.Module:
    """The same module with these weights and biases."""
    module.load_state_dict(dict(zip(("weight", "bias"), parameters, strict=True)))
    return module


def _fitted(
    module: nn.Module,
    method: str,
    x: Float64[Tensor, "n *shape"],
    label: Int[Tensor, "n"],
    temperature: float,
) -> Any:
    """Laplace's approximation of all weights of a module, as the library makes it."""
    found = LAPLACE.load().Laplace(module, "classification", "all", method, temperature=temperature)
    found.fit(DataLoader(TensorDataset(x, label), batch_size=BATCH, generator=torch.Generator()))
    return found


def _eigenvalues(fitted: Any) -> Float64[Tensor, "n_w"]:
    """The eigenvalues of n H, which are not negative."""
    if isinstance(fitted.H, Tensor):
        found: Tensor = torch.linalg.eigvalsh(fitted.H)
        return found.clamp(min=0.0)
    of_blocks = [torch.outer(*own).flatten() if len(own) == 2 else own[0] for own in fitted.H.eigenvalues]
    return torch.cat(of_blocks).clamp(min=0.0)


def _blocks(law: Any) -> tuple[Block, ...]:
    return (DenseBlock(0, law.factor),) if isinstance(law, DenseGaussian) else law.blocks


def _moved(own: Any, start: int) -> Block:
    """The block of a last layer among the parameters of the whole network."""
    moved: Block = replace(own, start=own.start + start)
    return moved
