"""An upper bound of the probability that a random network violates a property.

The margins C f(x) + d are bounded below over the whole region by linear forms in the first hidden
activations at the centre, with Gaussian noise. The probabilities that these forms are negative, and the
failure probabilities of all events that were used, add up to a bound of the probability of a
violation. Any `Split` of the failure probabilities gives a valid bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from fedcert.errors import ShapeMismatch
from fedcert.families.projected.centre import Hidden, Known, LinearForm, linear_form
from fedcert.families.projected.chernoff import moments, quantile_rates
from fedcert.families.projected.constraint_tails import TailChoices, constraint_forms, constraint_tails
from fedcert.families.projected.excess import price_of_excess
from fedcert.families.projected.later import lowest_deviations
from fedcert.families.projected.ranges import excess_of, ranges
from fedcert.families.projected.rectified import Rectified, first_activations
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
from fedcert.laws.affine import FAR_NORMALS, IndependentAffine, RandomAffine
from fedcert.model.properties import Properties
from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.gaussian import tail
from fedcert.numerics.rounding import down, rounding_error, up


@dataclass(frozen=True)
class Split:
    """How the failure probability of the events is split, for each property.

    Attributes:
        ranges: failure probability of one side of one neuron's range, for each hidden layer; in the first
            layer, the largest price of calling a neuron active or inactive.
        movement: failure probability of one event that bounds what the region moves, for the rows of each
            layer.
        deviation: failure probability of one event that bounds a conditional mean or deviation, for the rows
            of each layer.
        tilt: ρ of the lines below the ReLUs, for each hidden layer; it costs no probability.
        reach: multiple of the reach of lines above the ReLUs that may be exceeded; 0 for lines that hold.
    """

    ranges: Float64[Tensor, "P hidden"]
    movement: Float64[Tensor, "P layers"]
    deviation: Float64[Tensor, "P layers"]
    tilt: Float64[Tensor, "P hidden"]
    reach: Float64[Tensor, "P 1"]

    def of(self, index: Bool[Tensor, "P"] | Int64[Tensor, "Q"] | slice) -> "Split":
        """The split of some properties."""
        return Split(*(getattr(self, field.name)[index] for field in fields(self)))


@dataclass(frozen=True)
class Violation:
    """A bound of the probability that a property is violated, in two parts.

    Attributes:
        tails: bounds of the probabilities that the constraints' linear forms at the centre are negative.
        events: a bound of the failure probability of all events that the tails rely on.
    """

    tails: Float64[Tensor, "P R"]
    events: Float64[Tensor, "P"]

    @property
    def probability(self) -> Float64[Tensor, "P"]:
        """An upper bound of the probability of a violation; 1 where nothing is known."""
        return self.total.clamp(max=1.0)

    @property
    def total(self) -> Float64[Tensor, "P"]:
        """The sum of all bounds, which may exceed 1: a search can still make it less."""
        return (Enclosure.exactly(self.tails).sum() + self.events).upper


def violation(
    layers: Sequence[IndependentAffine],
    properties: Properties,
    split: Split,
    prepared: "Prepared | None" = None,
) -> Violation:
    """Bound the probability that C f(x) + d < 0 somewhere in a property's region.

    The arguments are those of `analysis`.
    """
    return analysis(layers, properties, split, prepared)[0]


@dataclass(frozen=True)
class Prepared:
    """What is known of the hidden layers on the regions, whatever is asked of the outputs.

    It does not depend on the last layer's part of a split.

    Attributes:
        known: the hidden layers.
        price: a bound of the failure probability of all events that this relies on.
    """

    known: Known
    price: Enclosure

    def tilted(self, tilt: Float64[Tensor, "P"]) -> "Prepared":
        """The same with another ρ of the lines of the last hidden layer, on which nothing here depends.

        Args:
            tilt: ρ.
        """
        *before, last = self.known.hidden
        lines = Lines.of(last.lines.lower, last.lines.upper, tilt)
        return replace(self, known=replace(self.known, hidden=(*before, replace(last, lines=lines))))


def prepare(layers: Sequence[IndependentAffine], properties: Properties, split: Split) -> Prepared:
    """What is known of the hidden layers, at least one; the arguments are those of `analysis`."""
    centre, radius = rounded_centre(properties.regions.lower, properties.regions.upper)
    first = first_activations(layers[0], centre)
    u, width = concentration_width(split.movement).mT, concentration_width(split.deviation).mT
    moving, deviating = concentration(u), concentration(width)
    moved = movement(_unit(layers[0], properties.C), layers[:1], radius, (), u[0])
    spread, price = _first_spread(first, moved, split.ranges[:, 0])
    price = price + layers[0].outputs * movement_events(layers[:1]) * moving[0] + FAR_NORMALS
    known = Known(first, radius, (spread,), (), u[1], width[1])
    for depth in range(1, len(layers) - 1):
        grown, cost = _next_layer(layers[: depth + 1], known, split, depth)
        before = layers[: depth + 1]
        deviations = deviation_events(before)
        events = 4 * movement_events(before) * moving[depth] + deviations * deviating[depth]
        price = price + cost + layers[depth].outputs * events
        known = replace(grown, moving=u[depth + 1], deviating=width[depth + 1])
    return Prepared(known, price)


def analysis(
    layers: Sequence[IndependentAffine],
    properties: Properties,
    split: Split,
    prepared: Prepared | None = None,
) -> tuple[Violation, tuple[Known, TailChoices] | None]:
    """The bound, what it knows about the hidden layers and how it bounds the tails; None for a single layer.

    Args:
        layers: the network and its law.
        properties: P properties.
        split: any split of the failure probabilities.
        prepared: what `prepare` found for these regions and this split, but for the last layer's part.
    """
    if properties.C.dim() != 3:
        raise ShapeMismatch("properties paired with boxes are for a verifier; a law has no boxes")
    C, d = properties.C, properties.d
    u, width = concentration_width(split.movement).mT[-1], concentration_width(split.deviation).mT[-1]
    moving, deviating = concentration(u), concentration(width)
    if len(layers) == 1:
        centre, radius = rounded_centre(properties.regions.lower, properties.regions.upper)
        margin = down(d - movement(C, layers, radius, (), u))
        first = first_activations(layers[0], centre)
        tails = decided(C, d, zero_or_one(_gaussian_tails(C, first, margin), layers))
        return Violation(tails, (C.shape[-2] * movement_events(layers) * moving + FAR_NORMALS).upper), None
    prepared = prepared or prepare(layers, properties, split)
    known = replace(prepared.known, moving=u, deviating=width)
    form, reach = constraint_forms(C, d, layers, known, split.reach[:, 0])
    own = movement_events(layers) * moving + random_weights(layers[2:]) * deviating
    price = prepared.price + C.shape[-2] * own
    lowest, rates = lowest_deviations(form, layers, known, split.deviation[:, -1])
    for depth in (d for d in range(2, len(layers)) if not layers[d].fixed_weights):
        price = price + C.shape[-2] * zero_or_one(split.deviation[:, -1], layers[:depth])
        price = price + C.shape[-2] * random_weights(layers[2:depth]) * deviating
    tails, chosen = constraint_tails(form, lowest, rates, reach)
    if form.excess is not None:
        tails = up(tails + price_of_excess(form.excess, lowest[0]))
    return Violation(decided(C, d, zero_or_one(tails, layers)), price.upper), (known, chosen)


def decided(
    C: Float64[Tensor, "P R K"], d: Float64[Tensor, "P R"], tails: Float64[Tensor, "P R"]
) -> Float64[Tensor, "P R"]:
    """The tails, except for a constraint of zeros, 0·f(x) + d ≥ 0, for which they are 0 or 1."""
    return torch.where((C == 0).all(-1), (d < 0).to(tails.dtype), tails)


def zero_or_one(
    bound: Float64[Tensor, "*shape"], layers: Sequence[RandomAffine]
) -> Float64[Tensor, "*shape"]:
    """A bound of the probability of something that depends on these layers alone, which may all be fixed.

    Then the probability is 0 or 1, so that it is 0 wherever the bound is below 1.
    """
    return torch.where(bound < 1, 0.0, bound) if all_fixed(layers) else bound


def _unit(layer: IndependentAffine, like: Float64[Tensor, "P R K"]) -> Float64[Tensor, "P m m"]:
    """The unit rows of a layer, for each property."""
    return torch.eye(layer.outputs, dtype=like.dtype, device=like.device).expand(len(like), -1, -1)


def _first_spread(
    first: Rectified, moved: Float64[Tensor, "P m"], most: Float64[Tensor, "P"]
) -> tuple[Spread, Enclosure]:
    """Which neurons of the first layer keep their sign on the whole region, and the price of assuming so.

    A neuron of mean |μ| changes its sign with probability at most Q((|μ| − moved) / t); with t = 0, never if
    |μ| > moved.
    """
    distance = Enclosure.exactly(first.mean.abs()) - moved - first.error
    crossed = Enclosure.exactly((~(distance > 0)).to(moved.dtype))
    flips = tail(distance / first.deviation).where(first.deviation > 0, crossed)
    keeps = flips <= most.unsqueeze(-1)
    active = keeps & (first.mean > 0)
    return Spread.of(moved, active, keeps & ~active), flips.where(keeps, 0.0).sum()


def _next_layer(
    layers: Sequence[IndependentAffine], known: Known, split: Split, depth: int
) -> tuple[Known, Enclosure]:
    """What is known with one more hidden layer, and the price of its ranges and means.

    A neuron's rows rely on 4 (3 l − 2) events of movement (two for the range, one for the mean, one for its
    own movement) and on `deviation_events` of deviations, less those of layers whose weights are known.
    Where nothing is random, nothing is paid.

    Args:
        layers: the layers up to this one.
        known: what is known of the layers before.
        split: the split of the failure probability.
        depth: the index of this layer.
    """
    failure, layer = split.deviation[:, depth], layers[-1]
    unit = _unit(layer, known.radius.unsqueeze(-2))
    form = linear_form(torch.cat([unit[:1], -unit[:1]], dim=-2).expand(len(unit), -1, -1), layers, known)
    own, reach = _own_deviations(form, layer, known)
    found = ranges(form, reach, split.ranges[:, depth])
    excess = excess_of(form, reach, found, (split.reach > 0).any(-1))
    price, mean_price = zero_or_one(found.price, layers), zero_or_one(failure, layers)

    means = form.rows(slice(layer.outputs, None)).without_own_noise()
    minus_mean, mean_rate = moments(means, quantile_rates(failure)).quantile(failure)
    moved = movement(unit, layers, known.radius, known.spreads, known.moving)
    before = known.hidden[-1].ceiling if known.hidden else up(known.first.ceiling + known.spreads[0].radius)
    lines, ceiling = Lines.of(found.lower, found.upper, split.tilt[:, depth]), layer.ceiling(before)
    hidden = Hidden(lines, -minus_mean, own, ceiling, found.rate, mean_rate, excess)
    spread = Spread.of(moved, found.active, found.inactive)
    grown = replace(known, spreads=(*known.spreads, spread), hidden=(*known.hidden, hidden))
    return grown, Enclosure.exactly(price).sum() + layer.outputs * Enclosure.exactly(mean_price)


def deviation_events(layers: Sequence[RandomAffine]) -> int:
    """The number of events that bound deviations for one neuron of the last of these layers, l ≥ 2.

    Two for each layer from the third to l (the ranges, the mean), and one more; two in layer 2, at the centre
    and at h'. None for a layer whose weights are known.
    """
    return 2 * random_weights(layers[2:] or layers[1:]) + random_weights(layers[-1:]) * (len(layers) > 2)


def _own_deviations(
    form: LinearForm, layer: IndependentAffine, known: Known
) -> tuple[Float64[Tensor, "P m"], Float64[Tensor, "P 2*m"]]:
    """Bounds of a layer's conditional deviations: at the centre, and of the noise in the forms of its rows.

    In layer 2 that noise is taken at h' = relu(μ' + t Z), μ' ≤ μ + D: another event a neuron.
    """
    if form.later:
        return form.later[0][:, : layer.outputs], form.later[0]
    noise, first = layer.noise(_unit(layer, known.radius.unsqueeze(-2))), known.first
    highest = up(first.mean + first.error)
    own = noise.at_rectified(highest, first.deviation, known.deviating)
    moved = known.spreads[0].radius
    moved = up(moved + rounding_error(8, moved + first.mean.abs()))  # μ' is rounded up several times
    reach = noise.at_rectified(up(highest + moved), first.deviation, known.deviating)
    return own, reach.repeat(1, 2)


def _gaussian_tails(
    C: Float64[Tensor, "P R m"],
    outputs: Rectified,
    margin: Float64[Tensor, "P R"],
) -> Float64[Tensor, "P R"]:
    """Pr(C a + margin < 0) for the independent Gaussian outputs a of a network with one layer."""
    mean, error = outputs.mean.unsqueeze(-2), outputs.error.unsqueeze(-2)
    row, own = Enclosure.exactly(C), Enclosure.around(mean, error)
    distance = (row * own).sum() + margin
    return tail(distance / (row * outputs.deviation.unsqueeze(-2)).norm()).upper
