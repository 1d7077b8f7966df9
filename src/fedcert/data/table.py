"""A user's own table: one row an example, one column that says whose it is, one that says its class."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import ClassVar, Literal

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from fedcert.data.csv_table import Columns, digest_of, parse, read_bytes
from fedcert.data.dataset import Dataset, Split
from fedcert.data.errors_of_columns import ColumnError
from fedcert.errors import DataError, InvalidConfig
from fedcert.model.features import Feature, scaled
from fedcert.randomness import stream

MAX_CLASSES = 1_000
MAX_NAME = 64


@dataclass(frozen=True)
class Table:
    """A CSV file and how it is read.

    Attributes:
        data: the file.
        target: the column of classes, which are the integers 0 … K − 1.
        client_column: the column that says whose each row is.
        errors: pairs of a column and its measurement error; every other column is exact. Without any, every
            column may vary by its scale.
        missing: what is done about rows in which a value is missing.
        test_share: the share of each client's rows that is set aside for tests.
        sha256: of the file; a file that was changed is refused. Empty for any content.
    """

    data: Path
    target: str
    client_column: str
    errors: tuple[tuple[str, str], ...] = ()
    missing: Literal["refuse", "drop"] = "refuse"
    test_share: float = 0.25
    sha256: str = ""

    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid"}  # misspelt settings raise

    def __post_init__(self) -> None:
        if not 0 < self.test_share < 1:
            raise InvalidConfig(f"test_share: {self.test_share} does not lie strictly between 0 and 1")
        if self.target == self.client_column:
            raise InvalidConfig("target: the column of classes cannot be that of the clients")

    def columns(self) -> Columns:
        """The rows of the file."""
        content = read_bytes(self.data)
        if self.sha256 not in ("", digest_of(content)):
            raise DataError(
                f"{self.data}: not the file that the run was made from: its SHA-256 digest differs"
            )
        return parse(self.data, content, self.client_column, self.missing == "drop")

    def clients(self) -> tuple[str, ...]:
        """The names of the clients, in the order in which a server reads their messages."""
        return tuple(_clients(self.data, self.columns()))

    def dataset(self, seed: int) -> Dataset:
        """The table as training and test examples of each client.

        Args:
            seed: of the choice of test examples.
        """
        columns = self.columns()
        clients = _clients(self.data, columns)
        label, classes = _labels(self.data, self.target, columns)
        names = [name for name in columns.names if name != self.target]
        if not names:
            raise DataError(f"{self.data}: no column beside those of classes and clients")
        measured = torch.tensor([columns.column(name) for name in names], dtype=torch.float64).T.contiguous()
        whose = torch.tensor([list(clients.values()).index(client) for client in columns.clients])
        tested = self._tested(whose, seed)
        if not tested.any():
            raise DataError(f"{self.data}: no client has enough rows to set any aside for tests")
        errors = self._errors(names)
        features = _features(names, measured[~tested], errors)
        weights = torch.ones_like(measured) if not errors else torch.zeros_like(measured)
        for name, error in errors.items():
            j = names.index(name)
            weights[:, j] = error.weights(measured[:, j], features[j].scale)
        whole = Split(scaled(measured, features), label, None, weights, whose)
        train, test = (whole[chosen.nonzero().squeeze(-1)] for chosen in (~tested, tested))
        return Dataset(train, test, classes, None, features, tuple(clients))

    def _tested(self, whose: Int64[Tensor, "n"], seed: int) -> Tensor:
        """Which rows are set aside: of each client the same share, rounded, but never all."""
        tested = torch.zeros(len(whose), dtype=torch.bool)
        for client in range(int(whose.max()) + 1):
            own = (whose == client).nonzero().squeeze(-1)
            count = min(round(self.test_share * len(own)), len(own) - 1)
            order = torch.randperm(len(own), generator=stream(seed, "test rows", client))
            tested[own[order[:count]]] = True
        return tested

    def _errors(self, names: list[str]) -> dict[str, ColumnError]:
        """The error of each column that has one; hyphens and underscores are the same in TOML files."""
        known = {name.replace("-", "_"): name for name in names}
        for column, _ in self.errors:
            if column.replace("-", "_") not in known:
                near = get_close_matches(column, names, 1)
                meant = f"did you mean {near[0]!r}?" if near else f"the columns are {', '.join(names[:20])}"
                raise InvalidConfig(f"errors: no column {column[:80]!r} of measurements: {meant}")
        return {
            known[column.replace("-", "_")]: ColumnError.read(column, text) for column, text in self.errors
        }


def plain_names(given: Iterable[str], what: str) -> list[str]:
    """Names with letters, digits and `._+-` alone, all different.

    Args:
        given: any texts, all different.
        what: is named, where nothing of a text is left.

    >>> plain_names(["Ward 1", "ward-1", "é"], "client")
    ['Ward-1', 'ward-1-2', 'client']
    """
    found: list[str] = []
    taken: set[str] = set()
    for text in given:
        name = re.sub(r"[^A-Za-z0-9._+-]+", "-", text)[: MAX_NAME - 8].strip("-._+") or what
        unique, count = name, 1
        while unique.casefold() in taken:  # names of files, which some disks do not tell apart by case
            unique, count = f"{name}-{count + 1}", count + 1
        taken.add(unique.casefold())
        found.append(unique)
    return found


def _clients(path: Path, columns: Columns) -> dict[str, str]:
    """Plain name and name in the table of each client, in the order in which a server reads messages."""
    if not columns.numbers:
        raise DataError(f"{path}: no row without a missing value")
    given = sorted(set(columns.clients))
    named = dict(zip(plain_names(given, "client"), given, strict=True))
    return dict(sorted(named.items(), key=lambda own: (len(own[0]), own[0])))


def _labels(path: Path, target: str, columns: Columns) -> tuple[Int64[Tensor, "n"], int]:
    if target not in columns.names:
        raise DataError(f"{path}: no column {target[:80]!r}: the columns are {', '.join(columns.names[:20])}")
    values = sorted(set(columns.column(target)))
    if len(values) > MAX_CLASSES or values != [float(k) for k in range(len(values))]:
        shown = ", ".join(f"{value:g}" for value in values[:5])
        raise DataError(
            f"{path}: column {target!r}: classes are the integers 0, 1, … without a gap, at most"
            f" {MAX_CLASSES:,} of them; found {shown}{', …' if len(values) > 5 else ''}"
        )
    if len(values) < 2:
        raise DataError(
            f"{path}: column {target!r}: all rows are of one class: there is nothing to tell apart"
        )
    return torch.tensor(columns.column(target)).long(), len(values)


def _features(
    names: list[str], measured: Float64[Tensor, "n p"], errors: dict[str, ColumnError]
) -> tuple[Feature, ...]:
    """Shift and scale of each column, roughly its mean and deviation.

    Scales are powers of two and shifts multiples of them: little is said of the data, and nothing is lost.
    """
    features = []
    for j, (name, plain) in enumerate(zip(names, plain_names(names, "column"), strict=True)):
        column = measured[:, j]
        spread = column.std(correction=0).item()
        scale = 2.0 ** round(math.log2(spread)) if spread > 0 else 1.0
        shift = round(column.mean().item() / scale) * scale
        unit = errors[name].unit if name in errors else ""
        features.append(Feature(plain, unit, float(shift), scale))
    return tuple(features)
