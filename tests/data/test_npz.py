"""Arrays of strangers: read safely, or refused by file and array."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedcert.data import npz
from fedcert.data.npz import Arrays
from fedcert.errors import DataError

PATH = Path("x.npz")


def arrays(**held: Any) -> Arrays:
    content = io.BytesIO()
    np.savez(content, **held)
    return Arrays(PATH, content.getvalue())


def test_numbers_of_any_width_are_read_exactly() -> None:
    held = arrays(x=np.array([[0.1, 2]], dtype=np.float32), y=np.array([3], dtype=np.uint8))
    assert held.real("x", 2).tolist() == [[float(np.float32(0.1)), 2.0]]
    assert held.whole("y").tolist() == [3]
    assert held.names == ("x", "y")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.array([["a"]]), "not of numbers"),
        (np.array([[1j]]), "not of numbers"),
        (np.array([[None]], dtype=object), "not readable"),
        (np.array([[np.nan]]), "NaN"),
        (np.array([[np.inf]]), "NaN or infinity"),
        (np.array([1.0]), "1 axes, not 2"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "not of numbers"),
        (np.zeros((1, 1), dtype=np.longdouble), "up to 64 bits"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused_by_name(value: Any, words: str) -> None:
    with pytest.raises(DataError, match=f"x.npz: x: .*{words}"):
        arrays(x=value).real("x", 2)


def test_labels_are_integers() -> None:
    with pytest.raises(DataError, match=r"x.npz: y: .*integers"):
        arrays(y=[0.0, 1.0]).whole("y")
    with pytest.raises(DataError, match="beyond 64 bits"):
        arrays(y=np.array([2**64 - 1], dtype=np.uint64)).whole("y")


def test_a_missing_array_is_named_with_those_that_are_there() -> None:
    with pytest.raises(DataError, match=r"x\.npz: x: no array of this name.*holds z"):
        arrays(z=1).real("x", 2)


def test_files_that_are_no_archives_or_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="not an"):
        Arrays(PATH, b"no zip")
    broken = io.BytesIO()
    with zipfile.ZipFile(broken, "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00v\x00{'descr': __import__('os')}")
    with pytest.raises(DataError, match=r"x\.npz: x: not readable"):
        Arrays(PATH, broken.getvalue()).real("x", 2)
    monkeypatch.setattr(npz, "MAX_UNPACKED_BYTES", 100)
    with pytest.raises(DataError, match="unpacked, more than 100"):
        arrays(x=np.zeros((10, 10)))
