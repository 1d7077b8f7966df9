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
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.errors import InvalidLaw, ShapeMismatch
from fedcert.families.projected.bound import Violation, decided, zero_or_one
from fedcert.families.projected.carried import Head
from fedcert.families.projected.fields import Fields
from fedcert.families.projected.joined import joined
from fedcert.families.projected.overlap import ALONE, Margins, most_overlap, worth_sharing
from fedcert.families.projected.references import Conditional, Ranges, Reference, Static
from fedcert.families.projected.relaxation import Lines
from fedcert.families.projected.spread import (
    Spread,
    all_fixed,
    concentration,
    concentration_width,
    movement,
    movement_events,
    random_weights,
    rounded_centre,
)
from fedcert.families.projected.tails import Limit, Projections, total
from fedcert.families.projected.view import View
from fedcert.laws.affine import FAR_NORMALS, CarriedNoise, RandomAffine, independent
from fedcert.laws.conv_affine import ConvAffine
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.rounding import down, up


@dataclass(frozen=True)
class Federation:
    """The deployed network, and each client's share of its noise.

    Attributes:
        deployed: the layers under the deployed law.
        clients: the layers with each client's weighted scales; their squares add up to the deployed ones.
        rectified: whether a ReLU follows each hidden layer; None for all.
    """

    deployed: Sequence[RandomAffine]
    clients: Sequence[Sequence[RandomAffine]]
    rectified: Sequence[bool] | None = None


@dataclass(frozen=True)
class Chained:
    """The quantities that a bound relies on.

    Attributes:
        known: the hidden layers on their events.
        step: the width of the cells that bound the constraints' tails; 0 if there are none.
        carried: whether a constraint's noise was carried to the inputs; None where it never is.
    """

    known: Sequence[Ranges]
    step: Float64[Tensor, "P R"]
    carried: Bool[Tensor, "P R"] | None = None


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
    return bound, Chained(chain.view.known, step)


def carries(federation: Federation, properties: Properties) -> bool:
    """Whether all layers but the last are fixed, and the last one's noise is known along every direction.

    Args:
        federation: a network and its law.
        properties: of the network.
    """
    *fixed, head = federation.deployed
    if not all_fixed(fixed) or joined(federation.deployed) or independent(federation.deployed):
        return False
    rows = properties.C.new_zeros(1, 1, head.outputs)
    return not isinstance(head, ConvAffine) and isinstance(head.noise(rows), CarriedNoise)


def carried_analysis(federation: Federation, properties: Properties) -> tuple[Violation, Chained]:
    """The bound of a random last layer behind fixed ones (`carried.py`), whose ranges cost nothing.

    Args:
        federation: for which `carries` holds.
        properties: P properties.
    """
    chain = _fixed_layers(federation, properties)
    tails, carried = Head(chain.view, properties).tails()
    tails = decided(properties.C, properties.d, zero_or_one(tails, federation.deployed))
    return Violation(tails, chain.price.upper), Chained(chain.view.known, torch.zeros_like(tails), carried)


def counted_twice(
    federation: Federation, properties: Properties, tails: Float64[Tensor, "P R"]
) -> tuple[Float64[Tensor, "P"], Float64[Tensor, "P R"]]:
    """What the sum of the constraints' tails counts more than once (`overlap.py`), and the shares behind it.

    Args:
        federation: for which `carries` holds.
        properties: P properties.
        tails: bounds of the constraints' tails.
    """
    twice, chosen = torch.zeros_like(tails[:, 0]), torch.full_like(tails, ALONE)
    worth = worth_sharing(tails).nonzero().flatten()
    if len(worth):
        lower, upper = properties.regions.lower[worth], properties.regions.upper[worth]
        centre, _ = rounded_centre(lower, upper)
        there = Properties(Box(centre, centre), properties.C[worth], properties.d[worth])
        margins = Margins.at(Head(_fixed_layers(federation, there).view, there))
        twice[worth], chosen[worth] = most_overlap(margins)
    return twice, chosen


