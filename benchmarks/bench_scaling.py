"""How the time of bounds grows: with parameters, clients, properties, depth and radius."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np
import torch

from fedcert.families.problem import Problem
from fedcert.families.projected.family import ProjectedFamily
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import linf_robustness
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import LinearRule
from fedcert.verify.interval import MergedIntervalVerifier
from fedcert.verify.linear import LinearVerifier

SCALE = 8e-3
"""Posterior scale, about what training learns."""


DEPTHS = (1, 2, 3, 4, 5)
LIMIT = 20.0
"""A series ends before a size that is expected to take more seconds than these."""

T = TypeVar("T")


def seconds(work: Callable[[], T]) -> tuple[float, T]:
    """Processor time of the fastest run, of as many as it takes to fill a second, and what it found."""
    times: list[float] = []
    while sum(times) < 1.0:
        start = time.process_time()
        found = work()
        times.append(time.process_time() - start)
    return min(times), found


@dataclass(frozen=True)
class Series:
    """Times while one thing grows.

    Attributes:
        of: what is timed.
        what: what grows.
        sizes: those that were timed.
        seconds: processor time of each.
        left_out: sizes that would have taken too long.
    """

    of: str
    what: str
    sizes: Sequence[float]
    seconds: Sequence[float]
    left_out: Sequence[float]

    @property
    def exponent(self) -> float:
        """The slope of log time over log size, fitted to all sizes."""
        return float(np.polyfit(np.log(self.sizes), np.log(self.seconds), 1)[0])

    @property
    def last_exponent(self) -> float:
        """The slope between the two largest sizes, where what each call costs anyway matters least."""
        return float(np.diff(np.log(self.seconds[-2:])).item() / np.diff(np.log(self.sizes[-2:])).item())

    @property
    def row(self) -> str:
        """A row of the table."""
        sizes = ", ".join(f"{size:g}" for size in self.sizes)
        spent = ", ".join(f"{own:.2g}" for own in self.seconds)
        rest = "".join(f"; {size:g} left out" for size in self.left_out)
        exponents = f"{self.exponent:.2f} | {self.last_exponent:.2f}"
        return f"| {self.of}: {self.what} | {sizes}{rest} | {spent} | {exponents} |"


def problem(
    hidden: Sequence[int], properties: int = 20, clients: int = 2, radius: float = 1e-3, inputs: int = 784
) -> Problem:
    """Clients around one random network, and inputs that it classifies as labelled."""
    network, generator = mlp(inputs, *hidden, 10), stream(0, "benchmark")
    theta = network.initialise(generator).double()
    laws = tuple(
        DiagonalGaussian(theta + 1e-3 * i / clients, torch.full_like(theta, SCALE)) for i in range(clients)
    )
    x = torch.rand(properties, inputs, generator=generator, dtype=torch.float64)
    asked = linf_robustness(x, network(theta, x).argmax(-1), radius)
    return Problem(network, asked, laws, LinearRule.fedavg([1] * clients))


def interval(own: Problem) -> None:
    MergedIntervalVerifier().margins(own.network, Box.around(own.laws[0].loc[None], 7e-5), own.properties)


def linear(own: Problem) -> None:
    LinearVerifier().margins(own.network, Box.around(own.laws[0].loc[None], 7e-5), own.properties)


def direct(own: Problem) -> None:
    ProjectedFamily().prove(own, "direct")


def transported(own: Problem) -> None:
    ProjectedFamily().prove(own, "transported")


def series(
    work: Callable[[Problem], None], of: str, what: str, sizes: Sequence[float], make: Callable[..., Problem]
) -> Series:
    """The time of some work for each size, up to the first that is expected to take too long."""
    spent: list[float] = []
    for size in sizes:
        if len(spent) > 1 and expected(spent) > LIMIT:
            break
        own = make(size)
        spent.append(seconds(lambda own=own: work(replace(own)))[0])  # a new one remembers nothing
    return Series(of, what, sizes[: len(spent)], spent, sizes[len(spent) :])


def expected(spent: Sequence[float]) -> float:
    """The next time, if it grows by as much as it has grown by at most."""
    return spent[-1] * max(later / sooner for sooner, later in pairwise(spent))


def width_of(parameters: float) -> int:
    """The width of one hidden layer that gives about so many parameters."""
    return max(1, round((parameters - 10) / (784 + 11)))


def scaling(quick: bool) -> Iterator[Series]:
    """Every series; with fewer sizes if it has to be quick."""
    most = 2 if quick else 5

    def sizes(*every: float) -> Sequence[float]:
        return every[:most]

    parameters = sizes(1e4, 1e5, 1e6, 1e7)
    for work, name in ((interval, "interval"), (linear, "linear"), (direct, "projected")):
        yield series(work, name, "parameters", parameters, lambda n: problem([width_of(n)], 1))
    clients = sizes(2, 10, 100, 1000)
    yield series(transported, "projected, transported", "clients", clients, lambda n: problem([64], 4, n))
    properties = sizes(1, 10, 100, 1000, 10_000)
    for work, name in ((interval, "interval"), (linear, "linear"), (direct, "projected")):
        yield series(work, name, "properties", properties, lambda n: problem([16], n, inputs=64))
    depth = sizes(*DEPTHS)
    for work, name in ((interval, "interval"), (linear, "linear"), (direct, "projected")):
        yield series(work, name, "hidden layers", depth, lambda n: problem([64] * n, 2))
    radii = sizes(1e-4, 1e-3, 1e-2, 1e-1)
    yield series(direct, "projected", "radius", radii, lambda r: problem([64], 4, radius=r))
