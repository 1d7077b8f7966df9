"""A user without our trainer: two posteriors as message files, a model and inputs as files."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from fedcert import DiagonalGaussian, Posterior, mlp

MEAN = [2, 0, 0, 2, 1, 1, 1, -1, 0, 0, 0, 0, 1, -1, 0, 1, -1, 1, 0, -1, 0, 0]
NETWORK = mlp(2, 4, 2)
ARRAYS: dict[str, dict[str, Any]] = {
    "x": {"x": [[0.65, 0.35], [0.4, 0.6]], "y": [0, 1]},
    "boxes": {"lower": [[0.6, 0.3], [0.3, 0.6]], "upper": [[0.7, 0.35], [0.35, 0.7]], "y": [0, 1]},
    "control": {
        "lower": [[0.6, 0.3]],
        "upper": [[0.7, 0.35]],
        "C": [[1.0, 0.0], [-1.0, 0.0]],
        "d": [1.0, 3.0],
    },
    "regression": {"x": [[0.65, 0.35]], "C": [[[1.0, 0.0]]], "d": [[1.0]]},
}
TOML = """[[layers]]
type = "linear"
inputs = 2
outputs = 4

[[layers]]
type = "relu"

[[layers]]
type = "linear"
inputs = 4
outputs = 2
"""
SPECIFICATION = """; unsafe: class 1 wins somewhere in the first box, or the first output is low in the second
(declare-const X_0 Real)
(declare-const X_1 Real)
(declare-const Y_0 Real)
(declare-const Y_1 Real)
(assert (>= X_0 0.6))
(assert (<= X_0 0.7))
(assert (or (and (>= X_1 0.3) (<= X_1 0.35) (<= Y_0 Y_1))
            (and (>= X_1 0.0) (<= X_1 0.1) (<= Y_0 -1.5))))
"""


def write_files(folder: Path) -> None:
    """Write posterior-0 and posterior-1, model.toml, spec.vnnlib and one npz file for each of `ARRAYS`.

    Args:
        folder: where to.
    """
    for i in range(2):
        loc = torch.tensor(MEAN, dtype=torch.float64) + 0.02 * i
        law = DiagonalGaussian(loc, torch.full_like(loc, 0.15))
        message = Posterior(NETWORK, law).message(f"clinic-{i}", examples=100 + i)
        message.save(folder / f"posterior-{i}.safetensors")
    (folder / "model.toml").write_text(TOML, encoding="utf-8")
    (folder / "spec.vnnlib").write_text(SPECIFICATION, encoding="utf-8")
    for name, arrays in ARRAYS.items():
        np.savez(folder / f"{name}.npz", **arrays)
