"""Safetensors files: written so that equal contents give equal bytes, read with the checker's care."""

import json
from collections.abc import Mapping
from pathlib import Path

from safetensors.numpy import save
from torch import Tensor

from fedcert.wire import atomic
from fedcert_check.tensorfile import LENGTH, METADATA, Arrays
from fedcert_check.tensorfile import read as read


def write(path: Path, metadata: Mapping[str, str], tensors: Mapping[str, Tensor]) -> None:
    """Write a safetensors file atomically; equal contents give equal bytes.

    Args:
        path: where it belongs.
        metadata: texts by name.
        tensors: by name.
    """
    atomic.write(path, encoded(metadata, tensors))


def encoded(metadata: Mapping[str, str], tensors: Mapping[str, Tensor]) -> bytes:
    """The content of a safetensors file; equal contents give equal bytes.

    Args:
        metadata: texts by name.
        tensors: by name.
    """
    return _in_order(save(arrays(tensors), dict(metadata)))


def arrays(tensors: Mapping[str, Tensor]) -> Arrays:
    """The tensors as numpy's arrays, wherever they are.

    Args:
        tensors: by name.
    """
    return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in tensors.items()}


def _in_order(content: bytes) -> bytes:
    """The same file with its metadata in the order of their names: safetensors writes them in any."""
    length = int.from_bytes(content[:LENGTH], "little")
    header = json.loads(content[LENGTH : LENGTH + length])
    header[METADATA] = dict(sorted(header.get(METADATA, {}).items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % LENGTH)  # tensors stay aligned
    return len(text).to_bytes(LENGTH, "little") + text + content[LENGTH + length :]
