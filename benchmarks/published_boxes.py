"""What the authors' figures measure: the boxes of weights that they verified, and the mass that they counted.

None of it needs a posterior: boxes are stated in deviations, and their mass depends on nothing else.

- Wicker et al. 2020 draw networks, put a box around each, verify each box, and report the product over the
  coordinates of the mass of the *union of the boxes' intervals*. A product of unions holds far more than the
  union of the boxes that were verified. Computed from fresh draws, it comes close to what they logged.
- Wicker et al., journal version, double the margin before they verify and count (`prob_veri`), and halve it
  where they verify (`propagate_interval`), not where they count (`compute_interval_probs_weight_std`): in the
  released code the box that is counted is twice as wide as the box that was verified.
"""

import math
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
from published_logs import logs_of, with_log
from published_posteriors import Released
from scipy.special import ndtr


def most_that_boxes_hold(boxes: int, margin: float, parameters: int) -> float:
    """log10 of an upper bound of the mass of the union of boxes μ' ± margin σ, wherever their centres are.

    A box holds most where its centre is the mean, (2Φ(m) − 1)^d, and a union at most the sum.

    Args:
        boxes: how many.
        margin: m, their half-width in deviations.
        parameters: d, the number of coordinates.
    """
    if boxes == 0:
        return -math.inf
    return math.log10(boxes) + parameters * math.log1p(-math.erfc(margin / math.sqrt(2))) / math.log(10)


@cache
def merged_by_coordinate(boxes: int, margin: float, parameters: int, coordinates: int = 5_000) -> float:
    """The mass of boxes around draws when they are merged coordinate by coordinate.

    That is the product of the coordinates' unions of intervals, a far larger set than the union of the boxes.
    The mean logarithm of a coordinate's mass is estimated from some coordinates.

    Args:
        boxes: how many draws from the posterior.
        margin: half the width of the intervals, in deviations.
        parameters: the number of coordinates.
        coordinates: how many of them to draw.
    """
    generator, total = np.random.default_rng(0), 0.0
    for start in range(0, coordinates, 1000):
        z = np.sort(generator.standard_normal((min(1000, coordinates - start), boxes)))
        gaps = np.where(np.diff(z) > 2 * margin, ndtr(z[:, 1:] - margin) - ndtr(z[:, :-1] + margin), 0.0)
        outside = ndtr(z[:, 0] - margin) + ndtr(-z[:, -1] - margin) + gaps.sum(-1)
        total += np.log1p(-outside).sum()
    return math.exp(parameters * total / coordinates)


def box_around_a_draw(margin: float, parameters: int) -> float:
    """The mass of one box around a draw from the posterior, typically: e to the mean logarithm.

    Args:
        margin: its half-width in deviations.
        parameters: the number of coordinates.
    """
    z = np.random.default_rng(0).standard_normal(1_000_000)
    outside = ndtr(z - margin) + ndtr(-z - margin)
    return math.exp(parameters * np.log1p(-outside).mean())


def boxes_2020(posteriors: Iterable[Released]) -> Iterator[str]:
    """The runs of each log where every box was verified, beside boxes merged by coordinate."""
    yield (
        "| Wicker et al. 2020 | log | runs with every box verified | differ from merged boxes by at most"
        " | greatest: boxes | margin | logged | merged by coordinate"
        " | log10 of the most that the boxes hold |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for released in posteriors:
        size = released.network.parameters
        for path, runs in logs_of(released):
            full = [run for run in runs if run.boxes == run.drawn > 0]
            if full:
                merged = [merged_by_coordinate(run.boxes, run.margin, size) for run in full]
                differ = max(abs(run.bound - own) for run, own in zip(full, merged, strict=True))
                run, own = max(zip(full, merged, strict=True), key=lambda pair: pair[0].bound)
                yield (
                    f"| {released.name} | {path.name} | {len(full)} | {differ:.4f} | {run.boxes}"
                    f" | {run.margin:g} | {run.bound:.4f} | {own:.4f}"
                    f" | {most_that_boxes_hold(run.boxes, run.margin, size):.0f} |"
                )


def boxes_2021(checkout: Path, posteriors: Iterable[Released]) -> Iterator[str]:
    """The boxes that are verified, ± margin, and the boxes that are counted, ± twice the margin."""
    yield (
        "| Wicker et al., journal version | boxes | margin | logged: a radius with a bound of at least ½"
        " | one box counted, at twice the margin | log10 of the most that the verified boxes hold |"
    )
    yield "|---|---|---|---|---|---|"
    for released, runs in with_log(checkout, posteriors):
        size = released.network.parameters
        drawn, margin = runs[0].drawn, runs[0].margin
        passed = sum(run.passed >= 0 for run in runs)
        yield (
            f"| {released.name} | {drawn} | {margin:g} | {passed} of {len(runs)} images"
            f" | {box_around_a_draw(2 * margin, size):.3f}"
            f" | {most_that_boxes_hold(drawn, margin, size):.0f} |"
        )
