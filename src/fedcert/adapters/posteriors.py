"""Posteriors of the library posteriors: states of its diagonal methods."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from fedcert.adapters.library import POSTERIORS
from fedcert.adapters.named import Shape, fixed_values, named_posterior
from fedcert.adapters.posterior import Posterior
from fedcert.errors import InvalidLaw
from fedcert.model.layers.registry import qualified
from fedcert.model.torch_module.trace import Chain

_SPREAD: dict[str, tuple[str, Callable[[Tensor], Tensor]]] = {
    "posteriors.vi.diag.VIDiagState": ("log_sd_diag", torch.exp),
    "posteriors.laplace.diag_fisher.DiagLaplaceState": ("prec_diag", lambda own: own.sqrt().reciprocal()),
    "posteriors.laplace.diag_ggn.DiagLaplaceState": ("prec_diag", lambda own: own.sqrt().reciprocal()),
    "posteriors.ekf.diag_fisher.EKFDiagState": ("sd_diag", lambda own: own),
}
"""For each state: where it keeps its deviations, and how they follow, by the library's own formula."""


def from_posteriors(
    model: nn.Module, state: Any, *, shape: Shape | None = None, chain: Chain | None = None
) -> Posterior:
    """Read the state of a diagonal method: variational inference, Laplace, or an extended Kalman filter.

    The mean is `state.params`, the deviation exp(`log_sd_diag`), `prec_diag`^−½ or `sd_diag`. Parameters of
    the model that the state does not hold have the deviation 0. States of dense methods and of samplers are
    refused by their names.

    Args:
        model: the module whose `named_parameters()` the state is about.
        state: what the method's `init` and `update` gave.
        shape: of one input, without the batch: channels, height and width, which layers on images need.
        chain: the steps of the model's forward, as for `from_torch`.
    """
    POSTERIORS.load()
    kind = qualified(type(state))
    if kind not in _SPREAD:
        raise InvalidLaw(f"a {kind}: supported are {', '.join(_SPREAD)}")
    field, formula = _SPREAD[kind]
    means, spread = (_named(kind, name, getattr(state, name)) for name in ("params", field))
    if set(means) != set(spread):
        raise InvalidLaw(f"{kind}: params and {field} are about different parameters")
    deviations = {name: formula(own.detach()) for name, own in spread.items()}
    return named_posterior(model, {**fixed_values(model), **means}, deviations, shape, chain)


def _named(kind: str, field: str, tree: Any) -> dict[str, Tensor]:
    """Tensors by name, from a dictionary or what the library makes of one."""
    if not hasattr(tree, "items"):
        raise InvalidLaw(f"{kind}: {field} is no dictionary: start from dict(model.named_parameters())")
    found = dict(tree.items())
    wrong = [name for name, own in found.items() if not isinstance(own, Tensor)]
    if wrong:
        raise InvalidLaw(f"{kind}: {field} holds no tensor for {wrong[0]}")
    return found
