"""Posteriors of bayesian-torch: mean-field layers with their own means and deviations."""

from typing import Any

import torch
from torch import Tensor, nn

from fedcert.adapters.library import BAYESIAN_TORCH
from fedcert.adapters.named import fixed_values, named_posterior
from fedcert.adapters.posterior import Posterior
from fedcert.adapters.twins import twin_of
from fedcert.errors import InvalidLaw
from fedcert.model.torch_module.trace import Chain

DIVERGENCE = 0.0
"""What stands for the Kullback–Leibler divergence that a layer returns beside its output."""


def from_bayesian_torch(model: nn.Module, *, chain: Chain | None = None) -> Posterior:
    """Read a model with LinearReparameterization or LinearFlipout layers, made by hand or by `dnn_to_bnn`.

    A layer's mean is `mu`, its deviation log(1 + exp(`rho`)). Flipout is an estimator for the same law of
    the weights. Ordinary layers have the deviation 0. A forward that adds up the layers' divergences and
    returns them beside the outputs is read too: the outputs are what counts.

    Args:
        model: the model, in eval mode where it has Dropout or batch normalisation.
        chain: the steps of the model's forward, as for `from_torch`.
    """
    layers = BAYESIAN_TORCH.load("layers")
    known = (layers.LinearReparameterization, layers.LinearFlipout)
    means: dict[str, Tensor] = {}
    deviations: dict[str, Tensor] = {}

    def replace(name: str, own: Any) -> nn.Module:
        if type(own) not in known:
            return own  # type: ignore[no-any-return]
        if own.quant_prepare:
            raise InvalidLaw(f"layer {name} is prepared for quantisation, which changes its weights")
        linear = nn.Linear(own.in_features, own.out_features, bias=own.mu_bias is not None)
        place = ".".join(["model", *([name] if name else []), *([] if own.dnn_to_bnn_flag else ["linear"])])
        for part, _ in linear.named_parameters():
            means[f"{place}.{part}"] = getattr(own, f"mu_{part}").detach()
            rho = getattr(own, f"rho_{part}").detach()
            deviations[f"{place}.{part}"] = torch.log1p(torch.exp(rho))  # in the layer's own precision
        return linear if own.dnn_to_bnn_flag else _WithDivergence(linear)

    twin = _Outputs(twin_of(model, replace))
    if not means:
        raise InvalidLaw("no LinearReparameterization or LinearFlipout layer in this model")
    steps = chain and [_step(twin, step) if isinstance(step, str) else step for step in chain]
    return named_posterior(twin, {**fixed_values(twin), **means}, deviations, None, steps)


def _step(twin: nn.Module, name: str) -> str:
    """The name inside the twin of a submodule of the model."""
    inside = f"model.{name}"
    found = dict(twin.named_modules()).get(inside)
    return f"{inside}.linear" if isinstance(found, _WithDivergence) else inside


class _WithDivergence(nn.Module):
    """A linear layer that returns a divergence beside its output, as a layer made by hand does."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.linear = linear

    def forward(self, x: Any) -> Any:
        return self.linear(x), DIVERGENCE


class _Outputs(nn.Module):
    """The outputs of a model that may return divergences beside them."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Any) -> Any:
        result = self.model(x)
        return result[0] if isinstance(result, tuple) else result
