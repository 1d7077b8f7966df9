"""Projected events in which every ReLU is a line, so that all noise is a sum of scalar projections.

    B·a_l(x) ≥ g + Σ_l' N_l'    for all x in X,    N_l' = B_l'·(W̃_l' h_ref + b̃_l'),

with two choices of the reference h_ref (docs/soundness.md, section 10):

- `Conditional`: h_ref = h_{l'−1}(x_c), random. N_l' is Gaussian given the layers before, with a deviation
  that is bounded on their events; the sum is a martingale, the value of a Brownian motion at a random time
  of at most s² = Σ s_l'², and by the reflection principle Pr(Σ N_l' ≤ −g) ≤ 2 Q(g / s).
- `Static`: h_ref = c, the centre of the activations' range. All N_l' are independent and Gaussian, so that
  Pr(Σ N_l' ≤ −g) = Q(g / s), but all of h(x) − c, noise included, adds to what is lost to W̃ (h(x) − c).
  Layers that depend on each other leave only this choice: the sum is Gaussian still (`joined.py`).

Clients can cut scalar projections into cells: this is the form that is transported.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidLaw, ShapeMismatch
from fedcert.families.projected.bound import Violation, decided, zero_or_one
from fedcert.families.projected.joined import Seen, joined, joint_deviation
from fedcert.families.projected.rectified import first_activations
from fedcert.families.projected.references import Conditional, Ranges, Reference, Static
from fedcert.families.projected.relaxation import Lines, through_relu
from fedcert.families.projected.spread import (
    Spread,
    concentration,
    concentration_width,
    movement,
    movement_events,
    random_weights,
    rounded_centre,
)
from fedcert.families.projected.tails import Limit, Projections, total
from fedcert.laws.affine import FAR_NORMALS, RandomAffine
from fedcert.model.properties import Properties
from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.rounding import above, down, rounding_error, up


@dataclass(frozen=True)
class Federation:
    """The deployed network, and each client's share of its noise.

    Attributes:
        deployed: the layers under the deployed law.
        clients: the layers with each client's weighted scales; their squares add up to the deployed ones.
    """

    deployed: Sequence[RandomAffine]
    clients: Sequence[Sequence[RandomAffine]]


@dataclass(frozen=True)
class Chained:
    """The quantities that a bound relies on.

    Attributes:
        known: the hidden layers on their events.
        step: the width of the cells that bound the constraints' tails; 0 if there are none.
    """

    known: Sequence[Ranges]
    step: Float64[Tensor, "P R"]


def chained_violation(
    federation: Federation,
    properties: Properties,
    kappa: Float64[Tensor, "P"],
    failure: Float64[Tensor, "P"],
    reference: Reference | None = None,
    projections: Projections | None = None,
) -> Violation:
    """Bound the probability that C f(x) + d < 0 somewhere in a property's region.

    Args:
        federation: the network, its law, and the clients' shares of the noise.
        properties: P properties.
        kappa: κ, the width of one side of one neuron's range, in deviations.
        failure: the approximate failure probability of one event of concentration.
        reference: where the noise is taken; None for the random activations.
        projections: how sums of the clients' projections are bounded; None for their law.
    """
    return chained_analysis(federation, properties, kappa, failure, reference, projections)[0]


def chained_analysis(
    federation: Federation,
    properties: Properties,
    kappa: Float64[Tensor, "P"],
    failure: Float64[Tensor, "P"],
    reference: Reference | None = None,
    projections: Projections | None = None,
) -> tuple[Violation, Chained]:
    """The bound, and what it relies on; the arguments are those of `chained_violation`."""
    if properties.C.dim() != 3:
        raise ShapeMismatch("properties paired with boxes are for a verifier; a law has no boxes")
    chain = _Chain(federation, properties, failure, reference or Conditional(), projections or Limit())
    for depth in range(len(federation.deployed) - 1):
        chain.add_layer(depth, kappa)
    bound, step = chain.margins(properties)
    return bound, Chained(chain.known, step)


class _Chain:
    """The pass through the layers: what is known so far, and its price."""

    def __init__(
        self,
        federation: Federation,
        properties: Properties,
        failure: Float64[Tensor, "P"],
        reference: Reference,
        projections: Projections,
    ) -> None:
        self.layers, self.clients = federation.deployed, federation.clients
        self.reference, self.projections = reference, projections
        self.joined = joined(self.layers)
        if self.joined and not isinstance(reference, Static):
            raise InvalidLaw("layers that depend on each other have no noise that is conditional on others")
        self.centre, self.radius = rounded_centre(properties.regions.lower, properties.regions.upper)
        self.u = concentration_width(failure)
        self.event = concentration(self.u)
        self.price = Enclosure.exactly(torch.full_like(failure, FAR_NORMALS))
        self.known: list[Ranges] = []
        self.first = first_activations(self.layers[0], self.centre)
        self.first_shares = [first_activations(own[0], self.centre).deviation for own in self.clients]

    def add_layer(self, depth: int, kappa: Float64[Tensor, "P"]) -> None:
        """Bound the ranges of one more hidden layer."""
        layer = self.layers[depth]
        unit = torch.eye(layer.outputs, dtype=kappa.dtype, device=kappa.device)
        both = torch.cat([unit, -unit]).expand(len(kappa), -1, -1)
        unit = unit.expand(len(kappa), -1, -1)
        constant, noise = self.form(both, depth)
        low, minus_high = self._lowered(constant, noise, kappa).chunk(2, dim=-1)
        deviation = total(noise[0][:, : layer.outputs])
        if self.joined:  # no layer is conditional on others
            mean = -minus_high
        elif depth == 0:
            mean = up(self.first.mean + self.first.error)
        else:
            mean = -self._lowered(
                constant[:, layer.outputs :], [n[:, layer.outputs :] for n in noise[1:]], kappa
            )
        if self.joined:  # nothing is taken at the centre
            moved = up(-minus_high - low)
        else:
            spreads = [ranges.spread for ranges in self.known]
            moved = movement(unit, self.layers[: depth + 1], self.radius, spreads, self.u)
        spread = Spread.of(moved, low >= 0, minus_high >= 0)
        before = self.known[-1].ceiling if depth else self.centre.abs() + self.radius
        ceiling = layer.ceiling(up(before))
        self.known.append(Ranges(low, -minus_high, mean, deviation, ceiling, spread, layer.independent))
        factor = self.reference.factor if depth else 1.0
        price = zero_or_one(self.projections.price(kappa, len(self.clients)), self.layers[: depth + 1])
        side = factor * Enclosure.exactly(price)
        events = 3 * movement_events(self.layers[: depth + 1]) + 2 * self._deviations(depth)
        self.price = self.price + layer.outputs * (3 * side + events * self.event)

    def margins(self, properties: Properties) -> tuple[Violation, Float64[Tensor, "P R"]]:
        """The tails of the constraints and the price of all events, and the step of the tails' cells."""
        constant, noise = self.form(properties.C, len(self.layers) - 1)
        depth = len(self.layers) - 1
        events = movement_events(self.layers) + self._deviations(depth)
        price = self.price + properties.C.shape[-2] * events * self.event
        shares = total(torch.stack(noise, dim=-1))
        tails = self.projections.tail(down(constant + properties.d), shares)
        factor = 1.0 if depth == 0 else self.reference.factor
        tails = zero_or_one((factor * Enclosure.exactly(tails)).upper.clamp(max=1.0), self.layers)
        tails = decided(properties.C, properties.d, tails)
        return Violation(tails, price.upper), self.projections.step(shares)

    def _deviations(self, depth: int) -> int:
        """The number of events that bound the deviations of the clients' noise, for a row."""
        return sum(random_weights(own[1 : depth + 1]) for own in self.clients)

    def form(
        self, rows: Float64[Tensor, "P R m"], depth: int
    ) -> tuple[Float64[Tensor, "P R"], list[Float64[Tensor, "P R n"]]]:
        """g, and the deviations of the clients' projections for each layer from layers[depth] down.

        Layers that depend on each other have one deviation, of all of them together.
        """
        constant = error = magnitude = torch.zeros_like(rows[..., 0])
        deviations: list[Tensor] = []
        seen: list[Seen] = []
        for place in reversed(range(1, depth + 1)):
            layer, before = self.layers[place], self.known[place - 1]
            offset, offset_error = layer.offset(rows)
            noise = layer.noise(rows)
            lost = self.reference.lost(place, self.layers, self.radius, self.known, noise, self.u)
            if isinstance(self.reference, Static):
                seen.append(Seen(rows, self.reference.middle(before)[0]))
            if not self.joined:
                each = [own[place].noise(rows) for own in self.clients]
                shares = [self.reference.deviation(own, before, self.u) for own in each]
                deviations.append(torch.stack(shares, dim=-1))
            coefficient, coefficient_error = layer.product(rows)
            lines = Lines.of(before.lower, before.upper)
            rows, drop, charge = through_relu(coefficient, coefficient_error, lines, before.ceiling)
            constant = constant + offset - lost + drop
            magnitude = magnitude + offset.abs() + lost + drop.abs()
            error = error + offset_error + charge
        mean = self.first.mean.unsqueeze(-2)
        terms = rows.shape[-1] + 4
        value = (rows * mean).sum(-1)
        inexact = (rows.abs() * self.first.error.unsqueeze(-2)).sum(-1)
        moved = self.layers[0].movement(rows, self.radius, self.u)
        seen.append(Seen(rows, self.centre))
        deviations.append(self._at_the_centre(rows, seen))
        size = (rows * mean).abs().sum(-1)
        magnitude = magnitude + size + moved
        error = error + inexact + rounding_error(terms, size) + rounding_error(8 * depth + 8, magnitude)
        return down(constant + value - moved - above(error, 64 * depth + 2 * terms)), deviations

    def _at_the_centre(
        self, rows: Float64[Tensor, "P R m"], seen: Sequence[Seen]
    ) -> Float64[Tensor, "P R n"]:
        """The deviations of the clients' noise of the first layer, or of all layers if these are joined."""
        if self.joined:
            shares = [joint_deviation(own, seen[::-1]) for own in self.clients]
        elif all(own[0].independent for own in self.clients):
            terms = rows.shape[-1] + 4
            shares = [
                up(above((rows * t.unsqueeze(-2)).square().sum(-1), terms).sqrt()) for t in self.first_shares
            ]
        else:
            shares = [own[0].noise(rows).at(self.centre) for own in self.clients]
        return torch.stack(shares, dim=-1)

    def _lowered(
        self,
        constant: Float64[Tensor, "P R"],
        noise: list[Float64[Tensor, "P R n"]],
        kappa: Float64[Tensor, "P"],
    ) -> Float64[Tensor, "P R"]:
        """The constant minus the width of the projections' sum: a lower bound but for `price(κ)`."""
        shares = total(torch.stack(noise, dim=-1))
        return down(constant - self.projections.width(kappa.unsqueeze(-1).expand_as(constant), shares))
