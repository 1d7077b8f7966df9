"""What a block offers, and what blocks share: draws, weights, and numbers that a message may hold."""

from typing import ClassVar, Protocol, runtime_checkable

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidLaw
from fedcert.laws.diagonal import LARGEST, SMALLEST


@runtime_checkable
class Block(Protocol):
    """T z for independent standard normals z: noise of the parameters start, …, start + size − 1.

    A block is stated by its type, two lengths and some numbers, of which the last ones scale it.
    """

    code: ClassVar[int]

    @property
    def start(self) -> int:
        """The first parameter."""
        ...

    @property
    def size(self) -> int:
        """The number of parameters."""
        ...

    @property
    def lengths(self) -> tuple[int, int]:
        """What the file says of its shape."""
        ...

    @property
    def random(self) -> bool:
        """Whether there is any noise."""
        ...

    @property
    def scaling(self) -> Float64[Tensor, "..."]:
        """Those of its numbers that scale it."""
        ...

    def numbers(self) -> Float64[Tensor, "N"]:
        """All that it is stated by."""
        ...

    def times(self, weight: Float64[Tensor, ""]) -> "Block":
        """The block w T: every entry of its scale is rounded once."""
        ...

    def to(self, device: torch.device | str) -> "Block":
        """The same block on another device."""
        ...

    @property
    def columns(self) -> int:
        """The number of standard normals z."""
        ...

    def noise(self, z: Float64[Tensor, "B q"]) -> Float64[Tensor, "B n"]:
        """T z, in floating point."""
        ...

    @property
    def roundings(self) -> int:
        """The number of roundings on the way of any one term of `noise`."""
        ...

    @property
    def reach(self) -> Float64[Tensor, "n"]:
        """Upper bounds of Σ_q |T_aq|, with room for what underflow may lose (docs/soundness.md, 12)."""
        ...


FLOOR = 2.0**-900
"""Added to the sums of a block's absolute values: 2^-50 times it is far more than underflow may lose."""


def outward(sums: Float64[Tensor, "*shape"]) -> Float64[Tensor, "*shape"]:
    """Upper bounds of sums of non-negative numbers, fewer than 2^30, whose computation may have underflowed.

    Args:
        sums: as floating point found them.
    """
    return sums * (1 + 2.0**-20) + FLOOR


def normals(generator: torch.Generator, like: Tensor, *shape: int) -> Tensor:
    """Standard normals, drawn on the generator's device in single precision.

    Args:
        generator: their source.
        like: a tensor of the device and type that they are wanted in.
        *shape: of the tensor.
    """
    drawn = torch.randn(*shape, generator=generator, device=generator.device, dtype=torch.float32)
    return drawn.to(like.device, like.dtype)


def scaled(values: Float64[Tensor, "*shape"], weight: Float64[Tensor, ""]) -> Float64[Tensor, "*shape"]:
    """The products of values and a weight; one that underflows raises.

    Args:
        values: of any sign.
        weight: of any sign.
    """
    product = values * weight
    if weight != 0 and ((product == 0) & (values != 0)).any():
        raise InvalidLaw("the deployed factor is too small for double precision, but not 0")
    return product


def check_numbers(what: str, values: Tensor) -> None:
    """Raise unless numbers are 0 or from `SMALLEST` to `LARGEST` in absolute value.

    Args:
        what: one of them is, for the error.
        values: the numbers.
    """
    size = values.abs()
    allowed = ((size >= SMALLEST) & (size <= LARGEST)) | (size == 0)
    if not allowed.all():
        raise InvalidLaw(
            f"{what} must be 0 or lie in [{SMALLEST}, {LARGEST}] in absolute value; found"
            f" {values[~allowed].flatten()[0].item()}"
        )
