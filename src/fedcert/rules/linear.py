"""Linear rules: FedAvg, Product-of-Gaussians, the server step, and weights of any sign."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidLaw, InvalidWeights, ShapeMismatch
from fedcert.laws import BlockGaussian, DenseGaussian, DiagonalGaussian, DiagonalLaw, GaussianLaw
from fedcert.numerics.box import Box
from fedcert.numerics.convert import as_double, doubled
from fedcert.numerics.rounding import down, gamma, rounding_error, up
from fedcert.rules.protocol import Coefficients, Header


@dataclass(frozen=True)
class LinearRule:
    """Θ_g = v + Σ_i w_i Θ_i, coordinate by coordinate, with *these* floating-point coefficients.

    FedAvg, Product-of-Gaussians and the server step differ in their coefficients alone, which are part of
    the claim.

    Attributes:
        weights: w (α in the paper), of any sign, of shape (n, 1) or (n, n_w).
        offset: v; None for 0.
        name: the rule's name in tables and claims.
        settings: what a published law was made with (docs/rules.md); the checker holds the name to it.

    Examples:
        >>> LinearRule.fedavg([1, 3])([torch.zeros(1).double(), torch.ones(1).double()]).item()
        0.75
    """

    weights: Float64[Tensor, "n n_w_or_1"]
    offset: Float64[Tensor, "n_w"] | None = None
    name: str = "linear"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        doubled(self, "the coefficients of a rule", "weights", "offset")
        if self.weights.dim() != 2:
            raise InvalidWeights(f"weights of shape {tuple(self.weights.shape)}, not (clients, 1 or n_w)")
        if len(self.weights) == 0 or not torch.isfinite(self.weights).all():
            raise InvalidWeights("a linear rule needs at least one client and finite weights")
        if self.offset is not None and not torch.isfinite(self.offset).all():
            raise InvalidWeights("the offset of a linear rule must be finite")

    @classmethod
    def average(cls, weights: Float64[Tensor, "n n_w_or_1"], name: str = "weighted-average") -> "LinearRule":
        """Σ_i w_i Θ_i with weights w_i ≥ 0 that sum to one.

        The sum is checked to 1e-9, to catch weights that were never normalised; no bound relies on it.

        Args:
            weights: w, one for each client or one for each client and parameter.
            name: the rule's name in tables and claims.
        """
        weights = as_double("the weights of an average", weights)
        if weights.dim() != 2 or len(weights) == 0:
            raise InvalidWeights(f"weights of shape {tuple(weights.shape)}, not (clients, 1 or n_w)")
        if not (weights >= 0).all():
            raise InvalidWeights(
                "the weights of an average must be ≥ 0; found a negative weight or NaN (LinearRule(weights)"
                " takes negative ones)"
            )
        if not ((weights.sum(0) - 1).abs() <= 1e-9).all():
            raise InvalidWeights(
                f"aggregation weights must sum to one, not {weights.sum(0)[0].item()}:"
                " divide them by their sum"
            )
        return cls(weights, None, name)

    @classmethod
    def fedavg(cls, sizes: Sequence[int]) -> "LinearRule":
        """FedAvg with weights proportional to the clients' sizes; equal sizes give 1/n each."""
        if not sizes or min(sizes) < 1:
            raise InvalidWeights(f"FedAvg needs at least one client and positive sizes, not {sizes}")
        counts = torch.tensor(sizes, dtype=torch.float64)
        return cls.average((counts / counts.sum()).unsqueeze(-1), "fedavg")

    @classmethod
    def product_of_gaussians(cls, laws: Sequence[DiagonalLaw], name: str = "pog") -> "LinearRule":
        """The weights w_i = σ_i^-2 / Σ_j σ_j^-2, for which Σ w_i Θ_i has the law ∝ Π q_i.

        Its mean is Σ_i w_i μ_i and its variance Σ_i w_i² σ_i² = (Σ_i σ_i^-2)^-1: the product of the
        Gaussian densities, normalised. The conflation of Gaussians is this law, and consensus Monte Carlo
        is this rule (docs/rules.md). Where some clients have σ = 0 these are the limits of ever smaller
        scales: such clients share the weight equally, and all others get 0.

        Args:
            laws: the clients' posteriors.
            name: the rule's name in tables and claims.
        """
        if len({law.dimension for law in laws}) > 1:
            raise ShapeMismatch(
                f"clients with {sorted({law.dimension for law in laws})} parameters:"
                " all must train the same network"
            )
        scale = torch.stack([law.scale for law in laws])
        least = scale.min(0).values
        relative_precision = torch.where(scale == least, 1.0, (least / scale).square())
        return cls.average(relative_precision / relative_precision.sum(0), name)

    @classmethod
    def server_step(cls, initial: Float64[Tensor, "n_w"], rate: float, sizes: Sequence[int]) -> "LinearRule":
        """θ_0 + η Σ_i w_i (θ_i − θ_0) = (1 − η) θ_0 + Σ_i η w_i θ_i, with w_i proportional to the sizes.

        Args:
            initial: θ_0, the parameters that the server started from.
            rate: η, the server's step; 1 is FedAvg.
            sizes: the clients' numbers of examples.
        """
        if not 0 <= rate < float("inf"):
            raise InvalidWeights(f"a server step needs a finite rate ≥ 0, not {rate}")
        if not sizes or min(sizes) < 1:
            raise InvalidWeights(f"a server step needs positive sizes, not {sizes}")
        shares = torch.tensor(sizes, dtype=torch.float64, device=initial.device)
        weights = rate * shares / shares.sum()
        return cls(weights.unsqueeze(-1), (1 - rate) * initial, "server-step")

    @classmethod
    def from_description(cls, header: Header, coefficients: Coefficients) -> "LinearRule":
        """The rule that `describe` described."""
        settings = header.get("settings", {})
        return cls(coefficients["weights"], coefficients.get("offset"), header["name"], settings)

    @property
    def clients(self) -> int:
        """n, the number of clients."""
        return len(self.weights)

    def describe(self) -> tuple[Header, Coefficients]:
        """What a file says of the rule: its weights, and its offset if it has one."""
        offset = {} if self.offset is None else {"offset": self.offset}
        header: dict[str, Any] = {"type": "linear", "name": self.name, "clients": self.clients}
        if self.settings:
            header["settings"] = dict(self.settings)
        return header, {"weights": self.weights, **offset}

    def to(self, device: torch.device | str) -> "LinearRule":
        """The same rule on another device."""
        offset = None if self.offset is None else self.offset.to(device)
        return LinearRule(self.weights.to(device), offset, self.name, self.settings)

    def __call__(self, thetas: Sequence[Float64[Tensor, "*batch n_w"]]) -> Tensor:
        """The parameters v + Σ_i w_i θ_i, in floating point."""
        return self._sum(thetas)

    def image(self, boxes: Sequence[Box]) -> Box:
        """Π_d [v_d + Σ_i min(w_i ℓ_i,d, w_i u_i,d), v_d + Σ_i max(…)], rounded outward: exact otherwise.

        The map is affine and monotone in each coordinate of each client, rising for w_i ≥ 0 and falling
        for w_i < 0, which exchanges that client's end points. So it takes its extremes at end points
        and, on a connected set, every value between.
        """
        self._require_fitting([box.lower for box in boxes])
        pairs = list(zip(self.weights, boxes, strict=True))
        low = [torch.where(w >= 0, box.lower, box.upper) for w, box in pairs]
        high = [torch.where(w >= 0, box.upper, box.lower) for w, box in pairs]
        lower, error_lower = self._combine(low)
        upper, error_upper = self._combine(high)
        return Box(down(lower - error_lower), up(upper + error_upper))

    @overload
    def pushforward(self, laws: Sequence[DiagonalLaw]) -> DiagonalGaussian: ...
    @overload
    def pushforward(self, laws: Sequence[GaussianLaw]) -> GaussianLaw: ...
    def pushforward(self, laws: Sequence[GaussianLaw]) -> GaussianLaw:
        """N(v + Σ_i w_i μ_i, Σ_i w_i² Cov_i), with what rounding may have done to it.

        Args:
            laws: the clients' laws.
        """
        diagonal = [law for law in laws if isinstance(law, DiagonalLaw)]
        return self._diagonal(diagonal) if len(diagonal) == len(laws) else self._dense(laws)

    def _dense(self, laws: Sequence[GaussianLaw]) -> DenseGaussian | BlockGaussian:
        """N(v + Σ_i w_i μ_i, F Fᵀ) with F = (w_1 F_1, …, w_n F_n): covariances add up.

        Each entry of F is rounded once, beside the error of the given one.

        Args:
            laws: the clients' laws.
        """
        weights = self._one_weight_a_client()
        if any(isinstance(law, BlockGaussian) for law in laws):
            return self._blocks([BlockGaussian.of(law) for law in laws], weights)
        dense = [DenseGaussian.of(law) for law in laws]
        loc, loc_error = self._mean([law.loc for law in dense], [law.loc_error for law in dense])
        weighed = [(w * law.factor, law.factor) for w, law in zip(weights, dense, strict=True) if w != 0]
        if any(((scaled == 0) & (own != 0)).any() for scaled, own in weighed):
            raise InvalidLaw("the deployed factor is too small for double precision, but not 0")
        factor = torch.cat([loc.new_zeros(len(loc), 0), *(scaled for scaled, _ in weighed)], dim=1)
        inexact = max(law.factor_error for law in dense)
        return DenseGaussian(loc, factor, loc_error, 2.0**-52 + 2 * inexact)

    def _blocks(self, laws: Sequence[BlockGaussian], weights: Float64[Tensor, "n"]) -> BlockGaussian:
        """N(v + Σ_i w_i μ_i, …) with all blocks of all clients, times w_i: no common basis is needed."""
        loc, loc_error = self._mean([law.loc for law in laws], [law.loc_error for law in laws])
        parts = zip(weights, laws, strict=True)
        blocks = tuple(own.times(w) for w, law in parts if w != 0 for own in law.blocks)
        return BlockGaussian(loc, blocks, loc_error, 2.0**-52 + 2 * max(law.factor_error for law in laws))

    def _one_weight_a_client(self) -> Float64[Tensor, "n"]:
        if not (self.weights == self.weights[:, :1]).all():
            raise InvalidLaw(
                f"the rule {self.name} has a weight for each parameter: laws whose parameters depend on each"
                " other need one weight a client, as fedavg has"
            )
        return self.weights[:, 0]

    def _mean(
        self, locs: Sequence[Tensor], errors: Sequence[Tensor | None]
    ) -> tuple[Float64[Tensor, "n_w"], Float64[Tensor, "n_w"]]:
        """The mean v + Σ_i w_i μ_i, and a bound of its distance from the exact laws' one."""
        loc, loc_error = self._combine(locs)
        for weight, error in zip(self.weights, errors, strict=True):
            if error is not None:
                loc_error = up(loc_error + up(weight.abs() * error))
        return loc, loc_error

    def _diagonal(self, laws: Sequence[DiagonalLaw]) -> DiagonalGaussian:
        """N(v + Σ_i w_i μ_i, diag Σ_i w_i² σ_i²), with what rounding may have done to it.

        Each w_i² σ_i² passes through 3 roundings, the sum through n − 1 and the root through one more
        (it halves the relative error before): n + 4 at most. Errors of the given laws add up: those of the
        means with weights |w_i|, and the largest relative one of the scales, since Σ_i w_i² σ_i² is linear in
        the σ_i² with coefficients ≥ 0. A parameter that every client fixes, or that only clients of weight 0
        leave open, has the scale 0 exactly, and its mean the error of the sum.

        Args:
            laws: the clients' laws.
        """
        loc, loc_error = self._mean([law.loc for law in laws], [law.loc_error for law in laws])
        scales = torch.stack([w * law.scale for w, law in zip(self.weights, laws, strict=True)])
        scale = scales.square().sum(0).sqrt()
        random = [(w != 0) & (law.scale > 0) for w, law in zip(self.weights, laws, strict=True)]
        if (torch.stack(random).any(0) & (scale == 0)).any():
            raise InvalidLaw("the deployed scale is too small for double precision, but not 0")
        rounded, inexact = gamma(2 * (self.clients + 4)), max(law.scale_error for law in laws)
        return DiagonalGaussian(loc, scale, loc_error, rounded if inexact == 0 else 2 * (rounded + inexact))

    def _combine(self, values: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """The sum v + Σ_i w_i x_i and a bound of its error; a term passes through n + 2 roundings."""
        total = self._sum(values)
        magnitude = torch.zeros_like(total) if self.offset is None else self.offset.abs().expand_as(total)
        for weight, value in zip(self.weights, values, strict=True):
            magnitude = torch.addcmul(magnitude, weight.abs(), value.abs())
        return total, rounding_error(self.clients + 2, magnitude)

    def _sum(self, values: Sequence[Tensor]) -> Tensor:
        """The sum v + Σ_i w_i x_i, in floating point."""
        self._require_fitting(values)
        total = torch.zeros_like(values[0]) if self.offset is None else self.offset.expand_as(values[0])
        for weight, value in zip(self.weights, values, strict=True):
            total = torch.addcmul(total, weight, value)
        return total

    def _require_fitting(self, values: Sequence[Tensor]) -> None:
        """Raise unless there is one value for each client, all of a shape that the coefficients fit."""
        if len(values) != self.clients:
            raise ShapeMismatch(f"a rule for {self.clients} clients was given {len(values)}")
        for i, value in enumerate(values):
            if value.shape != values[0].shape:
                raise ShapeMismatch(
                    f"client {i} has parameters of shape {tuple(value.shape)},"
                    f" client 0 of {tuple(values[0].shape)}: all must train the same network"
                )
        for coefficients in (self.weights, self.offset):
            if coefficients is not None and coefficients.shape[-1] not in (1, values[0].shape[-1]):
                raise ShapeMismatch(
                    f"a rule with coefficients for {coefficients.shape[-1]} parameters was given clients"
                    f" with {values[0].shape[-1]}"
                )
