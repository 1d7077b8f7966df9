"""Random problems: networks, parameter boxes, regions and constraints, from a seed."""

from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import Tensor

from fedcert.laws.independent_noise import IndependentNoise
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream


@dataclass(frozen=True)
class Problem:
    network: Network
    boxes: Box
    properties: Properties
    generator: torch.Generator


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def uniform(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.rand(shape, generator=generator, dtype=torch.float64)


def vector(*values: float) -> Tensor:
    """These numbers in double precision."""
    return torch.tensor(values, dtype=torch.float64)


def noise_of(deviation: Tensor) -> IndependentNoise:
    """Noise of these deviations on the weights of some rows, and none on their biases."""
    return IndependentNoise(deviation, torch.zeros_like(deviation[..., 0]))


def make_problem(
    seed: int,
    widths: tuple[int, ...],
    boxes: int = 3,
    properties: int = 2,
    constraints: int = 2,
    weight_radius: float = 0.1,
    input_radius: float = 0.1,
    non_negative: bool = False,
    magnitude: float = 1.0,
) -> Problem:
    """A network with random boxes, regions and constraints, some of which hold."""
    generator = stream(seed, "problem")
    network = mlp(*widths)
    center = magnitude * normal(generator, boxes, network.parameters)
    parameters = Box.around(center, weight_radius * magnitude * uniform(generator, *center.shape))
    x = normal(generator, properties, widths[0])
    x = x.abs() if non_negative else x
    region = Box.around(x, input_radius * uniform(generator, *x.shape))
    region = Box(region.lower.clamp(min=0), region.upper) if non_negative else region
    C = normal(generator, properties, constraints, widths[-1])
    values = network(center[0], x)
    d = 0.5 * magnitude * normal(generator, properties, constraints) - (C @ values.unsqueeze(-1)).squeeze(-1)
    return Problem(network, parameters, Properties(region, C, d), generator)


WIDTHS = st.lists(st.integers(1, 4), min_size=2, max_size=4).map(tuple)

SPECIFICATIONS = st.fixed_dictionaries({
    "seed": st.integers(0, 2**32),
    "widths": WIDTHS,
    "boxes": st.integers(1, 3),
    "properties": st.integers(1, 3),
    "constraints": st.integers(1, 3),
    "weight_radius": st.sampled_from([0.0, 1e-9, 1e-3, 0.3, 3.0]),
    "input_radius": st.sampled_from([0.0, 1e-9, 1e-2, 1.0]),
    "non_negative": st.booleans(),
    "magnitude": st.sampled_from([1e-160, 1e-3, 1.0, 1e6]),
})