def _fixed_layers(federation: Federation, properties: Properties) -> "_Chain":
    """The pass through all layers but the last, which are fixed and cost nothing."""
    ones = torch.ones_like(properties.d[:, 0])
    chain = _Chain(federation, properties, ones / 2, Static(), Limit())
    for depth in range(len(federation.deployed) - 1):
        chain.add_layer(depth, ones)
    return chain


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
        layers, clients = federation.deployed, federation.clients
        self.layers, self.clients = layers, clients
        self.rectified = federation.rectified or [True] * (len(layers) - 1)
        self.projections = projections
        self.joined = joined(layers)
        if self.joined and not isinstance(reference, Static):
            raise InvalidLaw("layers that depend on each other have no noise that is conditional on others")
        u = concentration_width(failure)
        self.event = concentration(u)
        self.price = Enclosure.exactly(torch.full_like(failure, FAR_NORMALS))
        self.fields = Fields(layers)
        self.view = View.of_region(layers, clients, properties.regions, reference, u)

    def add_layer(self, depth: int, kappa: Float64[Tensor, "P"]) -> None:
        """Bound the ranges of one more hidden layer."""
        layer = self.layers[depth]
        found = [
            self._ranges(view, wide) for view, wide in self.fields.views(self.view.up_to(depth), depth, kappa)
        ]
        low, high, mean, deviation, moved = (
            self.fields.whole(parts, depth) for parts in zip(*found, strict=True)
        )
        if self.rectified[depth]:
            spread, lines = Spread.of(moved, low >= 0, high <= 0), Lines.of(low, high)
        else:
            every = torch.ones_like(low, dtype=torch.bool)
            spread, lines = Spread.of(moved, every, ~every), Lines.straight(low)
        known, view = self.view.known, self.view
        before = known[-1].ceiling if depth else view.centre.abs() + view.radius
        ceiling = layer.ceiling(up(before))
        self.view = view.knowing(
            Ranges(
                low, high, mean, deviation, ceiling, spread, lines, layer.independent, self.rectified[depth]
            )
        )
        factor = view.reference.factor if depth else 1.0
        price = zero_or_one(self.projections.price(kappa, len(self.clients)), self.layers[: depth + 1])
        side = factor * Enclosure.exactly(price)
        events = 3 * movement_events(self.layers[: depth + 1]) + 2 * self._deviations(depth)
        self.price = self.price + layer.outputs * (3 * side + events * self.event)

    def _ranges(self, view: View, kappa: Float64[Tensor, "P"]) -> list[Float64[Tensor, "P m"]]:
        """Lower and upper bounds, conditional means and deviations, and movements of a view's neurons."""
        neurons, depth = view.layers[-1].outputs, len(view.layers) - 1
        unit = torch.eye(neurons, dtype=kappa.dtype, device=kappa.device)
        both = torch.cat([unit, -unit]).expand(len(kappa), -1, -1)
        constant, noise = view.form(both)
        low, minus_high = self._lowered(constant, noise, kappa).chunk(2, dim=-1)
        deviation = total(noise[0][:, :neurons])
        if isinstance(view.reference, Static):  # nothing is taken at the centre
            return [low, -minus_high, -minus_high, deviation, up(-minus_high - low)]
        if depth == 0:
            mean = up(view.first.mean + view.first.error)
        else:
            mean = -self._lowered(constant[:, neurons:], [n[:, neurons:] for n in noise[1:]], kappa)
        spreads = [ranges.spread for ranges in view.known]
        moved = movement(unit.expand(len(kappa), -1, -1), view.layers, view.radius, spreads, view.u)
        return [low, -minus_high, mean, deviation, moved]

    def margins(self, properties: Properties) -> tuple[Violation, Float64[Tensor, "P R"]]:
        """The tails of the constraints and the price of all events, and the step of the tails' cells."""
        constant, noise = self.view.form(properties.C)
        depth = len(self.layers) - 1
        events = movement_events(self.layers) + self._deviations(depth)
        price = self.price + properties.C.shape[-2] * events * self.event
        shares = total(torch.stack(noise, dim=-1))
        tails = self.projections.tail(down(constant + properties.d), shares)
        factor = 1.0 if depth == 0 else self.view.reference.factor
        tails = zero_or_one((factor * Enclosure.exactly(tails)).upper.clamp(max=1.0), self.layers)
        tails = decided(properties.C, properties.d, tails)
        return Violation(tails, price.upper), self.projections.step(shares)

    def _deviations(self, depth: int) -> int:
        """The number of events that bound the deviations of the clients' noise, for a row."""
        return sum(random_weights(own[1 : depth + 1]) for own in self.clients)

    def _lowered(
        self,
        constant: Float64[Tensor, "P R"],
        noise: list[Float64[Tensor, "P R n"]],
        kappa: Float64[Tensor, "P"],
    ) -> Float64[Tensor, "P R"]:
        """The constant minus the width of the projections' sum: a lower bound but for `price(κ)`."""
        shares = total(torch.stack(noise, dim=-1))
        return down(constant - self.projections.width(kappa.unsqueeze(-1).expand_as(constant), shares))
