"""Batch normalisation with fixed statistics: a scale and a shift of every neuron or channel.

In evaluation mode nn.BatchNorm1d and nn.BatchNorm2d map y to s∘y + t with s = γ/√(v + ε) and t = β − m∘s, for
each neuron or for each channel of an image. After a layer W x + b, or a convolution, in which a row of W and
an entry of b belong to each channel, it is that layer with the parameters diag(s) W and s∘b + t. Numbers s
and t that are fixed keep independent parameters independent: their deviations are multiplied by |s|, and a
random β adds its variance to the bias. A random γ would make the rows of a layer dependent, so it is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor, nn

from fedcert.errors import InvalidLaw, UnsupportedLayer

Moments = tuple[Tensor, Tensor]
"""Means and deviations of one parameter."""
Lookup = Callable[[str], Moments]
"""Means and deviations by name, in double precision."""


@dataclass(frozen=True)
class BatchNorm:
    """One nn.BatchNorm1d or nn.BatchNorm2d in evaluation mode.

    Attributes:
        name: of the module.
        width: the number of neurons or channels.
        epsilon: ε.
        affine: whether it has γ and β; without them they are 1 and 0.
    """

    name: str
    width: int
    epsilon: float
    affine: bool

    @classmethod
    def from_module(cls, name: str, module: nn.BatchNorm1d | nn.BatchNorm2d) -> "BatchNorm":
        """Read a module that normalises by its running statistics.

        Args:
            name: of the module.
            module: the torch module.
        """
        if module.training:
            raise UnsupportedLayer("it is in training mode: call .eval() first")
        if module.running_mean is None or module.running_var is None:
            raise UnsupportedLayer("it normalises by each batch: supported are running statistics")
        return cls(name, module.num_features, module.eps, module.affine)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of γ and β, if there are any."""
        return (f"{self.name}.weight", f"{self.name}.bias") if self.affine else ()

    @property
    def statistics(self) -> tuple[str, str]:
        """The names of m and v."""
        return f"{self.name}.running_mean", f"{self.name}.running_var"

    def fold(self, weight: Moments, bias: Moments, lookup: Lookup) -> tuple[Moments, Moments]:
        """The parameters of the layer before it, with scale and shift.

        Args:
            weight: W, of shape (width, inputs) or, of a convolution, (width, channels, height, width).
            bias: b.
            lookup: the module's parameters and statistics.
        """
        scale, shift, spread = self._scale_and_shift(lookup)
        size = scale.abs()
        rows = (-1, *[1] * (weight[0].dim() - 1))
        return (
            (scale.view(rows) * weight[0], size.view(rows) * weight[1]),
            (scale * bias[0] + shift, torch.hypot(size * bias[1], spread)),
        )

    def _scale_and_shift(
        self, lookup: Lookup
    ) -> tuple[Float64[Tensor, "width"], Float64[Tensor, "width"], Float64[Tensor, "width"]]:
        """s, t, and the deviation of t."""
        (mean, mean_spread), (variance, variance_spread) = (lookup(name) for name in self.statistics)
        gamma, gamma_spread = torch.ones_like(mean), torch.zeros_like(mean)
        beta, beta_spread = torch.zeros_like(mean), torch.zeros_like(mean)
        if self.affine:
            (gamma, gamma_spread), (beta, beta_spread) = (lookup(name) for name in self.parameters)
        for what, spread in (
            ("weight", gamma_spread), ("running_mean", mean_spread), ("running_var", variance_spread),
        ):  # fmt: skip
            if (spread != 0).any():
                raise InvalidLaw(
                    f"{self.name}.{what} is random: a batch normalisation with a random scale makes the"
                    " neurons' weights dependent; give it the deviation 0 (train it without a posterior)"
                )
        scale = gamma / torch.sqrt(variance + self.epsilon)
        return scale, beta - mean * scale, beta_spread
