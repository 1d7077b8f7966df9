"""What each step of the projected events buys: the certified share, with one step more in each column.

static, conditional: theory 2a and 2b, every ReLU a line, the best of three splits a property;
exact: the first hidden layer's law instead of lines, tails by exponential moments, one split;
inverted: tails by inversion of the characteristic function; linear: the noise of what the region moves
bounded through the layer before, not neuron by neuron; split: the split of the failure probabilities searched
for each property and layer; slopes: those of the lines below the ReLUs too, which is what `fedcert run` does.
Then U, and the survival of sampled networks. Last, what adding up the constraints' tails can lose at all: the
mean number of violated constraints minus the share of violating networks, of 2,000 networks at the centre.

    FEDCERT_DATA=... python benchmarks/projected_steps.py
"""

from concurrent.futures import ProcessPoolExecutor
from unittest.mock import patch

import torch
from common import HEADER, SETTINGS, Setting, Trained, mean, percent, train
from projected_certificates import chained

from fedcert.families.projected import bound, constraint_tails
from fedcert.families.projected.direct import upper_bound
from fedcert.families.projected.layers import random_layers
from fedcert.families.projected.references import Conditional, Static
from fedcert.families.projected.split import STARTS, Coordinate, coordinates, least_violation, uniform_split
from fedcert.laws.affine import MovedInputs
from fedcert.laws.independent_noise import IndependentNoise
from fedcert.randomness import stream
from fedcert.verify.attack import ProjectedGradient


def neuron_by_neuron(noise: IndependentNoise, moved: MovedInputs, u: torch.Tensor) -> torch.Tensor:
    """`over_moved` without the layer before: a valid bound, and a looser one."""
    return noise.over(moved.delta, u)


def without_slopes(layers: int) -> list[Coordinate]:
    """The coordinates of a split but those of the slopes."""
    return [coordinate for coordinate in coordinates(layers) if coordinate[0] != "tilt"]


def lost_by_adding_up(trained: Trained, samples: int = 2000) -> float:
    """E[violated constraints] − Pr(any is violated) at the centres of the regions, by sampling."""
    regions, generator = trained.properties.regions, stream(0, "union")
    x = ((regions.lower + regions.upper) / 2).expand(100, -1, -1)
    lost = 0.0
    for _ in range(samples // 100):
        outputs = trained.network(trained.deployed.sample(100, generator), x)
        margins = torch.einsum("prk,bpk->bpr", trained.properties.C, outputs) + trained.properties.d
        lost += mean((margins < 0).sum(-1).double()) - mean((margins < 0).any(-1).double())
    return lost / (samples // 100)


def row(job: tuple[Setting, float | None]) -> str:
    torch.set_num_threads(1)
    setting, scale = job
    trained = train(setting)
    if scale is not None:
        trained = trained.scaled(scale)
    layers, properties = random_layers(trained.network, trained.deployed), trained.properties
    split = uniform_split(layers, properties, STARTS[0])

    def certified() -> float:
        return mean(1 - bound.violation(layers, properties, split).probability)

    values = [chained(trained, Static()), chained(trained, Conditional())]
    with patch.object(IndependentNoise, "over_moved", neuron_by_neuron):
        with patch.object(constraint_tails, "WORTH_INVERTING", 2.0):
            values.append(certified())
        values.append(certified())
    values.append(certified())
    with patch("fedcert.families.projected.split.coordinates", without_slopes):
        values.append(mean(1 - least_violation(layers, properties)[0].probability))
    values.append(mean(1 - least_violation(layers, properties)[0].probability))
    values.append(mean(upper_bound(trained.network, trained.deployed, properties, ProjectedGradient())[0]))
    values.append(trained.survival().value)
    values.append(lost_by_adding_up(trained))
    shown = "learned" if scale is None else f"{scale:g}"
    return f"| {setting} | {shown} | " + " | ".join(percent(value) for value in values) + " |"


def main() -> None:
    columns = "static | conditional | exact | inverted | linear | split | slopes | U | survival | union"
    print(f"| {HEADER} | scale | {columns} |\n|" + "---|" * 15)
    jobs = [(setting, scale) for setting in SETTINGS[:3] for scale in (None, 3e-2)] + [(SETTINGS[3], None)]
    with ProcessPoolExecutor() as pool:
        for line in pool.map(row, jobs):
            print(line, flush=True)


if __name__ == "__main__":
    main()
