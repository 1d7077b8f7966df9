"""How the time of bounds grows: with parameters, clients, properties, depth and radius."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Series:
    """Times while one thing grows."""

    of: str
    what: str
    sizes: Sequence[float]
    seconds: Sequence[float]

    @property
    def exponent(self) -> float:
        """The slope of log time over log size."""
        return float(np.polyfit(np.log(self.sizes), np.log(self.seconds), 1)[0])

    @property
    def row(self) -> str:
        """A row of the table."""
        spent = ", ".join(f"{own:.2g}" for own in self.seconds)
        sizes = ", ".join(f"{own:g}" for own in self.sizes)
        return f"| {self.of}: {self.what} | {sizes} | {spent} | {self.exponent:.2f} |"


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
    """The time of some work for each size."""
    spent = []
    work(make(sizes[0]))  # to warm up
    for size in sizes:
        own = make(size)
        start = time.process_time()
        work(own)
        spent.append(time.process_time() - start)
    return Series(of, what, sizes, spent)


def width_of(parameters: float) -> int:
    """The width of one hidden layer that gives about so many parameters."""
    return max(1, round((parameters - 10) / (784 + 11)))


def scaling(quick: bool) -> Iterator[Series]:
    """Every series; with fewer sizes if it has to be quick."""
    parameters = [1e4, 1e5] if quick else [1e4, 1e5, 1e6, 1e7]
    for work, name in ((interval, "interval"), (linear, "linear"), (direct, "projected")):
        yield series(work, name, "parameters", parameters, lambda n: problem([width_of(n)], 4))
    clients = [2, 10] if quick else [2, 10, 100, 1000]
    yield series(transported, "projected, transported", "clients", clients, lambda n: problem([64], 4, n))
    properties = [1, 10] if quick else [1, 10, 100, 1000, 10_000]
    yield series(interval, "interval", "properties", properties, lambda n: problem([64], n))
    yield series(direct, "projected", "properties", properties[:4], lambda n: problem([64], n))
    depth = [2, 3] if quick else [2, 3, 4, 5]
    yield series(linear, "linear", "hidden layers", depth, lambda n: problem([64] * n, 4))
    yield series(direct, "projected", "hidden layers", depth, lambda n: problem([64] * n, 2))
    radii = [1e-4, 1e-3] if quick else [1e-4, 1e-3, 1e-2, 1e-1]
    yield series(direct, "projected", "radius", radii, lambda r: problem([64], 20, radius=r))
