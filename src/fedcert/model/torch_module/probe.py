"""A guard against misreading: network and module compute the same on random parameters and inputs."""

import torch
from torch import Tensor, nn
from torch.func import functional_call

from fedcert.errors import UnsupportedLayer
from fedcert.model.layers.registry import qualified
from fedcert.model.torch_module.reading import Reading
from fedcert.model.torch_module.trace import Chain

PROBES = 5
LARGEST_DIFFERENCE = 1e-6
"""Relative to the largest output; rounding in double precision stays far below, another function does not."""


def check_against_module(
    reading: Reading, module: nn.Module, chain: Chain | None, shape: tuple[int, ...] | None
) -> None:
    """Raise if the network that was read computes something else than the module.

    The parameters are drawn anew, so that nothing hides behind zeros, and the module's own stay as they are.

    Args:
        reading: what was read.
        module: the module.
        chain: the steps that the user describes, if so; the module's own forward is still what counts.
        shape: of one input, where it is known.
    """
    if type(module).forward is nn.Module.forward:  # a container: only the description says what is computed
        return
    generator = torch.Generator().manual_seed(0)
    values = {name: _drawn(name, own, reading, generator) for name, own in reading.own.items()}
    x = torch.randn(PROBES, reading.network.inputs, generator=generator, dtype=torch.float64)
    expected = reading.network(reading.vectors(values, {})[0], x)
    found = _outputs(module, values, x if shape is None else x.reshape(PROBES, *shape), chain is not None)
    if found.shape[1:] == reading.network.value_shapes[-1]:
        found = found.flatten(1)
    if found.shape != expected.shape:
        raise UnsupportedLayer(
            f"{qualified(type(module))} gives outputs of shape {tuple(found.shape)} where"
            f" {tuple(expected.shape)} were read: {_remedy(chain)}"
        )
    if not (found - expected).abs().max() <= LARGEST_DIFFERENCE * (1 + expected.abs().max()):
        raise UnsupportedLayer(
            f"{qualified(type(module))} computes something else than the layers that were read,"
            f" {', '.join(str(layer) for layer in reading.network.layers)}: {_remedy(chain)}"
        )


def _drawn(name: str, own: Tensor, reading: Reading, generator: torch.Generator) -> Tensor:
    """Random numbers in the place of a parameter or a running statistic; other buffers keep their values."""
    if name not in reading.parameters + reading.statistics:
        return own.double() if own.is_floating_point() else own
    drawn = torch.randn(own.shape, generator=generator, dtype=torch.float64)
    if name in reading.statistics:
        return drawn.abs() + 0.5
    return drawn / max(1.0, own.shape[-1] ** 0.5) if own.dim() > 1 else drawn


def _outputs(module: nn.Module, values: dict[str, Tensor], x: Tensor, described: bool) -> Tensor:
    """What the module computes with these values in double precision."""
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):  # a forward may draw; the user's draws stay
            found = functional_call(module, values, (x,))
    except Exception as error:  # whatever a foreign forward raises, it was not read
        raise UnsupportedLayer(
            f"{qualified(type(module))} cannot be run on inputs of shape {tuple(x.shape)} to compare it with"
            f" what was read ({error}): give the shape of one input as `shape`"
        ) from error
    if described and isinstance(found, tuple):
        found = found[0]
    if not isinstance(found, Tensor):
        raise UnsupportedLayer(f"{qualified(type(module))} gives a {type(found).__name__}, not a tensor")
    return found.detach().cpu()


def _remedy(chain: Chain | None) -> str:
    if chain is not None:
        return "correct the chain"
    return "read an nn.Sequential of its submodules instead"
