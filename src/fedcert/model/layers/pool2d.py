"""What layers that pool windows of an image share."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from fedcert.model.layers.windows import Pair, Windows

Own = TypeVar("Own", bound="Pool2d")


class Pool2d:
    """One number for each window, channel by channel, without parameters; a base of frozen dataclasses.

    Attributes:
        image: channels, height and width of the input, which is one flat vector.
        kernel: height and width of a window.
        stride: between windows.
    """

    name: ClassVar[str]
    image: tuple[int, int, int]
    kernel: Pair
    stride: Pair

    def __post_init__(self) -> None:
        _ = self.windows  # which raises if they do not fit

    @property
    @abstractmethod
    def windows(self) -> Windows:
        """The windows of every channel."""
        ...

    @property
    def channels(self) -> int:
        """The number of channels; 1 for an image that `windows` is to refuse."""
        return self.image[0] if self.image else 1

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """No parameters."""
        return ()

    @property
    def inputs(self) -> int:
        """The number of pixels, of all channels."""
        return self.windows.pixels

    def output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """An image of as many channels."""
        return (self.image[0], *self.windows.positions)

    def initialise(self, generator: torch.Generator) -> Float[Tensor, "size"]:
        """No parameters."""
        return torch.zeros(0)

    def describe(self) -> dict[str, Any]:
        """Its fields."""
        fields: dict[str, Any] = asdict(self)  # type: ignore[call-overload]
        return {"type": self.name} | {key: list(own) for key, own in fields.items()}

    @classmethod
    def from_description(cls: type[Own], fields: Mapping[str, Any]) -> Own:
        """The layer with these fields."""
        return cls(**{key: tuple(own) if isinstance(own, list) else own for key, own in fields.items()})
