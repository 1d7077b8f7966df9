"""Arrays that a user gives in an .npz file; nothing in it is executed, and errors name file and array."""

import io
import zipfile
import zlib
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float64, Int64
from numpy.typing import NDArray
from torch import Tensor

from fedcert.errors import InvalidInputs

MAX_UNPACKED_BYTES = 2**31
SUFFIX = ".npy"


class Arrays:
    """The arrays of an .npz file, each read when it is asked for.

    Attributes:
        path: of the file.
        names: of the arrays.
    """

    def __init__(self, path: Path, content: bytes) -> None:
        """Open the file.

        Args:
            path: which errors name.
            content: the bytes of the file.
        """
        self.path = path
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(content))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise InvalidInputs(f"{path}: not an .npz file, as numpy.savez writes it ({error})") from error
        members = self._archive.infolist()
        size = sum(member.file_size for member in members)
        if size > MAX_UNPACKED_BYTES:
            raise InvalidInputs(f"{path}: {size:,} bytes unpacked, more than {MAX_UNPACKED_BYTES:,}")
        self.names = tuple(member.filename.removesuffix(SUFFIX) for member in members)

    def real(self, name: str, *axes: int) -> Float64[Tensor, "..."]:
        """An array of finite numbers, in double precision.

        Args:
            name: of the array.
            *axes: how many axes it may have.
        """
        array = self._read(name, "buif", axes)
        found = torch.from_numpy(array.astype(np.float64))
        if not torch.isfinite(found).all():
            raise InvalidInputs(f"{self.path}: {name}: NaN or infinity")
        return found

    def whole(self, name: str) -> Int64[Tensor, "n"]:
        """An array of integers on one axis.

        Args:
            name: of the array.
        """
        array = self._read(name, "bui", (1,))
        if array.size and int(array.max()) >= 2**63:
            raise InvalidInputs(f"{self.path}: {name}: a number beyond 64 bits")
        return torch.from_numpy(array.astype(np.int64))

    def _read(self, name: str, kinds: str, axes: tuple[int, ...]) -> NDArray[np.generic]:
        if self.names.count(name) != 1:
            held = ", ".join(self.names)[:200] or "nothing"
            raise InvalidInputs(
                f"{self.path}: {name}: no array of this name, or two of them; the file holds {held}"
            )
        try:
            with self._archive.open(name + SUFFIX) as member:
                array = np.lib.format.read_array(member, allow_pickle=False)
        except (
            KeyError,
            ValueError,
            EOFError,
            OSError,
            RuntimeError,
            zipfile.BadZipFile,
            zlib.error,
        ) as error:
            raise InvalidInputs(
                f"{self.path}: {name}: not readable as an array ({str(error)[:120]})"
            ) from error
        if array.dtype.kind not in kinds or array.dtype.itemsize > 8:
            what = "numbers" if "f" in kinds else "integers"
            raise InvalidInputs(
                f"{self.path}: {name}: an array of {array.dtype}, not of {what} of up to 64 bits"
            )
        if array.ndim not in axes:
            raise InvalidInputs(f"{self.path}: {name}: {array.ndim} axes, not {' or '.join(map(str, axes))}")
        return array
