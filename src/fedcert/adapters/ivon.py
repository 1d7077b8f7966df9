"""Posteriors of ivon-opt: the optimiser's own normal law of the weights."""

import gc
from types import GeneratorType
from typing import Any

from torch import nn

from fedcert.adapters.library import IVON
from fedcert.adapters.named import Shape, fixed_values, named_posterior
from fedcert.adapters.posterior import Posterior
from fedcert.errors import InvalidLaw
from fedcert.model.layers.registry import qualified
from fedcert.model.torch_module.trace import Chain


def from_ivon(
    model: nn.Module, optimizer: Any, *, shape: Shape | None = None, chain: Chain | None = None
) -> Posterior:
    """Read the posterior of an `ivon.IVON` optimiser.

    The mean is the value of a parameter outside `sampled_params`, the deviation is
    (ess · (hess + weight_decay))^−½ with the numbers of its group. Parameters that the optimiser does not
    hold have the deviation 0.

    Args:
        model: the module that was trained.
        optimizer: the optimiser that trained it.
        shape: of one input, without the batch: channels, height and width, which layers on images need.
        chain: the steps of the model's forward, as for `from_torch`.
    """
    ivon = IVON.load()
    if not isinstance(optimizer, ivon.IVON):
        raise InvalidLaw(f"a {qualified(type(optimizer))}, not an ivon.IVON optimiser")
    if _is_sampling(optimizer):
        raise InvalidLaw("inside sampled_params the parameters are a draw, not the mean: read them after it")
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    deviations = {}
    for group in optimizer.param_groups:
        root = (group["ess"] * (group["hess"] + group["weight_decay"])).sqrt()  # what the library divides by
        own = [parameter for parameter in group["params"] if parameter is not None]
        for parameter, piece in zip(own, root.split([each.numel() for each in own]), strict=True):
            if id(parameter) not in names:
                raise InvalidLaw("the optimiser holds a parameter that is none of the model's")
            deviations[names[id(parameter)]] = 1 / piece.double().reshape(parameter.shape)
    return named_posterior(model, fixed_values(model), deviations, shape, chain)


def _is_sampling(optimizer: Any) -> bool:
    """Whether some `with optimizer.sampled_params()` is open: its generator is then suspended."""
    code = type(optimizer).sampled_params.__wrapped__.__code__
    return any(
        isinstance(own, GeneratorType) and own.gi_code is code and own.gi_frame is not None
        for own in gc.get_referrers(optimizer)
    )
