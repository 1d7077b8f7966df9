"""Digests of content: what was signed for is what is there, whatever the layout of the file."""

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor


def digest(header: Mapping[str, str], tensors: Mapping[str, Tensor]) -> str:
    """The sha256 of texts and tensors, in the order of their names.

    Hashed are the number of entries, and for each entry its name and its value; of a tensor the type, the
    shape and the raw little-endian bytes. Every part is preceded by its length, so that no two contents
    give the same stream.

    Args:
        header: texts by name.
        tensors: tensors by name.
    """
    state = hashlib.sha256()

    def feed(part: bytes) -> None:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)

    feed(str(len(header)).encode())
    for name, text in sorted(header.items()):
        feed(name.encode())
        feed(text.encode())
    feed(str(len(tensors)).encode())
    for name, tensor in sorted(tensors.items()):
        feed(name.encode())
        feed(str(tensor.dtype).removeprefix("torch.").encode())
        feed(",".join(str(size) for size in tensor.shape).encode())
        feed(_raw(tensor))
    return state.hexdigest()


def _raw(tensor: Tensor) -> bytes:
    """The elements in row-major order, least significant byte first."""
    array = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    return bytes(array.data)
