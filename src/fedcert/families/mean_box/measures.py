"""How the mass of a `box` event is computed: one box per client, or all tuples of lattice cells in a box."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.families.mean_box.lattice import Lattice
from fedcert.families.mean_box.witness import MeasureKind
from fedcert.laws import DiagonalLaw, Law, diagonal_components
from fedcert.numerics.box import Box
from fedcert.numerics.rounding import sum_down
from fedcert.rules import AggregationRule, LinearMap, LinearRule


class EventMeasure(NamedTuple):
    """Boxes of some laws, their image under a rule, and how the mass of the event behind it is measured."""

    kind: MeasureKind
    laws: Sequence[DiagonalLaw]
    rule: AggregationRule
    log_mass: Callable[[Float64[Tensor, "u d"]], Float64[Tensor, "u"]]

    def images(self, radius: Float64[Tensor, "u d"]) -> Box:
        """The image of the boxes [μ_i ± r σ_i], in real numbers, for each row of radii."""
        return self.rule.image([law.central_box(radius) for law in self.laws])


def measures(
    laws: Sequence[Law], rule: AggregationRule, deployed: DiagonalLaw | None = None
) -> list[EventMeasure]:
    """The measures that are worth trying: the lattice's, and products where they may be better.

    Args:
        laws: the clients' posteriors, each with one component.
        rule: the deployed rule.
        deployed: the law that it deploys, where it is known already.
    """
    if len(laws) > 1 and isinstance(rule, LinearMap):
        gaussians = [diagonal_components(law)[0] for law in laws]
        deployed = deployed or rule.pushforward(gaussians)
        lattice = Lattice.of(rule, gaussians, deployed)
        if lattice is not None:
            counted = _lattice(lattice, deployed, rule.name)
            return [counted] if lattice.beats_products else [counted, _products(laws, rule)]
    return [_products(laws, rule)]


def _products(laws: Sequence[Law], rule: AggregationRule) -> EventMeasure:
    """One box per client: the event {Θ_i ∈ H_i for all i}, with mass Π_i q_i(H_i)."""
    gaussians = [diagonal_components(law)[0] for law in laws]

    def log_mass(radius: Float64[Tensor, "u d"]) -> Float64[Tensor, "u"]:
        return sum_down(torch.stack([law.central_log_mass(radius) for law in gaussians], dim=-1))

    return EventMeasure(MeasureKind.PRODUCT, gaussians, rule, log_mass)


def _lattice(lattice: Lattice, deployed: DiagonalLaw, rule: str) -> EventMeasure:
    """All tuples of lattice cells whose image lies in a box around the deployed mean."""

    def log_mass(radius: Float64[Tensor, "u d"]) -> Float64[Tensor, "u"]:
        masses = [lattice.log_mass(row) for row in radius]
        return torch.tensor(masses, dtype=torch.float64, device=deployed.loc.device)

    return EventMeasure(MeasureKind.LATTICE, [deployed], identity(rule, deployed), log_mass)


def identity(name: str, law: Law) -> LinearRule:
    """The rule of a single client, under a name for the table."""
    return LinearRule.average(torch.ones(1, 1, dtype=torch.float64, device=law.loc.device), name)
