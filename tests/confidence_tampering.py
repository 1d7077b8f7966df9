"""Changes of the files of confidence bounds, sealed again as a prover that lies would."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import safetensors.numpy

from fedcert_check.digest import digest

Change = Callable[[dict, dict[str, np.ndarray]], object]


def rewrite(path: Path, change: Change, seal: bool = True) -> None:
    """Change a file's claim and tensors, and seal it again as a prover that lies would."""
    with safetensors.safe_open(path, framework="np") as file:
        metadata = dict(file.metadata())
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    claim = json.loads(metadata["claim"])
    change(claim, tensors)
    metadata["claim"] = json.dumps(claim, sort_keys=True)
    if seal:
        header = {name: metadata[name] for name in ("format", "version", "claim")}
        metadata["digest"] = digest(header, tensors)
    safetensors.numpy.save_file(tensors, path, metadata)


def raised(name: str, by: float) -> Change:
    def change(claim: dict, tensors: dict[str, np.ndarray]) -> None:
        tensors[name] = np.clip(tensors[name] + by, 0, 1)

    return change


def counted(name: str, by: int) -> Change:
    def change(claim: dict, tensors: dict[str, np.ndarray]) -> None:
        other = "broken" if name == "proven" else "proven"
        tensors[name], tensors[other] = tensors[name] + by, np.maximum(tensors[other] - by, 0)
        tensors[name] = np.minimum(tensors[name], claim["draws"] - tensors[other])

    return change
