"""The laws that a message can state, by the name that the file gives them."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol, runtime_checkable

import torch
from torch import Tensor

from fedcert.errors import InvalidLaw
from fedcert.laws.block import BlockGaussian
from fedcert.laws.dense import DenseGaussian
from fedcert.laws.diagonal import DiagonalGaussian
from fedcert.laws.enclosed import EnclosedGaussian
from fedcert.laws.mixture import GaussianMixture
from fedcert.laws.protocol import Law

Naming = Callable[[str], AbstractContextManager[None]]  # errors inside name the field


@runtime_checkable
class StatedLaw(Law, Protocol):
    """A law that a client can state exactly, by some tensors of double precision.

    Attributes:
        kind: its name in files.
        fields: the shape of each tensor, in letters; n_w is the number of parameters. A class may state
            `limits`, the maximum of some of these letters in a message.
    """

    kind: ClassVar[str]
    fields: ClassVar[Mapping[str, tuple[str, ...]]]

    def tensors(self) -> Mapping[str, Tensor]:
        """What the file holds, by field; a law that is not exact raises."""
        ...

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], naming: Naming) -> "StatedLaw":
        """The law that a file states; what is wrong is said of its field.

        Args:
            tensors: by field.
            naming: errors inside `naming(field)` name the field.
        """
        ...

    def to(self, device: torch.device | str) -> "StatedLaw":
        """The same law on another device."""
        ...


LawType = Any  # a class of `StatedLaw`s: Python cannot check classes against a protocol that has data
_LAWS: dict[str, LawType] = {}


def register_law(law: LawType) -> None:
    """Make a law known under its name.

    Args:
        law: the class.

    Examples:
        >>> register_law(DiagonalGaussian)
        Traceback (most recent call last):
            ...
        fedcert.errors.InvalidLaw: a law named diagonal-gaussian is known already
        explained in docs/posteriors.md
    """
    if law.kind in _LAWS:
        raise InvalidLaw(f"a law named {law.kind} is known already")
    _LAWS[law.kind] = law


def law_named(kind: str) -> LawType:
    """The law of a name.

    Args:
        kind: such as "diagonal-gaussian".
    """
    if kind not in _LAWS:
        raise InvalidLaw(f"unknown law {kind[:80]!r}: known are {', '.join(_LAWS)}")
    return _LAWS[kind]


for _law in (DiagonalGaussian, GaussianMixture, EnclosedGaussian, DenseGaussian, BlockGaussian):
    register_law(_law)
