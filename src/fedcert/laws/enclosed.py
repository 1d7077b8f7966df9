"""A Gaussian that is known up to an error: what sums of clients' summands say of the deployed law."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidLaw
from fedcert.laws.diagonal import DiagonalGaussian


@dataclass(frozen=True)
class EnclosedGaussian:
    """Some N(μ*, diag σ*²) with |μ* − μ| ≤ e and |σ*/σ − 1| ≤ r, coordinate by coordinate.

    A claim of such a law holds for every law within the errors.

    Attributes:
        gaussian: μ, σ > 0, e (`loc_error`) and r (`scale_error`).

    Examples:
        >>> one = torch.ones(3).double()
        >>> EnclosedGaussian(DiagonalGaussian(one, one, 1e-9 * one, 1e-6)).dimension
        3
    """

    kind: ClassVar[str] = "enclosed-gaussian"
    fields: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "loc": ("n_w",), "scale": ("n_w",), "loc_error": ("n_w",), "scale_error": ("one",),
    }  # fmt: skip
    limits: ClassVar[Mapping[str, int]] = {"one": 1}

    gaussian: DiagonalGaussian

    def __post_init__(self) -> None:
        error = self.gaussian.loc_error
        if error is None or not ((error >= 0) & (error < torch.inf)).all():
            raise InvalidLaw("the error of the mean of an enclosed law must be a finite number ≥ 0")
        if not (self.gaussian.scale > 0).all():
            raise InvalidLaw("an enclosed law has no fixed parameters: its scales must be positive")

    @property
    def dimension(self) -> int:
        """n_w, the length of a parameter vector."""
        return self.gaussian.dimension

    @property
    def loc(self) -> Float64[Tensor, "n_w"]:
        """μ."""
        return self.gaussian.loc

    @property
    def components(self) -> tuple[DiagonalGaussian, ...]:
        """The Gaussian with its errors."""
        return (self.gaussian,)

    def tensors(self) -> Mapping[str, Tensor]:
        """μ, σ and their errors."""
        own = self.gaussian
        assert own.loc_error is not None  # __post_init__
        relative = own.loc.new_tensor([own.scale_error])
        return {"loc": own.loc, "scale": own.scale, "loc_error": own.loc_error, "scale_error": relative}

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, Tensor], naming: Callable[[str], AbstractContextManager[None]]
    ) -> "EnclosedGaussian":
        """The law that a file states; what is wrong is said of its field.

        Args:
            tensors: by field.
            naming: errors inside `naming(field)` name the field.
        """
        with naming("loc"):
            DiagonalGaussian(tensors["loc"], torch.ones_like(tensors["loc"]))
        with naming("scale"):
            DiagonalGaussian(tensors["loc"], tensors["scale"])
        with naming("loc_error, scale_error"):
            if tensors["scale_error"].shape != (1,):
                raise InvalidLaw("one relative error of all scales is needed")
            relative = tensors["scale_error"].item()
            return cls(DiagonalGaussian(tensors["loc"], tensors["scale"], tensors["loc_error"], relative))

    def to(self, device: torch.device | str) -> "EnclosedGaussian":
        """The same law on another device."""
        return EnclosedGaussian(self.gaussian.to(device))

    def sample(self, count: int, generator: torch.Generator) -> Float64[Tensor, "count n_w"]:
        """Draws from N(μ, diag σ²), one of the laws that are meant."""
        return self.gaussian.sample(count, generator)
