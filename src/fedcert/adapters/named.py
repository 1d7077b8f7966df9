"""From named means and deviations of a module to a posterior: what all readers end with."""

from collections.abc import Mapping

from torch import Tensor, nn

from fedcert.adapters.posterior import Posterior
from fedcert.laws import DiagonalGaussian
from fedcert.model.torch_module.read import read_module
from fedcert.model.torch_module.trace import Chain


def named_posterior(
    module: nn.Module, means: Mapping[str, Tensor], deviations: Mapping[str, Tensor], chain: Chain | None
) -> Posterior:
    """The posterior of a module's parameters, independent and normal.

    Args:
        module: the module.
        means: by name; every parameter and running statistic that the module's forward uses.
        deviations: by name; a missing one is 0.
        chain: the steps of the module's forward, as for `from_torch`.
    """
    reading = read_module(module, chain=chain)
    return Posterior(reading.network, DiagonalGaussian(*reading.vectors(means, deviations)))


def fixed_values(module: nn.Module) -> dict[str, Tensor]:
    """A module's parameters and buffers by name: the means of all that a posterior says nothing of.

    Args:
        module: the module.
    """
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}
