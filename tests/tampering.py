"""Messages changed by a client that lies."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import safetensors
from safetensors.torch import save_file
from torch import Tensor

from fedcert_check.digest import digest

Change = Callable[[dict[str, Tensor], dict[str, str]], Any]


def tamper(path: Path, change: Change, sign: bool = True) -> None:
    """Rewrite a message file with its tensors and metadata changed, as a client that lies would sign it."""
    with safetensors.safe_open(path, framework="pt") as file:
        metadata = dict(file.metadata())
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    signature = metadata.pop("digest")
    change(tensors, metadata)
    if sign and metadata:
        signature = digest(metadata, tensors)
    save_file(tensors, path, metadata={"digest": signature} | metadata)
