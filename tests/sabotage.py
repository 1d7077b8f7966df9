"""Taking charges away from the rounding analysis, to see that they are needed."""

import sys

import pytest
import torch
from torch import Tensor

from fedcert.numerics import rounding as numerics
from fedcert.numerics.enclosure import Enclosure, Operand, enclosed
from fedcert.numerics.rounding import down


def free(roundings: int, magnitude: Tensor) -> Tensor:
    """A `rounding_error` that charges nothing."""
    return torch.zeros_like(magnitude)


def uncharged(monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    """Take `rounding_error` away from one function, wherever it is defined."""
    original = numerics.rounding_error

    def charge(roundings: int, magnitude: Tensor) -> Tensor:
        caller = sys._getframe(1).f_code.co_name
        return free(roundings, magnitude) if caller == function else original(roundings, magnitude)

    everywhere(monkeypatch, "rounding_error", charge)


def unmoved(x: Tensor) -> Tensor:
    """A `down` or `up` that stays where it is."""
    return x


def everywhere(monkeypatch: pytest.MonkeyPatch, name: str, replacement: object) -> None:
    """Replace a function of `numerics` in every module that uses it."""
    original = getattr(numerics, name)
    for module in [m for key, m in sys.modules.items() if key.split(".")[0] == "fedcert"]:
        if getattr(module, name, None) is original:
            monkeypatch.setattr(module, name, replacement)


def ignoring_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Squares that may underflow, and a quotient that rounds its divisor below zero."""
    monkeypatch.setattr(Enclosure, "norm", lambda x: x.square().sum().sqrt())

    def quotient(x: Enclosure, y: Operand) -> Enclosure:
        return Enclosure.exactly(down(x.lower / down(enclosed(y).lower)))

    monkeypatch.setattr(Enclosure, "__truediv__", quotient)
