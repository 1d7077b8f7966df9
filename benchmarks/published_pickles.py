"""Reads arrays from pickles of strangers, and runs nothing of theirs.

A pickle is a program: it names functions and has them called. This reader knows the few names that arrays are
stored with, and answers each with a stand-in of its own; any other name is refused before anything is called.
Not even numpy's own functions are: an array's state is read here, because numpy would believe a forged data
type and take bytes for pointers. What is left to a hostile file is to be large.
"""

import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

NUMBERS = {"f4", "f8", "i4", "i8"}
OBJECTS = "O8"
MAX_BYTES = 2**28
"""Of a file, or of a member of an archive when unpacked."""
MAX_DEPTH = 8
"""Of lists within lists."""


class RefusedPickle(ValueError):
    """The pickle asks for something that arrays of numbers do not need."""


class Named:
    """What a pickle gets for a name: it may be called, and nothing about it can be changed."""

    __slots__ = ("_call", "_name")

    def __init__(self, name: str, call: Callable[..., Any] | None) -> None:
        self._name, self._call = name, call

    def __call__(self, *arguments: Any) -> Any:
        """What the pickle asks for.

        Args:
            arguments: what it gives.
        """
        if self._call is None:
            raise RefusedPickle(f"the pickle calls {self._name}")
        return self._call(*arguments)

    def __setstate__(self, state: Any) -> None:
        raise RefusedPickle(f"the pickle changes {self._name}")


class DataType:
    """A data type by its name; the state that pickles add to it says no more than the byte order."""

    def __init__(self, name: str | bytes, *_flags: Any) -> None:
        self.name = _text(name)
        if self.name not in NUMBERS | {OBJECTS}:
            raise RefusedPickle(f"data type {self.name[:40]!r}")

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) < 2 or _text(state[1]) not in {"<", "|"}:
            raise RefusedPickle("a data type that is not little-endian")


class Array:
    """An array in the making: empty, until its state comes."""

    def __init__(self, *_kind: Any) -> None:
        self.value: NDArray[Any] | list[Any] | None = None

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise RefusedPickle("the state of an array has five parts")
        _version, shape, kind, fortran, data = state
        if not isinstance(kind, DataType) or not _is_shape(shape):
            raise RefusedPickle("an array without shape or data type")
        if kind.name == OBJECTS:
            if not isinstance(data, list) or len(shape) != 1 or len(data) != shape[0]:
                raise RefusedPickle("objects that are no list")
            self.value = data
            return
        raw = data.encode("latin1") if isinstance(data, str) else data  # text: written by Python 2
        if not isinstance(raw, bytes):
            raise RefusedPickle("numbers that are no bytes")
        flat = np.frombuffer(raw, np.dtype("<" + kind.name))
        self.value = flat.reshape(shape, order="F" if fortran else "C")


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, tuple) and all(type(size) is int and size >= 0 for size in shape)


def _text(value: Any) -> str:
    """Names are bytes where Python 2 wrote the pickle."""
    text = value.decode("latin1") if isinstance(value, bytes) else value
    if not isinstance(text, str):
        raise RefusedPickle(f"a {type(value).__name__} for a name")
    return text


def _encoded(text: Any, encoding: Any) -> bytes:
    """Bytes in a pickle of protocol 2 are text to encode."""
    if not isinstance(text, str) or encoding != "latin1":
        raise RefusedPickle("text in another encoding than latin1")
    return text.encode("latin1")


def _unchanged(array: Any) -> Array:
    """The array of which a TensorFlow tensor was made."""
    if not isinstance(array, Array):
        raise RefusedPickle("a tensor that is no array")
    return array


ALLOWED: dict[tuple[str, str], Callable[..., Any] | None] = {
    ("numpy", "ndarray"): None,  # only ever an argument
    ("numpy", "dtype"): DataType,
    ("numpy.core.multiarray", "_reconstruct"): Array,
    ("numpy._core.multiarray", "_reconstruct"): Array,
    ("_codecs", "encode"): _encoded,
    ("tensorflow.python.framework.ops", "convert_to_tensor"): _unchanged,
}


class Restricted(pickle.Unpickler):  # noqa: S301 - `find_class` calls nothing that a pickle names
    """An unpickler that knows the names in `ALLOWED` and no others."""

    def find_class(self, module: str, name: str) -> Named:
        """The stand-in of a name.

        Args:
            module: where the pickle says that the name is.
            name: the name.
        """
        if (module, name) not in ALLOWED:
            raise RefusedPickle(f"the pickle names {module}.{name}"[:120])
        return Named(f"{module}.{name}", ALLOWED[module, name])


def loads(data: bytes) -> Any:
    """Arrays in lists, from a pickle.

    Args:
        data: the pickle.
    """
    return _plain(Restricted(io.BytesIO(data), encoding="bytes").load(), MAX_DEPTH)


def _plain(value: Any, depth: int) -> Any:
    """The lists and arrays of a pickle, without the stand-ins."""
    if depth == 0:
        raise RefusedPickle(f"lists more than {MAX_DEPTH} deep")
    if isinstance(value, Array):
        value = value.value
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, list | tuple):
        return [_plain(one, depth - 1) for one in value]
    raise RefusedPickle(f"a {type(value).__name__} where an array should be")


def read_arrays(path: Path) -> Any:
    """Arrays in lists, from a pickle, a `.npy` file with or without a pickle in it, or `arr_0` of an archive.

    Args:
        path: the file; its contents say what it is, not its name.
    """
    if path.stat().st_size > MAX_BYTES:
        raise RefusedPickle(f"{path.name} is larger than {MAX_BYTES} bytes")
    data = path.read_bytes()
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            member = archive.getinfo("arr_0.npy")
            if member.file_size > MAX_BYTES:
                raise RefusedPickle(f"{path.name} unpacks to more than {MAX_BYTES} bytes")
            data = archive.read(member)
    return _from_npy(data) if data.startswith(npy.MAGIC_PREFIX) else loads(data)


def _from_npy(data: bytes) -> Any:
    stream = io.BytesIO(data)
    version = npy.read_magic(stream)
    header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if version not in header:
        raise RefusedPickle(f"version {version} of the .npy format")
    _shape, _fortran, kind = header[version](stream)
    if kind.hasobject:
        return loads(data[stream.tell() :])
    return np.load(io.BytesIO(data), allow_pickle=False)
