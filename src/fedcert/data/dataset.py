"""Data sets as tensors, and random subsets of them."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from fedcert.errors import DataError
from fedcert.model.features import Feature


@dataclass(frozen=True)
class Split:
    """Inputs and their labels: images in [0, 1], or scaled measurements.

    Attributes:
        x: inputs, one flat vector each.
        label: classes, counted from 0.
        index: the position of each example in the data that it was taken from; None where unknown.
        error: the measurement error of each value, in the units of x; None for images.
        client: whose each example is; None where the examples are still to be shared out.
    """

    x: Float[Tensor, "n p"]
    label: Int64[Tensor, "n"]
    index: Int64[Tensor, "n"] | None = None
    error: Float64[Tensor, "n p"] | None = None
    client: Int64[Tensor, "n"] | None = None

    def __post_init__(self) -> None:
        if len(self.x) != len(self.label):
            raise DataError(f"{len(self.x)} inputs but {len(self.label)} labels")

    def numbered(self) -> "Split":
        """The same examples, each with its position."""
        return replace(self, index=torch.arange(len(self)))

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: Int64[Tensor, " k"] | slice) -> "Split":
        return self._each(lambda own: own[index])

    def to(self, device: torch.device | str) -> "Split":
        """The same examples on another device."""
        return self._each(lambda own: own.to(device))

    def _each(self, change: Callable[[Tensor], Tensor]) -> "Split":
        """The split with every tensor changed."""
        known = {own.name: getattr(self, own.name) for own in fields(self)}
        return replace(self, **{name: change(own) for name, own in known.items() if own is not None})


@dataclass(frozen=True)
class Dataset:
    """Training and test data.

    Attributes:
        train: what is split among the clients.
        test: what properties are chosen from; None where the data come without a split.
        classes: K.
        image_shape: how to draw an input; None for one that is no image.
        features: which measurement each input coordinate is; None for images.
        clients: the names of those whose examples these are; None where they are still to be shared out.
    """

    train: Split
    test: Split | None
    classes: int
    image_shape: tuple[int, int] | None
    features: tuple[Feature, ...] | None = None
    clients: tuple[str, ...] | None = None

    def numbered(self) -> "Dataset":
        """The same data, each example with its position."""
        test = None if self.test is None else self.test.numbered()
        return replace(self, train=self.train.numbered(), test=test)

    def subset(self, train: int, test: int, generator: torch.Generator) -> tuple[Split, Split]:
        """Random subsets of at most these sizes; data that come without a split are cut 80/20.

        Args:
            train: the most training examples.
            test: the most test examples.
            generator: the source of randomness.
        """
        if self.test is None:
            order = torch.randperm(len(self.train), generator=generator)
            cut = len(order) * 4 // 5
            return self.train[order[:cut][:train]], self.train[order[cut:][:test]]
        chosen = torch.randperm(len(self.train), generator=generator)[:train]
        chosen_test = torch.randperm(len(self.test), generator=generator)[:test]
        return self.train[chosen], self.test[chosen_test]
