"""Data sets as tensors, and random subsets of them."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from fedcert.errors import DataError


@dataclass(frozen=True)
class Split:
    """Inputs in [0, 1] and their labels.

    Attributes:
        x: inputs, one flat vector each.
        label: classes, counted from 0.
    """

    x: Float[Tensor, "n p"]
    label: Int64[Tensor, "n"]

    def __post_init__(self) -> None:
        if len(self.x) != len(self.label):
            raise DataError(f"{len(self.x)} inputs but {len(self.label)} labels")

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: Int64[Tensor, " k"]) -> "Split":
        return Split(self.x[index], self.label[index])

    def to(self, device: torch.device | str) -> "Split":
        """The same examples on another device."""
        return Split(self.x.to(device), self.label.to(device))


@dataclass(frozen=True)
class Dataset:
    """Training and test data.

    Attributes:
        train: what is split among the clients.
        test: what properties are chosen from; None where the data come without a split.
        classes: K.
        image_shape: how to draw an input.
    """

    train: Split
    test: Split | None
    classes: int
    image_shape: tuple[int, int]

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
