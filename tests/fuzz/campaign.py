"""The campaign: so many problems of every kind, in parallel, each with a seed that brings it back."""

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import track
from rich.table import Table

from fedcert.randomness import stream
from fuzz import (
    carried,
    certificates,
    checked,
    confidence,
    convolved,
    dependent,
    dependent_convolved,
    draws,
    images,
    magnitudes,
    masses,
    mixtures,
    networks,
    pieces,
    regions,
    residual,
    rules,
    sums,
)
from fuzz.verdicts import Verdict

Batch = Callable[[torch.Generator], Iterator[Verdict]]

KINDS: dict[str, tuple[Batch, float]] = {
    "sums": (sums.sums, 10),
    "means": (sums.means, 5),
    "exp, log": (sums.library, 6),
    "normal tails": (masses.tails, 6),
    "interval masses": (masses.intervals, 6),
    "Gaussian masses": (masses.gaussians, 6),
    "mixture masses": (masses.mixtures, 2),
    "central boxes": (masses.central, 3),
    "lattice masses": (masses.lattice, 0.5),
    "rule images": (rules.image, 8),
    "pushforwards": (rules.pushforward, 4),
    "sums of summands": (rules.summed, 4),
    "interval verifier": (networks.interval, 7),
    "merged verifier": (networks.merged, 7),
    "linear verifier": (networks.linear, 10),
    "leaky rectifiers": (networks.leaky, 3),
    "hyperbolic tangents": (networks.tanh, 2),
    "logistic functions": (networks.sigmoid, 2),
    "convolutions": (images.convolutions, 2),
    "mean pools": (images.means, 2),
    "max pools": (images.maxima, 2),
    "residual additions": (residual.vectors, 2),
    "residual additions of images": (residual.images, 2),
    "weighted regions": (regions.weighted, 5),
    "cells of projections": (masses.convolution, 3),
    "layers": (pieces.layers, 5),
    "first activations": (pieces.activations, 3),
    "lines": (pieces.lines, 5),
    "moments": (pieces.moments, 3),
    "noise": (pieces.noises, 3),
    "shaken rows": (pieces.shaken_rows, 2),
    "envelopes": (pieces.envelopes, 3),
    "inversion": (pieces.inversion, 0.5),
    "later noise": (pieces.later_noise, 2),
    "lowest deviations": (pieces.lowest_deviation, 2),
    "cell certificates": (certificates.cells, 2),
    "box certificates": (certificates.boxes, 0.2),
    "projected, one layer": (certificates.one_layer, 1),
    "projected, one neuron": (certificates.hidden, 0.5),
    "projected, extreme": (certificates.extreme, 1),
    "projected, exceeded lines": (certificates.exceeded, 2),
    "projected, deep": (certificates.deep, 0.3),
    "half-spaces of any magnitude": (magnitudes.half_spaces, 4),
    "drawn normals": (confidence.normals, 4),
    "drawn networks": (confidence.networks, 4),
    "drawn networks on images": (confidence.images, 2),
    "drawn dependent parameters": (draws.dependent, 3),
    "checked, projected": (checked.ordinary, 2),
    "checked, projected in any units": (checked.extreme, 2),
    "checked, cells and boxes": (checked.families, 1),
    "checked, mixtures and pools": (mixtures.mixtures, 1),
    "projected convolutions, pieces": (convolved.pieces, 2),
    "projected convolutions, half-spaces": (convolved.half_spaces, 2),
    "projected convolutions, drawn": (convolved.drawn, 2),
    "checked, projected convolutions": (convolved.checked, 2),
    "dependent kernels, pieces": (dependent_convolved.pieces, 2),
    "dependent kernels, half-spaces": (dependent_convolved.half_spaces, 2),
    "checked, dependent kernels": (dependent_convolved.checked, 2),
    "dependent parameters, pieces": (dependent.pieces, 3),
    "dependent parameters, half-spaces": (dependent.half_spaces, 2),
    "Kronecker factors, half-spaces": (dependent.kronecker_half_spaces, 2),
    "products of densities, half-spaces": (dependent.product_half_spaces, 2),
    "checked, products of densities": (dependent.checked_products, 2),
    "checked, dense laws": (dependent.checked_dense, 2),
    "checked, Kronecker laws": (dependent.checked_kronecker, 2),
    "checked, last layers": (dependent.checked_last_layers, 2),
    "carried noise, pieces": (carried.pieces, 2),
    "carried noise, one normal": (carried.one_normal, 2),
    "constraints violated together": (carried.together, 2),
    "fixed parameters, half-spaces": (certificates.fixed, 2),
    "fixed parameters, projected": (checked.fixed, 2),
    "fixed parameters, cells and boxes": (checked.fixed_families, 1),
}
"""What is tried, and its weight in the campaign: of 1,050,000 problems, 2 is ten thousand."""
TASKS = 16  # for each kind


