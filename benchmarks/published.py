r"""Posteriors that others released: our [L, U] beside what their authors logged, same inputs, same radius.

    git clone https://github.com/benbatten/TightVerificationOfProbabilisticRobustnessInBNNs batten
    git clone https://github.com/matthewwicker/ProbabilisticSafetyforBNNs wicker2020
    git clone https://github.com/matthewwicker/AdversarialRobustnessCertificationForBNNs wicker2021
    FEDCERT_DATA=... python benchmarks/published.py \
        --batten batten --wicker2020 wicker2020 --wicker2021 wicker2021 [--only '1×|2×50']

Nothing of theirs is run: the files are read by `published_pickles.py`. Every posterior is one client under
FedAvg, the claim is direct, the events are projected. Inputs are MNIST test images divided by 255, and balls
are cut to [0, 1]. Each clone is optional, and networks that it does not hold are left out.

- Batten et al. (AISTATS 2024) released networks and no log. Radius 0.025 on those of the first 50 images that
  the mean network classifies correctly, with their labels. Their verifier reads its images from `xs.h5`, in
  another order than the test set: `--inputs released` takes the first 50 of that file instead.
- Wicker et al. (UAI 2020, and the journal version) logged a bound for each image: we answer for the images
  and radii of their logs, and for the class that the mean network predicts; they verify the class that the
  mean over draws predicts. The logs of the latter hold the first radius of a grid at which the bound fell
  below one half: we answer at that radius, for the first 50 images of a log.

The tables of boxes say what the authors' figures measure (`published_boxes.py`).
"""

import argparse
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from published_boxes import boxes_2020, boxes_2021
from published_logs import Log2020, of_network, with_log
from published_pickles import read_arrays
from published_posteriors import Released, batten, wicker2020, wicker2021

import fedcert
from fedcert.data import load
from fedcert.numerics.enclosure import Enclosure
from fedcert_check.percent import bounds

RADIUS, IMAGES = 0.025, 50
"""Of Batten et al.: the defaults of their command."""
LEAST_ACCURACY = 0.6
"""Of a mean network that was read as it was meant: some have 70 %; 10 % would be chance."""


@dataclass(frozen=True)
class Inputs:
    """Images, one flat row each, and their labels."""

    x: NDArray[np.float64]
    label: NDArray[np.int64]


