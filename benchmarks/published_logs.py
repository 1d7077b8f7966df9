"""What the authors of released posteriors logged."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from published_posteriors import Released

LINE = re.compile(
    r"i#=(?P<image>\d+)_w=(?P<width>\d+)_e=(?P<radius>[\d.]+)_m=(?P<margin>[\d.]+)_n=(?P<drawn>\d+)"
    r"_t=(?P<seconds>[\d.e+-]+)(?:_c=(?P<boxes>\d+))?_p=(?P<bound>[\d.e+-]+)"
)
STEP = 0.01
"""The journal version tries every second multiple of it, and logs the first that fails less one."""


@dataclass(frozen=True)
class Run2020:
    """One line of a log of Wicker et al. 2020.

    Attributes:
        image: the input's index in the MNIST test set.
        width: of the hidden layers.
        radius: ε.
        margin: the half-width of a box of weights, in deviations.
        drawn: how many networks were drawn, one box around each.
        boxes: how many boxes were verified.
        seconds: the time.
        bound: the lower bound of the probability of safety that they report.
    """

    image: int
    width: int
    radius: float
    margin: float
    drawn: int
    boxes: int
    seconds: float
    bound: float


def runs2020(text: str) -> list[Run2020]:
    """The runs of a log that have boxes at all: a margin of 0 only counts samples.

    Args:
        text: the log.
    """
    found = []
    for line in text.splitlines():
        named = LINE.search(line)
        if line.strip() and not named:
            raise ValueError(f"a line that no run is logged in: {line[:80]!r}")
        if named and float(named["margin"]) > 0:
            of = named.groupdict(default="0")
            counts = {name: int(of[name]) for name in ("image", "width", "drawn", "boxes")}
            sizes = {name: float(of[name]) for name in ("radius", "margin", "seconds", "bound")}
            found.append(Run2020(**counts, **sizes))
    return found


def best(runs: list[Run2020], radius: float) -> dict[int, Run2020]:
    """The run with the largest bound for each image, at one radius.

    Args:
        runs: of one network.
        radius: ε.
    """
    chosen: dict[int, Run2020] = {}
    for run in runs:
        if run.radius == radius and (run.image not in chosen or run.bound > chosen[run.image].bound):
            chosen[run.image] = run
    return dict(sorted(chosen.items()))


@dataclass(frozen=True)
class Run2021:
    """One line of a log of the journal version, which seeks the first radius with a bound below ½.

    Attributes:
        image: the input's index in the MNIST test set.
        passed: the last radius with a bound of at least ½; negative where not even 0 has one.
        failed: the first radius with a smaller bound.
        bound: the bound at `failed`.
        drawn: how many networks were drawn, one box around each.
        margin: the half-width of a box, in deviations.
    """

    image: int
    passed: float
    failed: float
    bound: float
    drawn: int
    margin: float


def runs2021(text: str) -> list[Run2021]:
    """The runs of a log.

    Args:
        text: the log, one JSON object a line.
    """
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        of = json.loads(line)
        passed, failed = (round(of["MaxEps"] + side * STEP, 6) for side in (-1, 1))
        found.append(Run2021(of["Index"], passed, failed, float(of["Lower"]), of["Samples"], of["Margin"]))
    return found


Log2020 = tuple[Path, float, dict[int, Run2020]]
"""A log, one of its radii, and the best run for each image."""


def logs_of(released: Released) -> Iterator[tuple[Path, list[Run2020]]]:
    """The logs of a network of 2020, with its runs.

    Args:
        released: the network.
    """
    home, width = released.path.parents[1], int(released.name.split("×")[1])
    for path in sorted(home.glob("*/*.log")):
        yield path, [run for run in runs2020(path.read_text()) if run.width == width]


def of_network(released: Released) -> Iterator[Log2020]:
    """The logs of a network of 2020, radius by radius.

    Args:
        released: the network.
    """
    for path, runs in logs_of(released):
        for radius in sorted({run.radius for run in runs}):
            yield path, radius, best(runs, radius)


def with_log(checkout: Path, posteriors: Iterable[Released]) -> Iterator[tuple[Released, list[Run2021]]]:
    """Those networks of the journal version that the released script wrote a log of, with their runs.

    Args:
        checkout: the clone.
        posteriors: the networks.
    """
    for released in posteriors:
        log = checkout / f"MNIST/LogsVOGN/{released.path.name.replace('_Posterior', '')}_lower.log"
        if log.exists():
            yield released, runs2021(log.read_text())
