"""Safetensors files from strangers: nothing is executed, and memory stays within limits."""

import json
import math
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from fedcert_check.errors import UnreadableFile

Arrays = dict[str, NDArray[Any]]
METADATA = "__metadata__"
LENGTH = 8  # bytes that hold the length of the header
MAX_AXES = 8
DTYPES = {
    "BOOL": np.dtype("?"),
    "U8": np.dtype("u1"),
    "I8": np.dtype("i1"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}


@dataclass(frozen=True)
class Limits:
    """Maximum sizes of a file and its parts, all checked before the file's tensors are touched.

    Attributes:
        file_bytes: of the whole file, and so of all tensors together.
        header_bytes: of the JSON header.
        tensor_bytes: of one tensor; also the maximum length of one axis.
        tensors: the number of tensors.
    """

    file_bytes: int = 2**30
    header_bytes: int = 2**20
    tensor_bytes: int = 2**30
    tensors: int = 1000


def read(path: Path, limits: Limits | None = None) -> tuple[dict[str, str], Arrays]:
    """The metadata and the tensors of a file, or `UnreadableFile` with the file and the field.

    The file is read once, so that what was checked is what is used. Its size, the length of its header
    and what the header declares of every tensor are held against the limits first. The tensors must fill
    the rest of the file, each its own part; the arrays are views of these parts.

    Args:
        path: the file.
        limits: maximum sizes; the default ones where None.
    """
    limits = limits or Limits()
    try:
        content = bytes_of(path, limits.file_bytes)
        header = _header(content, limits)
        metadata = header.pop(METADATA, {})
        _check_metadata(metadata)
        if len(header) > limits.tensors:
            raise UnreadableFile(f"header: {len(header)} tensors, more than {limits.tensors}")
        for name, entry in header.items():
            _check_entry(name, entry, limits)
        data = memoryview(content)[LENGTH + int.from_bytes(content[:LENGTH], "little") :]
        _check_layout(header, len(data))
        return metadata, {name: _array(name, entry, data) for name, entry in header.items()}
    except OSError as error:
        raise UnreadableFile(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UnreadableFile(f"{path}: {error}") from error


def read_metadata(path: Path, limits: Limits) -> tuple[dict[str, str], int]:
    """The metadata of a file and its size in bytes, without its tensors; or `UnreadableFile`.

    Args:
        path: the file.
        limits: maximum sizes.
    """
    try:
        with _opened(path) as file:
            size = _size(file, limits.file_bytes)
            start = file.read(LENGTH)
            length = min(int.from_bytes(start, "little"), limits.header_bytes + 1)
            metadata = _header(start + file.read(length), limits).get(METADATA, {})
        _check_metadata(metadata)
        return metadata, size
    except OSError as error:
        raise UnreadableFile(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UnreadableFile(f"{path}: {error}") from error


def bytes_of(path: Path, most: int) -> bytes:
    """All bytes of a regular file; a pipe or a device raises at once.

    Args:
        path: the file.
        most: its maximum size.
    """
    with _opened(path) as file:
        _size(file, most)
        return file.read(most)


def _opened(path: Path) -> BinaryIO:
    return open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))


def _size(file: BinaryIO, most: int) -> int:
    """The size of a regular file; one that is larger than `most` bytes, or not a regular file, raises."""
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFile("not a regular file")
    if status.st_size > most:
        raise UnreadableFile(f"file: {status.st_size} bytes, more than {most}")
    return status.st_size


def _header(content: bytes, limits: Limits) -> dict[str, Any]:
    length = int.from_bytes(content[:LENGTH], "little")
    if len(content) < LENGTH or length > len(content) - LENGTH:
        raise UnreadableFile("header: the file is truncated or is not a safetensors file")
    if length > limits.header_bytes:
        raise UnreadableFile(f"header: {length} bytes, more than {limits.header_bytes}")
    try:
        header = json.loads(content[LENGTH : LENGTH + length].decode(), object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError) as error:
        raise UnreadableFile(f"header: not a safetensors header ({str(error)[:80]})") from error
    if not isinstance(header, dict):
        raise UnreadableFile("header: not a JSON object")
    return header


def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object in which no name appears twice: readers disagree on what that would mean."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a name appears twice")
    return entries


def _check_metadata(metadata: object) -> None:
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise UnreadableFile("header: metadata must map names to strings")
    for text in (*metadata, *metadata.values()):
        _check_text(text)


def _check_text(text: str) -> None:
    """Whether a text has a digest: half a character of two has none."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UnreadableFile(f"header: {text[:40]!r} is no text") from error


def _check_entry(name: str, entry: object, limits: Limits) -> None:
    """Whether a tensor's entry is well-formed and what it declares is allowed."""
    _check_text(name)
    field = f"tensor {name[:60]!r}"
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise UnreadableFile(f"{field}: an entry must have dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise UnreadableFile(f"{field}: type {str(dtype)[:20]!r}, not one of {', '.join(DTYPES)}")
    if not _naturals(shape, limits.tensor_bytes) or len(shape) > MAX_AXES:
        raise UnreadableFile(f"{field}: shape {str(shape)[:60]}")
    size = math.prod(shape) * DTYPES[dtype].itemsize
    if size > limits.tensor_bytes:
        raise UnreadableFile(f"{field}: {size} bytes, more than {limits.tensor_bytes}")
    if not _naturals(offsets, limits.file_bytes) or len(offsets) != 2 or offsets[1] - offsets[0] != size:
        raise UnreadableFile(f"{field}: {size} bytes declared at {str(offsets)[:60]}")


def _naturals(values: object, most: int) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value <= most for value in values)


def _check_layout(header: dict[str, Any], size: int) -> None:
    """Whether the tensors, one after the other, fill all the bytes that follow the header."""
    end = 0
    for start, stop in sorted(entry["data_offsets"] for entry in header.values()):
        if start != end:
            raise UnreadableFile("tensors: they overlap, or leave bytes that belong to no tensor")
        end = stop
    if end != size:
        raise UnreadableFile(
            f"tensors: {end} bytes declared, {size} present: the file is truncated or too long"
        )


def _array(name: str, entry: dict[str, Any], data: memoryview) -> NDArray[Any]:
    own = data[slice(*entry["data_offsets"])]
    if entry["dtype"] == "BOOL" and bytes(own).translate(None, b"\x00\x01"):
        raise UnreadableFile(f"tensor {name[:60]!r}: a truth value is neither 0 nor 1")
    return np.frombuffer(own, DTYPES[entry["dtype"]]).reshape(entry["shape"])
