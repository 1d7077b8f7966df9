"""A posterior from two state dicts: the means and the deviations of named parameters."""

import pickle
import re
from collections.abc import Mapping
from os import PathLike

import torch
from torch import Tensor, nn

from fedcert.adapters.named import Shape, named_posterior
from fedcert.adapters.posterior import Posterior
from fedcert.errors import InvalidLaw, ShapeMismatch, UnreadableFile
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import Network
from fedcert.model.torch_module.trace import Chain
from fedcert.numerics.convert import as_double

StateDict = Mapping[str, Tensor] | str | PathLike[str]
"""Parameters by name, or the path of a file that `torch.save` wrote of them."""


def from_state_dicts(
    model: nn.Module | Network,
    means: StateDict,
    deviations: StateDict | None = None,
    *,
    shape: Shape | None = None,
    chain: Chain | None = None,
) -> Posterior:
    """Read a posterior with independent normal parameters.

    With a module, names are the module's. With a network, entries are matched in the natural order of their
    prefixes, weight before bias ("0.weight", "0.bias", "2.weight", …). A missing deviation is 0, and so is a
    missing bias. Batch normalisations are folded into the layers before them.

    Args:
        model: the module, of which only the architecture matters, or the network.
        means: by name, as `module.state_dict()` gives them, or the path of such a file. Files are read as
            tensors alone: nothing in them is run.
        deviations: likewise; None for a network without any randomness.
        shape: of one input, without the batch: channels, height and width, which layers on images need.
        chain: the steps of the module's forward, as for `from_torch`.

    Examples:
        >>> model = nn.Sequential(nn.Linear(2, 2))
        >>> spread = {name: torch.full_like(own, 0.1) for name, own in model.state_dict().items()}
        >>> from_state_dicts(model, model.state_dict(), spread).law.scale.unique()
        tensor([0.1000], dtype=torch.float64)
    """
    loc, scale = _state_dict("means", means), _state_dict("deviations", deviations or {})
    if isinstance(model, Network):
        return Posterior(model, _in_order(model, loc, scale))
    return named_posterior(model, loc, scale, shape, chain)


def _state_dict(what: str, given: StateDict) -> Mapping[str, Tensor]:
    """Parameters by name, from a file if need be."""
    if isinstance(given, str | PathLike):
        try:
            found = torch.load(given, map_location="cpu", weights_only=True)
        except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
            reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
            raise UnreadableFile(
                f"{given}: {what}: no state dict that torch.save wrote ({reason})"
            ) from error
    else:
        found = given
    if not isinstance(found, Mapping):
        raise InvalidLaw(f"{what}: a state dict is needed, or the path of one, not a {type(found).__name__}")
    return found


def _in_order(
    network: Network, means: Mapping[str, Tensor], deviations: Mapping[str, Tensor]
) -> DiagonalGaussian:
    """The law of entries that are matched with layers by their order."""
    foreign = sorted(set(deviations) - set(means))
    if foreign:
        raise ShapeMismatch(f"a deviation of {foreign[0]}, which has no mean")
    prefixes = sorted({name.rpartition(".")[0] for name in means}, key=_natural)
    layers = [layer for layer in network.leaves if layer.shapes]
    if len(prefixes) != len(layers):
        raise ShapeMismatch(
            f"parameters of {len(prefixes)} modules ({', '.join(prefixes)}) for a network with {len(layers)}"
            " layers that have parameters"
        )
    used: list[str] = []
    moments: list[tuple[Tensor, Tensor]] = []
    for prefix, layer in zip(prefixes, layers, strict=True):
        for suffix, shape in zip(("weight", "bias"), layer.shapes, strict=True):
            name = f"{prefix}.{suffix}" if prefix else suffix
            used.append(name)
            moments.append(_moments(name, shape, means, deviations))
    left = sorted(set(means) - set(used))
    if left:
        raise ShapeMismatch(
            f"the network has no parameter for {left[0]}: give the module instead of a network"
        )
    loc, scale = (torch.cat([own.flatten() for own in each]) for each in zip(*moments, strict=True))
    return DiagonalGaussian(loc, scale)


def _moments(
    name: str, shape: tuple[int, ...], means: Mapping[str, Tensor], deviations: Mapping[str, Tensor]
) -> tuple[Tensor, Tensor]:
    """Mean and deviation of one parameter; a missing bias and a missing deviation are 0."""
    zero = torch.zeros(shape, dtype=torch.float64)
    if name not in means and not name.endswith("bias"):
        raise ShapeMismatch(f"no mean of {name}")
    found = [
        as_double(f"the {what} of {name}", given[name]).cpu() if name in given else zero
        for what, given in (("mean", means), ("deviation", deviations))
    ]
    for own in found:
        if tuple(own.shape) != shape:
            raise ShapeMismatch(f"{name} has the shape {tuple(own.shape)}, but the network needs {shape}")
    return found[0], found[1]


def _natural(prefix: str) -> list[tuple[int, str]]:
    """A key that sorts numbers inside names by their value: layer 2 before layer 10.

    >>> sorted(["10", "2", "fc10", "fc2"], key=_natural)
    ['2', '10', 'fc2', 'fc10']
    """
    parts = re.split(r"(\d+)", prefix)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
