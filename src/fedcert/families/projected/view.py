"""What is known of a network on a region, and the linear forms that follow from it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from fedcert.families.projected.joined import Seen, joined, joint_deviation
from fedcert.families.projected.rectified import Rectified, first_activations
from fedcert.families.projected.references import Ranges, Reference, Static
from fedcert.families.projected.relaxation import Lines, through_relu
from fedcert.families.projected.spread import Spread, rounded_centre
from fedcert.laws.affine import RandomAffine
from fedcert.laws.independent_noise import norm_up
from fedcert.numerics.box import Box
from fedcert.numerics.rounding import above, down, rounding_error

Layers = Sequence[RandomAffine]


@dataclass(frozen=True)
class View:
    """Layers, each client's share of their noise, and what is known of all hidden ones but the last.

    Attributes:
        layers: of a network, or of what some neurons of its last layer see of it.
        clients: the same layers with each client's noise.
        known: the hidden layers, on their events.
        centre: x_c.
        radius: δ_0.
        first: the law of the first layer's outputs at the centre.
        first_shares: the deviations of each client's share of it.
        reference: where the noise of later layers is taken.
        u: the width of the events.
    """

    layers: Layers
    clients: Sequence[Layers]
    known: Sequence[Ranges]
    centre: Float64[Tensor, "P p"]
    radius: Float64[Tensor, "P p"]
    first: Rectified
    first_shares: Sequence[Float64[Tensor, "P m"]]
    reference: Reference
    u: Float64[Tensor, "P"]

    @classmethod
    def of_region(
        cls,
        layers: Layers,
        clients: Sequence[Layers],
        regions: Box,
        reference: Reference,
        u: Float64[Tensor, "P"],
    ) -> "View":
        """Nothing is known of the hidden layers.

        Args:
            layers: the deployed network.
            clients: each client's share of its noise.
            regions: of the inputs.
            reference: where the noise of later layers is taken.
            u: the width of the events.
        """
        centre, radius = rounded_centre(regions.lower, regions.upper)
        shares = [first_activations(own[0], centre).deviation for own in clients]
        first = first_activations(layers[0], centre)
        return cls(layers, clients, (), centre, radius, first, shares, reference, u)

    def knowing(self, ranges: Ranges) -> "View":
        """With one more hidden layer."""
        return replace(self, known=(*self.known, ranges))

    def up_to(self, depth: int) -> "View":
        """The network that ends with layers[depth]."""
        return replace(
            self,
            layers=self.layers[: depth + 1],
            clients=[own[: depth + 1] for own in self.clients],
            known=self.known[:depth],
        )

    def narrowed(
        self, layers: Layers, clients: Sequence[Layers], tables: Sequence[Int64[Tensor, "L _"]]
    ) -> "View":
        """What L groups of neurons see, each a problem of its own; what is not there is 0, and stays 0.

        Args:
            layers: on what each group sees.
            clients: the same of the clients.
            tables: for the inputs and for the outputs of each layer, which of them a group sees; a number
                beyond the last one names nothing.
        """
        inputs, first, *_ = tables
        return replace(
            self,
            layers=layers,
            clients=clients,
            known=[_picked_ranges(own, table) for own, table in zip(self.known, tables[1:], strict=False)],
            centre=picked(self.centre, inputs),
            radius=picked(self.radius, inputs),
            first=Rectified(
                picked(self.first.mean, first),
                picked(self.first.deviation, first),
                picked(self.first.error, first),
            ),
            first_shares=[picked(own, first) for own in self.first_shares],
            u=self.u.repeat_interleave(len(inputs)),
        )

    def form(
        self, rows: Float64[Tensor, "P R m"]
    ) -> tuple[Float64[Tensor, "P R"], list[Float64[Tensor, "P R n"]]]:
        """g, and the deviations of the clients' projections for each layer from the last one down.

        On the events B·a(x) ≥ g + Σ N for rows B of the last layer. Layers that depend on each other have
        one deviation, of all of them together.
        """
        depth, all_joined = len(self.layers) - 1, joined(self.layers)
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
            if not all_joined:
                each = [own[place].noise(rows) for own in self.clients]
                shares = [self.reference.deviation(own, before, self.u) for own in each]
                deviations.append(torch.stack(shares, dim=-1))
            coefficient, coefficient_error = layer.product(rows)
            rows, drop, charge = through_relu(coefficient, coefficient_error, before.lines, before.ceiling)
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
        if joined(self.layers):
            shares = [joint_deviation(own, seen[::-1]) for own in self.clients]
        elif all(own[0].independent for own in self.clients):
            widths = [rows * own.unsqueeze(-2) for own in self.first_shares]
            shares = [norm_up(own) for own in widths]
        else:
            shares = [own[0].noise(rows).at(self.centre) for own in self.clients]
        return torch.stack(shares, dim=-1)


def picked(values: Float64[Tensor, "P n"], table: Int64[Tensor, "L k"]) -> Float64[Tensor, "PL k"]:
    """The values that each group sees, group after group; 0 for what is not there.

    Args:
        values: of each property.
        table: places among the values.
    """
    padded = torch.cat([values, torch.zeros_like(values[:, :1])], -1)
    seen: Tensor = padded.index_select(-1, table.flatten()).unflatten(-1, table.shape)
    return seen.flatten(0, 1)


def _picked_ranges(ranges: Ranges, table: Int64[Tensor, "L k"]) -> Ranges:
    """The ranges of the neurons that each group sees."""

    def seen(values: Float64[Tensor, "P m"]) -> Float64[Tensor, "PL k"]:
        return picked(values, table)

    own = ranges.lines
    lines = Lines(*map(seen, (own.lower, own.upper, own.below, own.slope, own.height)))
    return Ranges(
        seen(ranges.lower),
        seen(ranges.upper),
        seen(ranges.mean),
        seen(ranges.deviation),
        seen(ranges.ceiling),
        Spread(seen(ranges.spread.radius), seen(ranges.spread.slope)),
        lines,
        ranges.independent,
        ranges.rectified,
    )
