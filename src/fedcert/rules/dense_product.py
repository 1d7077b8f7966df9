"""Products of Gaussian densities whose parameters depend on each other (docs/rules.md).

A client's covariance on the parameters that it leaves random is C_i = F_i F_iᵀ. With the triangular R_i of
F_iᵀ = Q R_i, C_i = R_iᵀ R_i and its precision is K_iᵀ K_i with K_i = R_i^-ᵀ. The precisions w_i K_iᵀ K_i of
all clients add up to KᵀK with the √w_i K_i below each other in K, and the R of K = Q R gives the law its
factor G = R^-1: nothing is squared, so that rounding is as large as the condition of the factors, not of the
covariances. What is deployed is the law of these floats.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidLaw, ShapeMismatch
from fedcert.laws import BlockGaussian, DenseBlock, GaussianLaw, KroneckerBlock
from fedcert.laws.block_protocol import Block
from fedcert.laws.diagonal import SMALLEST
from fedcert.rules.published import require_precision_left
from fedcert.rules.stated import StatedGaussian
from fedcert_check.published import MAX_RANDOM

LARGEST_RESIDUAL = 1e-10
"""Of Gᵀ P G − 1: a tenth of what the checker takes for rounding."""


def dense_product(
    laws: Sequence[GaussianLaw],
    name: str,
    weights: Float64[Tensor, "n 1"] | None = None,
    prior_scale: float | None = None,
) -> StatedGaussian:
    """Π_i q_i^(w_i) / p^(n − 1), normalised: P = Σ_i w_i C_i^-1 − (n − 1)/σ_0², mean P^-1 Σ_i w_i C_i^-1 μ_i.

    Parameters that no client leaves random have the mean Σ_i w_i μ_i / Σ_i w_i.

    Args:
        laws: the clients' posteriors: one Gaussian each, stated by factors and scales.
        name: the rule's name in tables and claims.
        weights: w ≥ 0; 1 for each client where None.
        prior_scale: σ_0, of the prior p = N(0, σ_0² 1) that is divided out; None for no prior.
    """
    own = [BlockGaussian.of(law) for law in laws]
    places = _random_parameters(own, name)
    if len(places) > MAX_RANDOM:
        raise InvalidLaw(f"{name}: {len(places)} dependent parameters, more than {MAX_RANDOM}: choose fedavg")
    each = torch.ones(len(own)).double() if weights is None else weights[:, 0]
    used = [(w, law) for w, law in zip(each.tolist(), own, strict=True) if w > 0]
    roots = [w**0.5 * _root_of_precision(law, places, name) for w, law in used]
    loc = torch.stack([w * law.loc for w, law in used]).sum(0) / each.sum()
    factor = _factor(torch.cat(roots), len(own) - 1, prior_scale)
    pulls = [K.mT @ (K @ law.loc[places]) for K, (_, law) in zip(roots, used, strict=True)]
    loc[places] = factor @ (factor.mT @ torch.stack(pulls).sum(0))
    start, stop = int(places[0]), int(places[-1]) + 1
    whole = loc.new_zeros(stop - start, len(places))
    whole[places - start] = torch.where(factor.abs() < SMALLEST, 0.0, factor)
    settings: dict[str, Any] = {} if weights is None else {"weights": each.tolist()}
    settings |= {} if prior_scale is None else {"prior_scale": float(prior_scale)}
    return StatedGaussian(name, len(own), loc, start, whole, settings)


def _random_parameters(laws: Sequence[BlockGaussian], name: str) -> Tensor:
    """The places of the parameters that are random, which must be the same for all clients."""
    if len({law.dimension for law in laws}) > 1:
        raise ShapeMismatch("clients with different numbers of parameters: all must train the same network")
    masks = []
    for law in laws:
        random = torch.zeros(law.dimension, dtype=torch.bool)
        for block in law.blocks:
            if isinstance(block, KroneckerBlock):
                raise InvalidLaw(
                    f"{name}: a sum of Kronecker-factored precisions has no Kronecker factors in general:"
                    " state the law as a DenseGaussian, or choose fedavg"
                )
            rows = block.scaling.reshape(block.size, -1).any(-1).cpu()
            random[block.start : block.start + block.size] |= rows
        masks.append(random)
    if any(not torch.equal(mask, masks[0]) for mask in masks):
        d = int((torch.stack(masks) != masks[0]).any(0).nonzero()[0])
        raise InvalidLaw(
            f"{name}: some clients fix parameter {d} and others do not: their product is undefined"
        )
    if not masks[0].any():
        raise InvalidLaw(f"{name}: no parameter is random")
    return masks[0].nonzero().squeeze(-1)


def _root_of_precision(law: BlockGaussian, places: Tensor, name: str) -> Float64[Tensor, "m m"]:
    """K with C^-1 = KᵀK, of the random parameters."""
    dense = torch.cat([_rows(block, places) for block in law.blocks], dim=1)
    triangle = torch.linalg.qr(dense.mT, mode="r").R
    size = triangle.diagonal().abs()
    if len(triangle) < len(places) or not (size > 1e-14 * size.max()).all():
        raise InvalidLaw(
            f"{name}: a covariance is singular, of a factor of {dense.shape[1]} columns for {len(places)}"
            " random parameters: it has no density to multiply"
        )
    unit = torch.eye(len(places), dtype=torch.float64, device=triangle.device)
    root: Tensor = torch.linalg.solve_triangular(triangle.mT, unit, upper=False)
    return root


def _rows(block: Block, places: Tensor) -> Float64[Tensor, "m q"]:
    """The rows of a block's factor that belong to some parameters."""
    inside = ((places >= block.start) & (places < block.start + block.size)).nonzero().squeeze(-1)
    own = places[inside] - block.start
    if isinstance(block, DenseBlock):
        rows = block.factor.new_zeros(len(places), block.factor.shape[1])
        rows[inside] = block.factor[own]
        return rows
    rows = block.scaling.new_zeros(len(places), len(own))
    rows[inside, torch.arange(len(own))] = block.scaling[own]
    return rows


def _factor(roots: Float64[Tensor, "r m"], priors: int, prior_scale: float | None) -> Float64[Tensor, "m m"]:
    """G with G Gᵀ = (KᵀK − (n − 1)/σ_0²)^-1."""
    unit = torch.eye(roots.shape[-1], dtype=torch.float64, device=roots.device)
    triangle = torch.linalg.qr(roots, mode="r").R
    divided = 0.0
    if prior_scale is not None:
        divided = priors / prior_scale**2
        precision = triangle.mT @ triangle
        left, vectors = torch.linalg.eigh(precision - divided * unit)
        require_precision_left(left, left + divided, priors, prior_scale, "direction")
        factor: Tensor = vectors / left.sqrt()
    else:
        factor = torch.linalg.solve_triangular(triangle, unit, upper=True)
    seen = roots @ factor
    residual = seen.mT @ seen - divided * (factor.mT @ factor) - unit
    if not residual.abs().max() <= LARGEST_RESIDUAL:
        raise InvalidLaw(
            f"the product of these laws is too ill-conditioned for double precision: Gᵀ P G differs from 1 by"
            f" {residual.abs().max().item():.1e}"
        )
    return factor
