"""Laplace's approximation: a Gaussian around the most probable parameters, as wide as the loss is flat."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from fedcert.errors import DataError, InvalidConfig
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import Network
from fedcert.progress import Tracker, silent
from fedcert.training.adam import Adam
from fedcert.training.evidence import best_precision
from fedcert.training.fisher import diagonal_fisher


@dataclass(frozen=True)
class Laplace:
    """N(θ*, diag (F/β + δ)^-1) around the θ* that minimises the mean cross entropy + β δ ‖θ‖² / 2.

    F is the diagonal Fisher information of one example (`fisher.py`), δ = s^-2 the precision of the prior
    N(0, s² I). β is that of Bayes by Backprop: both approximate the posterior in which the likelihood of n
    examples counts as that of 1/β, so β = 1/n is Bayes' posterior with its precision n F + δ, and a smaller β
    is a colder one. A diagonal Laplace law at β = 1/n is so wide that networks drawn from it classify badly.

    Attributes:
        epochs: passes over the client's data.
        batch_size: examples a step.
        learning_rate: Adam's.
        kl_coefficient: β; None for 1/n.
        prior_scale: s; where None, 1 in training, and then what maximises the marginal likelihood for each
            client (`evidence.py`).
        prior_precision: δ of the law, if it is to be another one than in training, where s is 1 then.
    """

    epochs: int = 5
    batch_size: int = 128
    learning_rate: float = 1e-3
    kl_coefficient: float | None = 1e-4
    prior_scale: float | None = None
    prior_precision: float | None = None

    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid"}  # misspelt settings raise

    def __post_init__(self) -> None:
        if self.epochs < 0 or self.batch_size < 1:
            raise InvalidConfig("epochs must be ≥ 0 and a batch must hold at least one example")
        if not 0 < self.learning_rate < inf:
            raise InvalidConfig("the learning rate must be a finite number > 0")
        for name in ("kl_coefficient", "prior_scale", "prior_precision"):
            value = getattr(self, name)
            if value is not None and not 1e-12 <= value <= 1e12:
                words = name.replace("_", " ").replace("kl", "KL")
                raise InvalidConfig(f"the {words} must be a number in [1e-12, 1e12]")
        if self.prior_scale is not None and self.prior_precision is not None:
            raise InvalidConfig(
                "give the prior scale, for training and law, or the prior precision, not both"
            )

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
            initial: the initial θ, the same for all clients.
            generator: the source of randomness.
            track: shows progress.
        """
        mode = self.mode(network, x, label, initial, generator, track)
        curvature = diagonal_fisher(network, mode, x.double()) / self.temper(len(x))
        return DiagonalGaussian(mode, (curvature + self.precision(mode, curvature)).rsqrt())

    def temper(self, count: int) -> float:
        """β.

        Args:
            count: n, the number of examples.
        """
        return 1 / count if self.kl_coefficient is None else self.kl_coefficient

    def precision(self, theta: Float64[Tensor, "n"], curvature: Float64[Tensor, "n"]) -> float:
        """δ: as it was given, or what maximises the marginal likelihood.

        Args:
            theta: the parameters that the law is about, at the mode.
            curvature: the eigenvalues of the curvature of their negative log-likelihood.
        """
        if self.prior_precision is not None:
            return self.prior_precision
        return best_precision(theta, curvature) if self.prior_scale is None else self.prior_scale**-2

    def mode(
        self,
        network: Network,
        x: Float[Tensor, "n p"],
        label: Int[Tensor, "n"],
        initial: Float[Tensor, "n_w"],
        generator: torch.Generator,
        track: Tracker = silent,
    ) -> Float64[Tensor, "n_w"]:
        """θ*, by Adam; the arguments are those of a trainer."""
        if len(x) == 0:
            raise DataError("a client without examples cannot train")
        decay = self.temper(len(x)) / (self.prior_scale or 1.0) ** 2
        theta = initial.detach().clone().requires_grad_()
        optimiser = Adam([theta], self.learning_rate)
        for _ in track(range(self.epochs), "training", self.epochs):
            for batch in torch.randperm(len(x), generator=generator).split(self.batch_size):
                loss = cross_entropy(network(theta, x[batch]), label[batch])
                loss = loss + 0.5 * decay * theta.square().sum()
                optimiser.step(loss)
        return theta.detach().double()
