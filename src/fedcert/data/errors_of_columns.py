"""Measurement errors as users write them: `chol = "5 %"`, `trestbps = "5 mmHg"`, `oldpeak = 0.1`."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import DataError, InvalidConfig
from fedcert.numerics.rounding import up

WRITTEN = re.compile(r"\s*(?:±|\+-)?\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*(\S.*?)?\s*")


@dataclass(frozen=True)
class ColumnError:
    """By how much a measurement may differ from the true value.

    Attributes:
        amount: ≥ 0, in the unit of the column, or in per cent of the value.
        unit: of the column; empty where it is not said.
        relative: whether the amount is in per cent of the value.
    """

    amount: float
    unit: str
    relative: bool

    @classmethod
    def read(cls, column: str, text: str) -> "ColumnError":
        """The error that a text states.

        Args:
            column: its column, for errors.
            text: such as "5 %", "5 mmHg" or "0.1".
        """
        found = WRITTEN.fullmatch(text)
        amount = float(found[1]) if found else inf
        if found is None or not amount < inf:
            raise InvalidConfig(
                f"errors: {column[:80]}: {text[:40]!r} is not a number ≥ 0, alone, in per cent or with a unit"
            )
        unit = found[2] or ""
        return cls(amount, "" if unit == "%" else unit, unit == "%")

    def weights(self, measured: Float64[Tensor, "n"], scale: float) -> Float64[Tensor, "n"]:
        """The error of each value in scaled units: at least what is stated, whatever was rounded.

        Args:
            measured: the values.
            scale: a power of two, so that the division is exact.
        """
        if not self.relative:
            return torch.full_like(measured, self.amount / scale)
        share = up(up(up(self.amount * measured.abs()) / 100) / scale)
        return torch.where((measured == 0) | (self.amount == 0), torch.zeros_like(share), share)


def read_errors_file(path: Path) -> dict[str, str]:
    """The errors in a TOML file, one line a column.

    Args:
        path: of the file.
    """
    try:
        return written(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: not a readable table of measurement errors ({error})") from error


def written(entries: Mapping[str, Any]) -> dict[str, str]:
    """Errors as texts by column; numbers are in the unit of the column.

    Args:
        entries: texts or numbers.
    """
    for column, value in entries.items():
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise InvalidConfig(f"errors: {column[:80]}: give a number, or a text such as '5 %'")
    return {column: value if isinstance(value, str) else repr(value) for column, value in entries.items()}