@dataclass(frozen=True)
class Answer:
    """Our bounds for some inputs, and the time that they took."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    seconds: float

    def __getitem__(self, index: Any) -> "Answer":
        """For some of the inputs, in the same share of the time."""
        lower, upper = self.lower[index], self.upper[index]
        return Answer(lower, upper, self.seconds * len(lower) / len(self.lower))

    @property
    def mean(self) -> str:
        """The mean bounds in per cent, rounded outward."""
        low, high = (Enclosure.exactly(torch.from_numpy(own)).mean() for own in (self.lower, self.upper))
        return bounds(low.clamp(0.0, 1.0).lower.item(), high.clamp(0.0, 1.0).upper.item())

    @property
    def each(self) -> str:
        """Seconds an input."""
        return f"{self.seconds / len(self.lower):.2f}"


def mnist() -> Inputs:
    test = load("mnist").test
    assert test is not None
    return Inputs(test.x.double().numpy(), test.label.numpy())


def predictions(released: Released, x: NDArray[np.float64]) -> NDArray[np.int64]:
    """The classes that the mean network predicts."""
    return released.network(torch.from_numpy(released.means), torch.from_numpy(x)).argmax(-1).numpy()


def accuracy(released: Released, test: Inputs) -> float:
    """Of the mean network; an error where the posterior cannot have been read as it was meant."""
    share = float((predictions(released, test.x) == test.label).mean())
    if share < LEAST_ACCURACY:
        raise ValueError(f"{released.path}: the mean network classifies {share:.1%} correctly: misread?")
    return share


def certified(
    released: Released,
    x: NDArray[np.float64],
    label: NDArray[np.int64],
    radius: float | NDArray[np.float64],
) -> Answer:
    start = time.perf_counter()
    properties = fedcert.linf_robustness(x, label, radius, classes=released.network.outputs)
    result = fedcert.certify(
        [(released.means, released.deviations)], "fedavg", released.network, properties, claims=("direct",)
    )
    seconds = time.perf_counter() - start
    return Answer(result.lower, result.upper, seconds)


def batten_rows(checkout: Path, posteriors: Iterable[Released], test: Inputs, inputs: str) -> Iterator[str]:
    yield "| Batten et al. 2024 | accuracy, % | inputs | radius | [L, U], % | s | authors |"
    yield "|---|---|---|---|---|---|---|"
    first = Inputs(test.x[:IMAGES], test.label[:IMAGES])
    if inputs == "released":
        x, label = (read_arrays(checkout / f"verifier/{name}.h5") for name in ("xs", "ys"))
        first = Inputs(np.array(x[:IMAGES], dtype=np.float64).reshape(IMAGES, -1), label[:IMAGES])
    for released in posteriors:
        share = accuracy(released, test)
        right = predictions(released, first.x) == first.label
        own = certified(released, first.x[right], first.label[right], RADIUS)
        yield (
            f"| {released.name} | {100 * share:.2f} | {right.sum()} of the first {IMAGES} | {RADIUS}"
            f" | {own.mean} | {own.seconds:.1f} | no log released |"
        )


def rows_2020(posteriors: Iterable[Released], test: Inputs, each: bool) -> Iterator[str]:
    yield (
        "| Wicker et al. 2020 | accuracy, % | log | radius | images | logged: least, mean, greatest"
        " | logged s an image | [L, U], % | s an image"
        " | L ≥ 99.99 %, logged there | U ≤ 0.01 %, logged there |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for released in posteriors:
        share, own = accuracy(released, test), list(of_network(released))
        answers = {radius: answered(released, radius, own, test) for _path, radius, _chosen in own}
        for path, radius, chosen in own:
            images, logged = list(chosen), np.array([run.bound for run in chosen.values()])
            index, answer = answers[radius]
            ours, spent = answer[[index[image] for image in images]], [run.seconds for run in chosen.values()]
            yield (
                f"| {released.name} | {100 * share:.2f} | {path.name} | {radius:g} | {len(images)}"
                f" | {spread(logged)} | {np.mean(spent):.0f} | {ours.mean} | {ours.each}"
                f" | {where(ours.lower >= 0.9999, logged)} | {where(ours.upper <= 0.0001, logged)} |"
            )
            for row in zip(images, logged, ours.lower, ours.upper, strict=True) if each else ():
                yield "|  |  |  |  | image {} | {:.3f} |  | {} |  |  |  |".format(*row[:2], bounds(*row[2:]))


def answered(
    released: Released, radius: float, own: list[Log2020], test: Inputs
) -> tuple[dict[int, int], Answer]:
    """Bounds for all images of all logs of a network with this radius, and where each image is among them."""
    images = sorted({image for _path, other, chosen in own if other == radius for image in chosen})
    x = test.x[images]
    answer = certified(released, x, predictions(released, x), radius)
    return {image: i for i, image in enumerate(images)}, answer


def spread(values: NDArray[np.float64]) -> str:
    return f"{values.min():.3f}, {values.mean():.3f}, {values.max():.3f}"


def where(chosen: NDArray[np.bool_], values: NDArray[np.float64]) -> str:
    """How many are chosen, and the least and the greatest value of those."""
    if not chosen.any():
        return "0"
    return f"{chosen.sum()}: {values[chosen].min():.3f} … {values[chosen].max():.3f}"


def rows_2021(checkout: Path, posteriors: Iterable[Released], test: Inputs) -> Iterator[str]:
    yield (
        "| Wicker et al., journal version | accuracy, % | images | radii | logged: least, mean, greatest"
        " | [L, U], % | s an image | L ≥ 50 %, logged there |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for released, logged_runs in with_log(checkout, posteriors):
        runs = logged_runs[:IMAGES]
        images, radii = np.array([run.image for run in runs]), np.array([run.failed for run in runs])
        logged = np.array([run.bound for run in runs])
        label = predictions(released, test.x[images])
        share, own = accuracy(released, test), certified(released, test.x[images], label, radii)
        yield (
            f"| {released.name} | {100 * share:.2f} | {len(runs)} | {radii.min():g} … {radii.max():g}"
            f" | {spread(logged)} | {own.mean} | {own.each}"
            f" | {where(own.lower >= 0.5, logged)} |"
        )


def show(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, flush=True)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("batten", "wicker2020", "wicker2021"):
        parser.add_argument(f"--{name}", type=Path, help="a clone of the authors' repository")
    parser.add_argument("--only", default="", help="a regular expression that names of networks must hold")
    parser.add_argument("--inputs", choices=("mnist", "released"), default="mnist")
    parser.add_argument(
        "--variances", action="store_true", help="read what is stored as variances (not for --wicker2021)"
    )
    parser.add_argument("--each", action="store_true", help="a row for each image of the logs of 2020")
    options = parser.parse_args()
    if not (options.batten or options.wicker2020 or options.wicker2021):
        parser.error("name at least one clone")
    torch.set_num_threads(2)
    test, pattern = mnist(), re.compile(options.only)

    def chosen(posteriors: Iterator[Released]) -> list[Released]:
        return [one for one in posteriors if pattern.search(one.name)]

    if options.batten:
        own = chosen(batten(options.batten, options.variances))
        show(batten_rows(options.batten, own, test, options.inputs))
    if options.wicker2020:
        own = chosen(wicker2020(options.wicker2020, options.variances))
        show(rows_2020(own, test, options.each))
        show(boxes_2020(own))
    if options.wicker2021:
        own = chosen(wicker2021(options.wicker2021))
        show(rows_2021(options.wicker2021, own, test))
        show(boxes_2021(options.wicker2021, own))


if __name__ == "__main__":
    main()
