"""From named means and deviations of a module to a posterior: what all readers end with."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

from fedcert.adapters.posterior import Posterior
from fedcert.laws import BlockGaussian, DenseGaussian, DiagonalGaussian
from fedcert.laws.block_protocol import Block
from fedcert.model.torch_module.read import read_module
from fedcert.model.torch_module.trace import Chain
from fedcert.wire.limits import MIN_SCALE

Shape = tuple[int, ...]


def named_posterior(
    module: nn.Module,
    means: Mapping[str, Tensor],
    deviations: Mapping[str, Tensor],
    shape: Shape | None,
    chain: Chain | None,
) -> Posterior:
    """The posterior of a module's parameters, independent and normal.

    Args:
        module: the module.
        means: by name; every parameter and running statistic that the module's forward uses.
        deviations: by name; a missing one is 0.
        shape: of one input, as for `from_torch`.
        chain: the steps of the module's forward, as for `from_torch`.
    """
    reading = read_module(module, shape, chain)
    return Posterior(reading.network, DiagonalGaussian(*reading.vectors(means, deviations)))


def dependent_posterior(
    module: nn.Module,
    means: Mapping[str, Tensor],
    factors: Mapping[str, Tensor],
    shape: Shape | None,
    chain: Chain | None,
) -> Posterior:
    """The posterior of a module's parameters μ + F z, jointly normal.

    Entries of F too small to matter, below `MIN_SCALE`, become 0: the law is the one that is then stated.

    Args:
        module: the module.
        means: by name; every parameter and running statistic that the module's forward uses.
        factors: the rows of F by name, one for each entry of the parameter; those of a missing one are 0.
        shape: of one input, as for `from_torch`.
        chain: the steps of the module's forward, as for `from_torch`.
    """
    reading = read_module(module, shape, chain)
    loc, _ = reading.vectors(means, {})
    factor = reading.factor(factors)
    return Posterior(reading.network, DenseGaussian(loc, torch.where(factor.abs() < MIN_SCALE, 0.0, factor)))


def block_posterior(
    module: nn.Module,
    means: Mapping[str, Tensor],
    blocks: Callable[[Mapping[str, int]], Sequence[Block]],
    shape: Shape | None,
    chain: Chain | None,
) -> Posterior:
    """The posterior of a module's parameters whose noise is a sum of blocks.

    Args:
        module: the module.
        means: by name; every parameter and running statistic that the module's forward uses.
        blocks: makes the blocks, given where each named parameter begins in θ.
        shape: of one input, as for `from_torch`.
        chain: the steps of the module's forward, as for `from_torch`.
    """
    reading = read_module(module, shape, chain)
    loc, _ = reading.vectors(means, {})
    return Posterior(reading.network, BlockGaussian(loc, tuple(blocks(reading.places))))


def fixed_values(module: nn.Module) -> dict[str, Tensor]:
    """A module's parameters and buffers by name: the means of all that a posterior says nothing of.

    Args:
        module: the module.
    """
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}
