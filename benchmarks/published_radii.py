"""The largest radius at which posteriors that others released are proven with probability ½, image by image.

    git clone https://github.com/matthewwicker/AdversarialRobustnessCertificationForBNNs wicker2021
    FEDCERT_DATA=... python benchmarks/published_radii.py wicker2021 [--only '3×64 λ=0.0 ε=0.05'] [--images N]

For the first images of each log, and the class that the mean network predicts: the largest radius with L ≥ ½
that bisection finds, beside the last radius at which the authors' bound was at least ½ (their script raises
it by 0.02). Balls are cut to [0, 1]. `published.py` says how posteriors are read.
"""

import argparse
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from published import Inputs, accuracy, certified, mnist, predictions
from published_logs import with_log
from published_posteriors import Released, wicker2021

LARGEST = 0.5  # no ball that is as wide as the interval of grey values is safe


def largest_radii(
    released: Released, x: NDArray[np.float64], steps: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Radii between which L falls below ½, a step of bisection for all images at a time."""
    label = predictions(released, x)
    low, high = np.zeros(len(x)), np.full(len(x), LARGEST)
    start = certified(released, x, label, low).lower >= 0.5
    for _ in range(steps):
        middle = (low + high) / 2
        holds = certified(released, x, label, middle).lower >= 0.5
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return np.where(start, low, 0.0), np.where(start, high, 0.0)


def rows(checkout: Path, pattern: str, test: Inputs, images: int, steps: int) -> Iterator[str]:
    yield "| network | accuracy, % | images | logged, mean radius | ours | at least the logged | s an image |"
    yield "|---|---|---|---|---|---|---|"
    chosen = [one for one in wicker2021(checkout) if re.search(pattern, one.name)]
    for released, runs in with_log(checkout, chosen):
        own, share = runs[:images], accuracy(released, test)
        x, logged = test.x[[run.image for run in own]], np.array([max(0.0, run.passed) for run in own])
        start = time.perf_counter()
        found, _ = largest_radii(released, x, steps)
        spent = (time.perf_counter() - start) / len(own)
        yield (
            f"| {released.name} | {100 * share:.2f} | {len(own)} | {logged.mean():.3f}"
            f" | {found.mean():.3f} | {int((found >= logged).sum())} | {spent:.1f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--only", default="VOGN.*λ=0.0 ε=0.05", help="regular expression of networks")
    parser.add_argument("--images", type=int, default=10)
    parser.add_argument("--steps", type=int, default=8, help="of bisection")
    asked = parser.parse_args()
    torch.set_num_threads(2)
    for line in rows(asked.checkout, asked.only, mnist(), asked.images, asked.steps):
        print(line, flush=True)


if __name__ == "__main__":
    main()
