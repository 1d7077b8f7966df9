"""Posteriors of laplace-torch: diagonal Laplace approximations over all weights."""

from typing import Any

from fedcert.adapters.library import LAPLACE
from fedcert.adapters.named import fixed_values, named_posterior
from fedcert.adapters.posterior import Posterior
from fedcert.errors import InvalidLaw
from fedcert.model.layers.registry import qualified
from fedcert.model.torch_module.trace import Chain


def from_laplace(la: Any, *, chain: Chain | None = None) -> Posterior:
    """Read a fitted `laplace.DiagLaplace`: N(la.mean, diag la.posterior_scale²).

    Parameters that required no gradients when it was made are no part of it, and have the deviation 0.
    Any other approximation is refused by its name: the diagonal of a full or Kronecker covariance is another
    law.

    Args:
        la: made by `Laplace(model, …, subset_of_weights="all", hessian_structure="diag")`, and fitted.
        chain: the steps of the model's forward, as for `from_torch`.
    """
    laplace = LAPLACE.load()
    if type(la) not in {laplace.DiagLaplace}:
        raise InvalidLaw(
            f"a {qualified(type(la))}: supported is laplace.DiagLaplace, which Laplace(model, …,"
            " subset_of_weights='all', hessian_structure='diag') makes; a law with correlations is not"
            " replaced by its diagonal"
        )
    if la.n_data == 0:
        raise InvalidLaw("the Laplace approximation is not fitted: call la.fit(train_loader) first")
    names = {id(parameter): name for name, parameter in la.model.named_parameters()}
    sizes = [parameter.numel() for parameter in la.params]
    means, deviations = fixed_values(la.model), {}
    for parameter, mean, scale in zip(
        la.params, la.mean.split(sizes), la.posterior_scale.split(sizes), strict=True
    ):
        if id(parameter) not in names:
            raise InvalidLaw("a parameter that was fitted is none of the model's any more")
        means[names[id(parameter)]] = mean.reshape(parameter.shape)
        deviations[names[id(parameter)]] = scale.reshape(parameter.shape)
    return named_posterior(la.model, means, deviations, chain)
