"""Torch modules as networks."""

from torch import nn

from fedcert.model.network import Network
from fedcert.model.torch_module.read import read_module
from fedcert.model.torch_module.trace import Chain


def from_torch(
    module: nn.Module, shape: tuple[int, ...] | None = None, chain: Chain | None = None
) -> Network:
    """The network that a torch module computes.

    The module's forward must be a chain: nn.Linear, nn.Conv2d, pooling, activations and what `register_layer`
    adds, one after the other, in nested nn.Sequential or in a forward of one's own, which is traced. It may
    add what two chains make of the same value, as `fedcert.Residual(body, shortcut)` does: θ has the
    parameters of the chain that the module holds first, then those of the other. In eval mode Dropout and
    Identity are nothing, and a batch normalisation is folded into the linear layer or the convolution before
    it. Flatten is nothing, since values are flat vectors anyway. Without batch normalisation and with biases,
    θ is `parameters_to_vector`'s. Everything else is refused by its name.

    Args:
        module: the torch module.
        shape: of one input, without the batch: channels, height and width, which layers on images need.
        chain: the steps of the forward, where it cannot be traced: names of submodules, and modules without
            parameters, such as ["fc1", nn.ReLU(), "fc2"].

    Examples:
        >>> from fedcert.model.network import mlp
        >>> from_torch(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))) == mlp(4, 3, 2)
        True
    """
    return read_module(module, shape, chain).network
