"""Posteriors of laplace-torch: diagonal, full and Kronecker, over all weights or the last layer."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn

from fedcert.adapters.library import LAPLACE
from fedcert.adapters.named import Shape, block_posterior, dependent_posterior, fixed_values, named_posterior
from fedcert.adapters.posterior import Posterior
from fedcert.errors import InvalidLaw
from fedcert.laws.block_protocol import Block
from fedcert.laws.blocks import DenseBlock, KroneckerBlock
from fedcert.model.layers.registry import qualified
from fedcert.model.torch_module.trace import Chain
from fedcert.numerics.convert import as_double
from fedcert.wire.limits import MIN_SCALE

SUPPORTED = ("DiagLaplace", "FullLaplace", "KronLaplace", "DiagLLLaplace", "FullLLLaplace", "KronLLLaplace")
FEATURES = "laplace.utils.feature_extractor"


def from_laplace(la: Any, *, shape: Shape | None = None, chain: Chain | None = None) -> Posterior:
    """Read a fitted Laplace approximation: diagonal, full or Kronecker, of all weights or the last layer.

    A diagonal one is N(la.mean, diag la.posterior_scale²), and a full one N(la.mean, S Sᵀ) with
    S = la.posterior_scale, the very numbers that the library draws with. A Kronecker-factored one is
    la.mean + U (D∘Z) Vᵀ for each weight matrix, with the eigenvectors U and V and D = (λ ν + δ)^−½, and
    la.mean + U (d∘z) for each bias; a kernel is a matrix with a row for each filter. Parameters that are no
    part of the approximation, as those that required no gradients or all but the last layer's, have the
    deviation 0. Any other one is refused by its name.

    Args:
        la: made by `Laplace(model, …, subset_of_weights, hessian_structure)`, and fitted.
        shape: of one input, without the batch: channels, height and width, which layers on images need.
        chain: the steps of the model's forward, as for `from_torch`.
    """
    laplace = LAPLACE.load()
    kinds = {name: getattr(laplace, name) for name in SUPPORTED}
    if type(la) not in kinds.values():
        raise InvalidLaw(
            f"a {qualified(type(la))}: supported are laplace.{', '.join(SUPPORTED)}; a law with correlations"
            " is not replaced by its diagonal"
        )
    if la.n_data == 0:
        raise InvalidLaw("the Laplace approximation is not fitted: call la.fit(train_loader) first")
    last = "LL" in type(la).__name__
    module: nn.Module = la.model.model if last else la.model
    fitted = dict(_named(module, list(la.model.last_layer.parameters()) if last else la.params))
    means = {**fixed_values(module), **_divided(fitted, la.mean)}
    module = _without_its_hooks(module)
    if isinstance(la, (kinds["KronLaplace"], kinds["KronLLLaplace"])):
        decomposed = la.posterior_precision
        return block_posterior(
            module, means, lambda places: _kronecker(fitted, decomposed, places), shape, chain
        )
    scales = _divided(fitted, la.posterior_scale)
    if isinstance(la, (kinds["DiagLaplace"], kinds["DiagLLLaplace"])):
        return named_posterior(module, means, scales, shape, chain)
    if not last:
        return dependent_posterior(module, means, scales, shape, chain)
    return block_posterior(module, means, lambda places: _head(scales, places), shape, chain)


def _without_its_hooks(module: nn.Module) -> nn.Module:
    """A copy without the hooks by which the library reads features, and which change nothing."""
    copied = deepcopy(module)
    for own in copied.modules():
        for key, hook in list(own._forward_hooks.items()):
            if getattr(hook, "__module__", None) == FEATURES:
                del own._forward_hooks[key]
    return copied


def _named(module: nn.Module, parameters: Sequence[Tensor]) -> Iterator[tuple[str, Tensor]]:
    """The fitted parameters with their names, in the order of the approximation."""
    names = {id(parameter): name for name, parameter in module.named_parameters()}
    for parameter in parameters:
        if id(parameter) not in names:
            raise InvalidLaw("a parameter that was fitted is none of the model's any more")
        yield names[id(parameter)], parameter


def _divided(fitted: Mapping[str, Tensor], values: Tensor) -> dict[str, Tensor]:
    """One number for each fitted parameter, or a row of numbers, by the parameters' names."""
    parts = values.split([parameter.numel() for parameter in fitted.values()])
    return {
        name: part.reshape(*parameter.shape, *values.shape[1:])
        for (name, parameter), part in zip(fitted.items(), parts, strict=True)
    }


def _head(scales: Mapping[str, Tensor], places: Mapping[str, int]) -> list[Block]:
    """One dense block of a layer's weights and biases, which follow each other."""
    rows = [own.flatten(0, -2) for own in scales.values()]
    starts = [places[name] for name in scales]
    if starts != list(accumulate(map(len, rows[:-1]), initial=starts[0])):
        raise InvalidLaw("the weights and biases of the last layer do not follow each other")
    return [DenseBlock(starts[0], stated(torch.cat(rows)))]


def _kronecker(fitted: Mapping[str, Tensor], decomposed: Any, places: Mapping[str, int]) -> list[Block]:
    """One block for each parameter: its precision has the eigenvalues λ + δ, or λ_j ν_k + δ."""
    blocks: list[Block] = []
    deltas = decomposed.deltas.expand(len(fitted))
    parts = zip(fitted.items(), decomposed.eigenvectors, decomposed.eigenvalues, deltas, strict=True)
    for (name, parameter), vectors, values, delta in parts:
        U, *V = (as_double(f"the eigenvectors of {name}", own) for own in vectors)
        first, *second = (as_double(f"the eigenvalues of {name}", own) for own in values)
        added = as_double("the prior precision", delta)
        if not V:
            blocks.append(DenseBlock(places[name], stated(U * (first + added).rsqrt())))
            continue
        if decomposed.damping:
            root = added.sqrt()
            precision = torch.outer(first + root, second[0] + root)
        else:
            precision = torch.outer(first, second[0]) + added
        if parameter.flatten(1).shape != precision.shape:  # a kernel is a matrix with a row for each filter
            raise InvalidLaw(
                f"{name} has the shape {tuple(parameter.shape)}, but Kronecker factors of"
                f" {tuple(precision.shape)}"
            )
        blocks.append(KroneckerBlock(places[name], U.cpu(), V[0].cpu(), precision.rsqrt().cpu()))
    return blocks


def stated(factor: Tensor) -> Tensor:
    """A factor in double precision, with 0 for entries too small to matter: the law is the one then stated.

    Args:
        factor: as it was computed.
    """
    own = as_double("a factor", factor).cpu()
    return torch.where(own.abs() < MIN_SCALE, 0.0, own)
