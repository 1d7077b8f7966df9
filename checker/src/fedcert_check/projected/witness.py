"""The choices that a witness of `projected` events holds, read row by row."""

import numpy as np

from fedcert_check.document import Document
from fedcert_check.projected.affine_part import affine_layers
from fedcert_check.projected.constraint_tails import TailChoice
from fedcert_check.projected.exact import Choices
from fedcert_check.projected.inversion import MAX_TERMS
from fedcert_check.projected.ranges import ChainChoices
from fedcert_check.validation import Array, require

EXACT, CONDITIONAL, STATIC, PIECES, CARRIED = 0, 1, 2, 3, 4
"""The methods that a witness may choose, by the numbers of its tensor `method`."""


class Witness:
    """Tables of choices, read by name; each has one row for each bound that is to be proved again.

    Args:
        document: the certificate.
        prefix: of the names of one block.
        rows: the number of rows; None where nodes say which they need, and each table must have them.
    """

    def __init__(self, document: Document, prefix: str, rows: int | None) -> None:
        self.document, self.prefix, self.rows = document, prefix, rows
        self.widths = [layer.outputs for layer in affine_layers(document.network)]
        self._tables: dict[str, Array] = {}
        self._parts: dict[str, Witness] = {}

    def under(self, prefix: str) -> "Witness":
        """The tables of the same rows whose names go on with this prefix."""
        if prefix not in self._parts:
            self._parts[prefix] = Witness(self.document, self.prefix + prefix, self.rows)
        return self._parts[prefix]

    def _row(self, name: str, dtype: type[np.generic], row: int, *columns: int) -> Array:
        if name not in self._tables:  # looking through a table once is enough
            self._tables[name] = self.document.tensor(self.prefix + name, dtype, self.rows, *columns)
        table = self._tables[name]
        require(row < len(table), f"tensor witness.{self.prefix}{name} has no row {row}")
        return np.asarray(table[row])

    def _floats(self, name: str, row: int, columns: int) -> Array:
        return self._row(name, np.float64, row, columns)

    def _float(self, name: str, row: int) -> float:
        return float(self._row(name, np.float64, row))

    def method(self, row: int) -> int:
        """By which the bound of this row was made."""
        return int(self._row("method", np.uint8, row))

    def point(self, row: int) -> Array:
        """The attack point of an upper bound."""
        return self._floats("point", row, self.document.properties.lower.shape[1])

    def constraint(self, row: int) -> int:
        """The constraint that an upper bound speaks of."""
        r, constraints = int(self._row("constraint", np.int32, row)), self.document.properties.d.shape[1]
        require(0 <= r < constraints, f"{self.prefix}constraint is {r}: no constraint has this index")
        return r

    def _signs(self, row: int) -> list[Array]:
        signs = [
            self._row(f"sign.{place}", np.int8, row, width) for place, width in enumerate(self.widths[:-1])
        ]
        require(all(bool(np.isin(sign, (-1, 0, 1)).all()) for sign in signs), "a sign is not −1, 0 or 1")
        return signs

    def _slopes(self, name: str, row: int, start: int) -> list[Array]:
        slopes = [
            self._floats(f"{name}.{place}", row, self.widths[place])
            for place in range(start, len(self.widths) - 1)
        ]
        require(all(bool(((s >= 0) & (s <= 1)).all()) for s in slopes), "a slope is outside [0, 1]")
        return slopes

    def choices(self, row: int) -> Choices:
        """Those of the method with the first layer's law exact."""
        layers, hidden = len(self.widths), max(1, len(self.widths) - 1)
        ranges = self._floats("ranges", row, hidden)
        movement, deviation = (self._floats(name, row, layers) for name in ("movement", "deviation"))
        for failures in (ranges, movement, deviation):
            require(bool(((failures > 0) & (failures < 1)).all()), "a failure probability outside (0, 1)")
        deep = range(1, layers - 1)
        return Choices(
            ranges,
            movement,
            deviation,
            self._signs(row),
            self._slopes("below", row, 1),
            self._slopes("slope", row, 1),
            [self._floats(f"rate.{place}", row, 2 * self.widths[place]) for place in deep],
            [self._floats(f"mean_rate.{place}", row, self.widths[place]) for place in deep],
            [self._excess("centre", place, row) for place in deep],
            [self._excess("rate", place, row) for place in deep],
            self._tails(row),
        )

    def _excess(self, name: str, place: int, row: int) -> Array:
        """Of lines that may be exceeded; 1 where an older file has no such table, and no such lines."""
        if f"{self.prefix}tail.reach" not in self.document.witness:
            return np.ones(2 * self.widths[place])
        return self._floats(f"excess_{name}.{place}", row, 2 * self.widths[place])

    def _tails(self, row: int) -> list[TailChoice]:
        """How each constraint's tail is bounded; a network of one layer needs no choice."""
        constraints = self.document.properties.d.shape[1]
        if len(self.widths) == 1:
            return [TailChoice(0.0, 0.0, 0.0, 0)] * constraints
        names = ("tail.rate", "tail.centre", "tail.spread")
        numbers = [self._floats(name, row, constraints).tolist() for name in names]
        terms = self._row("tail.terms", np.int32, row, constraints)
        require(
            bool(((terms >= 0) & (terms <= MAX_TERMS)).all()), f"tail.terms is not between 0 and {MAX_TERMS}"
        )
        lowest, reach = self._lowest(row, constraints), self._reach(row, constraints)
        return [TailChoice(*own) for own in zip(*numbers, terms.tolist(), lowest, reach, strict=True)]

    def _reach(self, row: int, constraints: int) -> list[float]:
        """Of lines that may be exceeded; 0, for none, where an older file has no such table."""
        if f"{self.prefix}tail.reach" not in self.document.witness:
            return [0.0] * constraints
        reach = self._floats("tail.reach", row, constraints)
        require(bool((reach >= 0).all()), "tail.reach is negative")
        return [float(own) for own in reach]

    def _lowest(self, row: int, constraints: int) -> list[tuple[float, ...]]:
        """λ of the lower bounds of deviations; 0, for none, where an older file has no such table."""
        later = len(self.widths) - 2
        if f"{self.prefix}tail.lowest" not in self.document.witness:
            return [(0.0,) * later] * constraints
        return [tuple(own) for own in self._row("tail.lowest", np.float64, row, constraints, later).tolist()]

    def chain(self, row: int, method: int) -> ChainChoices:
        """Those of the methods in which every ReLU is a line."""
        require(
            method in (CONDITIONAL, STATIC, CARRIED),
            f"method is {method}, not {CONDITIONAL}, {STATIC} or {CARRIED}",
        )
        failure = self._float("failure", row)
        require(0 < failure < 1, "a failure probability outside (0, 1)")
        hidden = range(len(self.widths) - 1)
        return ChainChoices(
            method != CONDITIONAL,
            self._float("kappa", row),
            failure,
            self._signs(row),
            self._slopes("below", row, 0),
            self._slopes("slope", row, 0),
            self._floats("step", row, self.document.properties.d.shape[1]),
            [self._floats(f"reference.{place}", row, self.widths[place]) for place in hidden],
            self._carried(row) if method == CARRIED else None,
            self._shared(row) if method == CARRIED else None,
        )

    def _carried(self, row: int) -> Array:
        """Whether the noise of each constraint is taken at the inputs."""
        found = self._row("carried", np.uint8, row, self.document.properties.d.shape[1])
        require(bool((found <= 1).all()), "carried is not 0 or 1")
        return found

    def _shared(self, row: int) -> Array | None:
        """What constraints share; None where a file has no such table."""
        if f"{self.prefix}shared" not in self.document.witness:
            return None
        return self._floats("shared", row, self.document.properties.d.shape[1])
