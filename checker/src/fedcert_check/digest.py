"""The digest of a content: which messages and properties a certificate speaks about."""

import hashlib
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike


def digest(header: Mapping[str, str], tensors: Mapping[str, ArrayLike]) -> str:
    """SHA-256 of the content, whatever the layout of the file that carries it.

    Hashed are, with names in order: the number of entries of the header, each key and value; then each
    tensor's name, type, shape and little-endian bytes. Every piece is preceded by its length, so that no
    two contents are hashed as the same bytes.

    Args:
        header: texts by name.
        tensors: by name; equal values of equal type have equal digests.

    >>> digest({"client": "a"}, {"x": np.ones(2)}) == digest({"client": "a"}, {"x": np.ones((2, 1))})
    False
    """
    sha = hashlib.sha256()
    for piece in _pieces(header, tensors):
        sha.update(len(piece).to_bytes(8, "little"))
        sha.update(piece)
    return sha.hexdigest()


def _pieces(header: Mapping[str, str], tensors: Mapping[str, ArrayLike]) -> Iterator[bytes]:
    yield str(len(header)).encode()
    for key in sorted(header):
        yield key.encode()
        yield header[key].encode()
    for name in sorted(tensors):
        array = np.asarray(tensors[name])
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)
        yield name.encode()
        yield f"{array.dtype.str}{array.shape}".encode()
        yield array.tobytes()