@dataclass(frozen=True)
class Found:
    """What one kind of problem came to.

    Attributes:
        kind: its name.
        problems: how many were tried.
        claims: how many of their bounds claim anything.
        wrong: a seed and a description of each bound that does not hold.
        unproved: the same of each bound that the checker does not prove.
    """

    kind: str
    problems: int
    claims: int
    wrong: tuple[str, ...]
    unproved: tuple[str, ...] = ()


def attempt(kind: str, problems: int, seed: int, task: int = 0) -> Found:
    """Batches of one kind until so many problems have been tried."""
    torch.set_num_threads(1)
    count = claims = number = 0
    wrong, unproved = [], []
    while count < problems:
        for place, verdict in enumerate(_verdicts(KINDS[kind][0](stream(seed, kind, task, number)))):
            count, claims = count + 1, claims + verdict.claims
            found = f"stream({seed}, {kind!r}, {task}, {number}), problem {place}: {verdict.what}"
            if not verdict.sound:
                wrong.append(found)
            elif not verdict.proved:
                unproved.append(found)
        number += 1
    return Found(kind, count, claims, tuple(wrong), tuple(unproved))


def _verdicts(batch: Iterator[Verdict]) -> Iterator[Verdict]:
    """The verdicts of a batch; one that ends in an error is wrong there."""
    try:
        yield from batch
    except Exception as error:  # noqa: BLE001 - any error is a finding
        yield Verdict(False, True, f"{type(error).__name__}: {error}")


def campaign(problems: int, seed: int, jobs: int, kinds: Sequence[str]) -> list[Found]:
    """Some kinds, each in several tasks."""
    total = sum(KINDS[kind][1] for kind in kinds)
    tasks = [
        (kind, math.ceil(problems * KINDS[kind][1] / total / TASKS), seed, task)
        for task in range(TASKS)
        for kind in kinds
    ]
    running = Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed(attempt)(*own) for own in tasks)
    found = list(track(running, "fuzzing", len(tasks), console=Console(stderr=True)))
    return [joined([part for part in found if part.kind == kind]) for kind in kinds]


def joined(parts: Sequence[Found]) -> Found:
    wrong = tuple(text for part in parts for text in part.wrong)
    unproved = tuple(text for part in parts for text in part.unproved)
    return Found(parts[0].kind, sum(p.problems for p in parts), sum(p.claims for p in parts), wrong, unproved)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign, print its table; 1 if any bound is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="kinds whose names begin so")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    kinds = [kind for kind in KINDS if kind.startswith(options.only)]
    found = campaign(options.problems, options.seed, options.jobs, kinds)
    rows = [*found, replace(joined(found), kind="all")]
    table = Table("kind", "problems", "with a claim", "unsound", "not proved")
    for row in rows:
        counts = (row.problems, row.claims, len(row.wrong), len(row.unproved))
        table.add_row(row.kind, *(f"{count:,}" for count in counts))
    console = Console()
    console.print(table)
    console.print(f"{time.perf_counter() - start:.0f} s with {options.jobs} processes, seed {options.seed}")
    for text in (*rows[-1].wrong[:50], *rows[-1].unproved[:50]):
        console.print(text, markup=False)
    return 1 if rows[-1].wrong else 0


if __name__ == "__main__":
    sys.exit(main())
