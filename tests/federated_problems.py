"""Random problems of a whole federation: clients' laws, a linear rule, a network and one property."""

import itertools
from dataclasses import dataclass

import torch
from problems import normal, uniform
from torch import Tensor

from fedcert.laws import DiagonalGaussian, GaussianMixture, Law
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import LinearRule
from fedcert.verify.attack import ProjectedGradient


@dataclass(frozen=True)
class Federated:
    """Clients, the rule that deploys their model, and where and of what a property speaks.

    Attributes:
        network: f.
        laws: the clients' posteriors.
        rule: the deployed rule.
        centre: of the region, for one property.
        radius: of the region.
        C: the constraints, for one property.
        generator: the source of further randomness.
    """

    network: Network
    laws: list[Law]
    rule: LinearRule
    centre: Tensor
    radius: float
    C: Tensor
    generator: torch.Generator

    def properties(self, d: Tensor) -> Properties:
        return Properties(Box.around(self.centre, self.radius), self.C, d)

    def deployed(self, count: int) -> Tensor:
        """Samples of the deployed model: joint draws of the clients, aggregated."""
        return self.rule([law.sample(count, self.generator) for law in self.laws])

    def corners(self) -> Tensor:
        """The centre of the region and its corners."""
        signs = torch.tensor(
            list(itertools.product([-1.0, 1.0], repeat=self.network.inputs)), dtype=torch.float64
        )
        return torch.cat([self.centre, self.centre + self.radius * signs])

    def attacked(self, theta: Tensor) -> Tensor:
        """The least of each row of C f(x) over the centre and the corners, for sampled networks."""
        return (self.network(theta, self.corners()) @ self.C[0].mT).amin(1)

    def offsets(self, sigmas: float, pilot: int = 400) -> Tensor:
        """d for which the attacked margins of each constraint have a mean of so many deviations."""
        margins = self.attacked(self.deployed(pilot))
        return (sigmas * margins.std(0) - margins.mean(0)).unsqueeze(0)

    def survivors(self, theta: Tensor, properties: Properties) -> Tensor:
        """Which networks neither the corners nor a descent along the gradient show to be unsafe."""
        holds = (self.attacked(theta) + properties.d[0] >= 0).all(-1)
        return holds & ProjectedGradient().survives(self.network, theta, properties)[:, 0]


def make_federated(
    seed: int,
    widths: tuple[int, ...],
    scale: float,
    radius: float = 0.0,
    clients: int = 2,
    constraints: int = 1,
    mixtures: int = 0,
    linear: bool = False,
) -> Federated:
    """A federation whose first clients are mixtures of two; their components are not far apart.

    Args:
        seed: of all randomness.
        widths: of the network.
        scale: of the deployed law, about; each client's is wider.
        radius: of the region.
        clients: how many.
        constraints: how many the property has.
        mixtures: how many clients have a mixture for a law.
        linear: whether the rule's weights have both signs and do not add up to one.
    """
    generator = stream(seed, "federated")
    network = mlp(*widths)
    shared = 2 * network.initialise(generator).double()

    def gaussian() -> DiagonalGaussian:
        own = scale * clients**0.5
        loc = shared + own * normal(generator, len(shared))
        return DiagonalGaussian(loc, own * (0.3 + uniform(generator, len(shared))))

    laws: list[Law] = [
        GaussianMixture((gaussian(), gaussian()), 0.2 + uniform(generator, 2)) if i < mixtures else gaussian()
        for i in range(clients)
    ]
    if linear:
        rule = LinearRule(normal(generator, clients, 1) / clients + 1 / clients, 0.1 * shared)
    else:
        rule = LinearRule.fedavg([1 + i for i in range(clients)])
    centre = normal(generator, 1, widths[0])
    C = normal(generator, 1, constraints, widths[-1])
    return Federated(network, laws, rule, centre, radius, C, generator)


def joined(properties: list[Properties]) -> Properties:
    """The same properties as one batch."""
    lower, upper = (torch.cat([getattr(p.regions, end) for p in properties]) for end in ("lower", "upper"))
    return Properties(
        Box(lower, upper), torch.cat([p.C for p in properties]), torch.cat([p.d for p in properties])
    )
