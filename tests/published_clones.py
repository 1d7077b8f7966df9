"""Clones of repositories with released posteriors, in miniature: four inputs, three neurons, two classes."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np

LOG_2020 = """INFO:root:i#=1_w=3_e=0.025_m=2.0_n=50_t=40.0_c=50_p=0.8
INFO:root:i#=2_w=3_e=0.025_m=2.0_n=50_t=20.0_c=0_p=0.0
"""
LOG_2021 = '{"Index": 2, "Lower": 0, "Samples": 3, "Margin": 3.1, "MaxEps": 0.03, "Depth": 3}\n'
SHAPES = ((4, 3), (3,), (3, 2), (2,))


def arrays(seed: int) -> list[np.ndarray[Any, Any]]:
    generator = np.random.default_rng(seed)
    return [generator.random(shape).astype(np.float32) for shape in SHAPES]


MEANS, STORED = [one - 0.5 for one in arrays(0)], [one / 64 for one in arrays(1)]


def objects(held: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    made = np.empty(len(held), dtype=object)
    made[:] = held
    return made


def pairs(flat: list[np.ndarray[Any, Any]]) -> list[tuple[Any, Any]]:
    return [(flat[0], flat[1]), (flat[2], flat[3])]


def lay_out(folder: Path) -> None:
    """Write three clones as their authors laid them out, with one posterior each, and logs."""
    one = folder / "batten/verifier/Networks/MNIST"
    two = folder / "wicker2020/MNIST/concurMNIST/MNIST_Networks"
    three = folder / "wicker2021/MNIST/Posteriors/VOGN_FCN_Posterior_3_1_5_0.0_0.05"
    for place in (one, two, three):
        place.mkdir(parents=True)
    (one / "wick_MNIST_1_3.h5").write_bytes(pickle.dumps([pairs(MEANS), pairs(STORED)], 4))
    (one / "other.h5").write_bytes(b"never read")
    np.savez_compressed(two / "VIMODEL_MNIST_1_3_relu.net.npz", objects([*MEANS, *STORED]))
    np.save(three / "mean.npy", objects(MEANS), allow_pickle=True)
    np.save(three / "var.npy", objects(STORED), allow_pickle=True)
    write(two.parent / "Logs/a.log", LOG_2020)
    write(folder / "wicker2021/MNIST/LogsVOGN/VOGN_FCN_3_1_5_0.0_0.05_lower.log", LOG_2021)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
