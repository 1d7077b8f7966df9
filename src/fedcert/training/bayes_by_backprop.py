"""Bayes by Backprop: a mean-field Gaussian posterior by stochastic variational inference."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy, softplus

from fedcert.errors import DataError, InvalidConfig
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import Network
from fedcert.progress import Tracker, silent
from fedcert.training.adam import Adam


@dataclass(frozen=True)
class BayesByBackprop:
    """Minimises E_q[cross entropy] + β KL(q ‖ N(0, s² I)) over q = N(μ, diag softplus(ρ)²).

    One posterior sample a step, μ + softplus(ρ) ε; the defaults are the paper's protocol.

    Attributes:
        epochs: passes over the client's data.
        batch_size: examples a step.
        learning_rate: Adam's.
        kl_coefficient: β, the weight of the divergence (a sum over all parameters).
        prior_scale: s of the prior.
        initial_rho: ρ at the start; −5 is a deviation of about 6.7e-3.
    """

    epochs: int = 5
    batch_size: int = 128
    learning_rate: float = 1e-3
    kl_coefficient: float = 1e-4
    prior_scale: float = 1.0
    initial_rho: float = -5.0

    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid"}  # misspelt settings raise

    def __post_init__(self) -> None:
        if self.epochs < 0 or self.batch_size < 1:
            raise InvalidConfig("epochs must be ≥ 0 and a batch must hold at least one example")
        if not (0 < self.learning_rate < inf and 0 < self.prior_scale < inf):
            raise InvalidConfig("the learning rate and the prior scale must be finite numbers > 0")
        if not (0 <= self.kl_coefficient < inf and isfinite(self.initial_rho)):
            raise InvalidConfig("the KL coefficient must be a finite number ≥ 0, the initial rho finite")

    def __call__(
        self,
        network: Network,
        x: Float[Tensor, "n p"],
        label: Int[Tensor, "n"],
        initial: Float[Tensor, "n_w"],
        generator: torch.Generator,
        track: Tracker = silent,
    ) -> DiagonalGaussian:
        """Train on one client's examples from the shared initialisation.

        Args:
            network: f_θ.
            x: the client's inputs.
            label: their classes.
            initial: the initial μ, the same for all clients.
            generator: the source of randomness.
            track: shows progress.
        """
        if len(x) == 0:
            raise DataError("a client without examples cannot train")
        mean = initial.detach().clone().requires_grad_()
        rho = torch.full_like(initial, self.initial_rho).requires_grad_()
        optimiser = Adam([mean, rho], self.learning_rate)
        for _ in track(range(self.epochs), "training", self.epochs):
            for batch in torch.randperm(len(x), generator=generator).split(self.batch_size):
                noise = torch.randn(len(mean), generator=generator)
                own, wanted = x.index_select(0, batch), label[batch]

                def loss(theta: Tensor, own: Tensor = own, wanted: Tensor = wanted) -> Tensor:
                    return cross_entropy(network(theta, own), wanted)

                optimiser.descend(self.gradients(loss, mean, rho, noise))
        with torch.no_grad():
            return DiagonalGaussian(mean.double(), softplus(rho).double())

    def gradients(
        self,
        loss: Callable[[Tensor], Tensor],
        mean: Float[Tensor, "*C n_w"],
        rho: Float[Tensor, "*C n_w"],
        noise: Float[Tensor, "*C n_w"],
    ) -> tuple[Float[Tensor, "*C n_w"], Float[Tensor, "*C n_w"]]:
        """∇_μ and ∇_ρ of loss(μ + softplus(ρ) ε) + β KL(q ‖ N(0, s² I)), the divergence's in closed form.

        That is cheaper than to differentiate `divergence`, and gives the same to the last bit.

        Args:
            loss: of the parameters of networks.
            mean: μ.
            rho: ρ, of which gradients are wanted.
            noise: ε.
        """
        scale, s = softplus(rho), self.prior_scale
        with torch.no_grad():
            theta = mean + scale * noise
        (gradient,) = torch.autograd.grad(loss(theta.requires_grad_()), theta)
        with torch.no_grad():
            ratio, weight = scale / s, mean.new_tensor(self.kl_coefficient)
            by_mean = gradient + mean / s * weight / s
            by_scale = gradient * noise + (ratio * weight - weight / ratio) / s
        return by_mean, torch.autograd.grad(scale, rho, by_scale)[0]

    def divergence(self, mean: Float[Tensor, "*C n_w"], scale: Float[Tensor, "*C n_w"]) -> Float[Tensor, ""]:
        """KL(N(μ, σ²) ‖ N(0, s²)) = Σ [log(s/σ) + (σ² + μ²)/(2 s²) − 1/2]."""
        ratio = scale / self.prior_scale
        return (0.5 * (ratio.square() + (mean / self.prior_scale).square() - 1) - ratio.log()).sum()
