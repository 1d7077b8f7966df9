"""A CSV file as columns of numbers: the first cell that is none is named by row and column."""

import csv
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from fedcert.errors import DataError

MISSING = frozenset({"", "?", "na", "nan", "null", "none"})
MAX_MAGNITUDE = 1e15  # of a number: far beyond it differences of measurements are lost
MAX_BYTES = 2**28


@dataclass(frozen=True)
class Columns:
    """The rows of a table in which no value is missing.

    Attributes:
        names: of the columns, without that of the clients.
        numbers: one list a row, in the order of the names.
        clients: whose each row is, as the table says it.
        dropped: how many rows were left out because a value is missing.
    """

    names: tuple[str, ...]
    numbers: list[list[float]]
    clients: list[str]
    dropped: int

    def column(self, name: str) -> list[float]:
        """The numbers of one column.

        Args:
            name: of the column.
        """
        j = self.names.index(name)
        return [row[j] for row in self.numbers]


def read_bytes(path: Path) -> bytes:
    """The content of a file of moderate size.

    Args:
        path: of the file.
    """
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise DataError(f"{path}: {size:,} bytes, more than {MAX_BYTES:,}")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error


def digest_of(content: bytes) -> str:
    """SHA-256 of a file's content, which names it."""
    return hashlib.sha256(content).hexdigest()


def parse(path: Path, content: bytes, client_column: str, drop: bool) -> Columns:
    """The columns of a table; the first cell that is no number is named by row and column.

    Args:
        path: of the file, for errors.
        content: its bytes.
        client_column: the column that says whose each row is; every other column holds numbers.
        drop: whether rows in which a value is missing are left out; they are refused otherwise.
    """
    header, rows = _rows(path, content)
    if client_column not in header:
        raise DataError(f"{path}: no column {client_column[:80]!r}: the columns are {_listed(header)}")
    own = header.index(client_column)
    names = (*header[:own], *header[own + 1 :])
    numbers, clients, dropped = [], [], 0
    for number, row in rows:
        absent = [name for name, cell in zip(header, row, strict=True) if cell.strip().lower() in MISSING]
        if absent and not drop:
            raise DataError(
                f"{path}: row {number}, column {absent[0]!r}: the value is missing: fill it in, or leave such"
                " rows out with --missing drop"
            )
        if absent:
            dropped += 1
            continue
        clients.append(row[own].strip())
        cells = (*row[:own], *row[own + 1 :])
        numbers.append([_number(path, number, *cell) for cell in zip(names, cells, strict=True)])
    return Columns(names, numbers, clients, dropped)


def _rows(path: Path, content: bytes) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header, and each row with its line number in the file."""
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        lines = [(reader.line_num, row) for row in reader if row]
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not readable as a CSV file in UTF-8 ({error})") from error
    if len(lines) < 2:
        raise DataError(f"{path}: a header and at least one row are needed")
    header = [name.strip() for name in lines[0][1]]
    if "" in header or len(set(header)) < len(header):
        raise DataError(f"{path}: a column without a name, or two of the same name: {_listed(header)}")
    for number, row in lines[1:]:
        if len(row) != len(header):
            raise DataError(f"{path}: row {number} has {len(row)} cells, but there are {len(header)} columns")
    return header, lines[1:]


def _number(path: Path, row: int, column: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = float("nan")
    if not isfinite(value) or "_" in cell:
        raise DataError(f"{path}: row {row}, column {column!r}: {cell[:40]!r} is not a finite number")
    if abs(value) > MAX_MAGNITUDE:
        raise DataError(f"{path}: row {row}, column {column!r}: {cell[:40]} is beyond ± {MAX_MAGNITUDE:g}")
    return value


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(name[:40] for name in names[:20])
    return f"{shown}, …" if len(names) > 20 else shown
