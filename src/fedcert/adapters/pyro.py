"""Posteriors of Pyro: mean-field guides over the weights of a module."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn

from fedcert.adapters.library import PYRO
from fedcert.adapters.named import Shape, fixed_values, named_posterior
from fedcert.adapters.posterior import Posterior
from fedcert.adapters.twins import twin_of
from fedcert.errors import InvalidLaw, UnsupportedLayer
from fedcert.model.layers.registry import qualified
from fedcert.model.torch_module.trace import Chain

LIFTED = "$$$"
"""What separates the module's name from the parameter's in the sites of `pyro.random_module`."""


def from_pyro(
    guide: Any,
    model: nn.Module,
    *,
    sites: Mapping[str, str] | None = None,
    shape: Shape | None = None,
    chain: Chain | None = None,
) -> Posterior:
    """Read an `AutoNormal` or `AutoDiagonalNormal` guide over a module's weights.

    A site is named as its parameter ("0.weight"), or `sites` says which parameter it is. Its values must be
    any real numbers: for a constrained site the guide's normal law is that of a transform of it. Parameters
    that are no site have the deviation 0; sites that are no parameter, such as a noise scale, are left out,
    since under these guides all sites are independent.

    Args:
        guide: after training, or at least after one call.
        model: the module: a PyroModule, or a plain module with parameters of the same names.
        sites: from names of sites to names of parameters, where they differ.
        shape: of one input, without the batch: channels, height and width, which layers on images need.
        chain: the steps of the module's forward, as for `from_torch`; needed where it holds Pyro statements.
    """
    PYRO.load()
    prefix = f"{name}." if (name := getattr(model, "_pyro_name", "")) else ""
    found = list(_sites(guide))
    unknown = sorted(set(sites or {}) - {site.name for site in found})
    if unknown:
        raise InvalidLaw(f"sites: the guide has no site {unknown[0]}, but {_names(found)}")
    own = {
        (sites or {}).get(site.name, site.name.rpartition(LIFTED)[2].removeprefix(prefix)): site
        for site in found
    }
    if len(own) < len(found):
        raise InvalidLaw(f"two sites are the same parameter: the sites are {_names(found)}")
    twin = twin_of(model, lambda name, module: _plain(name, module, own))
    fixed = fixed_values(twin)
    used = {name: site for name, site in own.items() if name in fixed}
    if not used:
        raise InvalidLaw(
            f"no site is named as a parameter of the model: the sites are {_names(found)}, the parameters"
            f" {', '.join(fixed)}; say with `sites` which is which"
        )
    for site in used.values():
        site.require_real()
    means = {**fixed, **{name: site.mean for name, site in used.items()}}
    return named_posterior(twin, means, {name: site.deviation for name, site in used.items()}, shape, chain)


@dataclass(frozen=True, eq=False)
class _Site:
    """A random variable under a guide.

    Attributes:
        name: of the site.
        support: where the model lets it lie.
        mean: of its unconstrained value.
        deviation: of its unconstrained value.
    """

    name: str
    support: Any
    mean: Tensor
    deviation: Tensor

    def require_real(self) -> None:
        """Refuse a site whose values are a transform of the normal variable."""
        support = self.support
        while hasattr(support, "base_constraint"):
            support = support.base_constraint
        if support is not torch.distributions.constraints.real:
            raise InvalidLaw(
                f"the site {self.name} has the support {self.support}: supported is that of all reals"
            )


def _sites(guide: Any) -> Iterator[_Site]:
    """The sites of a guide with their means and deviations."""
    autoguide = PYRO.load("infer.autoguide")
    if type(guide) not in {autoguide.AutoNormal, autoguide.AutoDiagonalNormal}:
        raise InvalidLaw(
            f"a {qualified(type(guide))}: supported are AutoNormal and AutoDiagonalNormal;"
            " a law with correlations is not replaced by its diagonal"
        )
    if guide.prototype_trace is None:
        raise InvalidLaw("the guide has not seen the model yet: train it, or call it once")
    supports = {name: site["fn"].support for name, site in guide.prototype_trace.iter_stochastic_nodes()}
    if isinstance(guide, autoguide.AutoNormal):
        for name, support in supports.items():
            mean, deviation = (attrgetter(name)(own).detach() for own in (guide.locs, guide.scales))
            yield _Site(name, support, mean, deviation)
        return
    deviations = {site["name"]: own.detach() for site, own in guide._unpack_latent(guide.scale)}
    for site, mean in guide._unpack_latent(guide.loc):
        name = site["name"]
        yield _Site(name, supports[name], mean.detach(), deviations[name])


def _plain(name: str, module: Any, sites: Mapping[str, _Site]) -> nn.Module:
    """A module that Pyro made random, as the class that it was made from, with parameters for its sites."""
    PyroModule = PYRO.load("nn").PyroModule
    if not isinstance(module, PyroModule):
        return module  # type: ignore[no-any-return]
    if module._pyro_params:
        raise UnsupportedLayer(f"{name}: supported are PyroSample and plain parameters, not PyroParam")
    module.__class__ = _plain_class(type(module), PyroModule)
    parameters = module.__dict__["_parameters"]
    for part in module._pyro_samples:
        site = f"{name}.{part}" if name else part
        if site not in sites:
            raise InvalidLaw(f"the parameter {site} is random, but no site of the guide: {', '.join(sites)}")
        parameters[part] = nn.Parameter(sites[site].mean.clone())
    first = [part for part in ("weight", "bias") if part in parameters]
    module.__dict__["_parameters"] = {
        part: parameters[part] for part in [*first, *(own for own in parameters if own not in first)]
    }
    return module  # type: ignore[no-any-return]


def _plain_class(kind: Any, PyroModule: Any) -> type:
    """A class of random modules without what Pyro does when it is called or asked for a parameter."""
    bases = kind.__mro__
    plain = next(own for own in bases if not issubclass(own, PyroModule))
    written = [own for own in bases[: bases.index(plain)] if own not in {PyroModule, PyroModule[plain]}]
    if not written:
        return plain  # type: ignore[no-any-return]
    attributes = {name: own for each in reversed(written) for name, own in vars(each).items()}
    for name in ("__dict__", "__weakref__"):
        attributes.pop(name, None)
    return type(kind.__name__, (plain,), attributes)


def _names(sites: list[_Site]) -> str:
    return ", ".join(site.name for site in sites) or "none"
