"""The choices behind a bound, which a checker repeats: signs, slopes, rates and a split.

Any choice is sound; docs/certificate-format.md lists the tensors.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.families.projected.bound import Prepared, Split, Violation, analysis
from fedcert.families.projected.centre import Known
from fedcert.families.projected.chain import (
    Chained,
    Federation,
    carried_analysis,
    carries,
    chained_analysis,
    counted_twice,
)
from fedcert.families.projected.constraint_tails import TailChoices
from fedcert.families.projected.joined import joined
from fedcert.families.projected.references import Conditional, Reference, Static
from fedcert.families.projected.split import parts
from fedcert.families.projected.spread import Spread, all_fixed
from fedcert.families.projected.tails import Projections
from fedcert.laws.affine import IndependentAffine, RandomAffine
from fedcert.model.properties import Properties
from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.parts import on_parts

Choices = Mapping[str, Tensor]
EXACT, CONDITIONAL, STATIC, PIECES, CARRIED = 0, 1, 2, 3, 4
"""Methods: the first layer's law exact; every ReLU a line, noise at random or fixed activations; pieces; a
last layer behind fixed ones."""


def chosen_violation(
    layers: Sequence[IndependentAffine],
    properties: Properties,
    split: Split,
    known: Sequence[tuple[slice, Prepared]] = (),
) -> tuple[Violation, Choices]:
    """The bound that a split gives, and all choices behind it.

    Args:
        layers: the network and its law.
        properties: P properties.
        split: the failure probabilities and slopes to use.
        known: what is known of the hidden layers with this split, part by part; none if it is to be found.
    """
    remembered = {(part.start, part.stop): prepared for part, prepared in known}

    def work(part: slice) -> tuple[Violation, Choices]:
        own, prepared = split.of(part), remembered.get((part.start, part.stop))
        bound, chosen = analysis(layers, properties[part], own, prepared)
        return bound, _choices(own, chosen)

    slices = [part for part, _ in known] or parts(layers, properties)
    found, choices = zip(*(own for _, own in on_parts(work, slices)), strict=True)
    tails, events = torch.cat([b.tails for b in found]), torch.cat([b.events for b in found])
    return Violation(tails, events), {name: torch.cat([c[name] for c in choices]) for name in choices[0]}


def _choices(split: Split, found: tuple[Known, TailChoices] | None) -> Choices:
    """The choices of one batch of properties."""
    chosen = {"ranges": split.ranges, "movement": split.movement, "deviation": split.deviation}
    if found is None:
        return chosen
    known, tails = found
    chosen |= {f"tail.{field.name}": getattr(tails, field.name) for field in fields(tails)}
    if not known.hidden:  # there are no later layers
        del chosen["tail.lowest"], chosen["tail.reach"]
    for place, spread in enumerate(known.spreads):
        chosen[f"sign.{place}"] = sign(spread)
    for place, hidden in enumerate(known.hidden, start=1):
        chosen[f"below.{place}"] = hidden.lines.below
        chosen[f"slope.{place}"] = hidden.lines.slope
        chosen[f"rate.{place}"] = hidden.rate
        chosen[f"mean_rate.{place}"] = hidden.mean_rate
        chosen[f"excess_centre.{place}"] = hidden.excess.centre
        chosen[f"excess_rate.{place}"] = hidden.excess.rate
    return _finite(chosen)


TRIALS: tuple[tuple[Reference, float, float], ...] = (
    (Conditional(), 1e-5, 1e-8),
    (Conditional(), 1e-4, 1e-7),
    (Conditional(), 1e-6, 1e-9),
    (Static(), 1e-5, 1e-8),
)
"""References and failure probabilities to try; for each property the best one counts."""
JOINED_TRIALS: tuple[tuple[Reference, float, float], ...] = (
    (Static(), 1e-5, 1e-8),
    (Static(), 1e-4, 1e-7),
    (Static(), 1e-6, 1e-9),
)
"""Those for layers that depend on each other."""
WIDE_TRIALS: tuple[tuple[Reference, float, float], ...] = (
    (Conditional(), 1e-8, 1e-11),
    (Conditional(), 1e-6, 1e-9),
    (Static(), 1e-8, 1e-11),
)
"""Those for thousands of hidden neurons, as images have: each one pays."""
MAX_NARROW_NEURONS = 1024


def least_chained_violation(
    federation: Federation, properties: Properties, projections: Projections | None = None
) -> tuple[Float64[Tensor, "P"], Choices]:
    """The least of the bounds that the trials give, for each property, and the choices behind it.

    Args:
        federation: the network, its law, and the clients' shares of the noise.
        properties: P properties.
        projections: how sums of the clients' projections are bounded; None for their law.
    """
    found = list(chained_trials(federation, properties, projections))
    least, chosen = best_of([bound.probability for bound, _ in found], [chosen for _, chosen in found])
    if "carried" not in chosen:
        return least, chosen
    ((bound, _),) = found
    twice, shared = counted_twice(federation, properties, bound.tails)
    together = (Enclosure.exactly(bound.total) - twice).upper.clamp(0.0, 1.0)
    return torch.minimum(least, together), {**chosen, "shared": shared}


def chained_trials(
    federation: Federation, properties: Properties, projections: Projections | None = None
) -> Iterator[tuple[Violation, Choices]]:
    """The bounds of all trials, and their choices; the arguments are those of `least_chained_violation`."""
    ones = torch.ones_like(properties.d[:, 0])
    if projections is None and carries(
        federation, properties
    ):  # no other trial is better (docs/soundness.md, 15.10)
        found, chosen = carried_analysis(federation, properties)
        yield found, _chained_choices(ones, ones / 2, CARRIED, chosen)
        return
    for reference, ranges, failure in _trials(federation.deployed):
        kappa = -torch.special.ndtri(ranges * ones)
        found, chosen = chained_analysis(
            federation, properties, kappa, failure * ones, reference, projections
        )
        method = STATIC if isinstance(reference, Static) else CONDITIONAL
        yield found, _chained_choices(kappa, failure * ones, method, chosen)


def _trials(layers: Sequence[RandomAffine]) -> tuple[tuple[Reference, float, float], ...]:
    if joined(layers):
        return JOINED_TRIALS
    paying = sum(
        layer.outputs for place, layer in enumerate(layers[:-1]) if not all_fixed(layers[: place + 1])
    )
    return TRIALS if paying <= MAX_NARROW_NEURONS else WIDE_TRIALS


def best_of(
    bounds: Sequence[Float64[Tensor, "P"]], choices: Sequence[Choices]
) -> tuple[Float64[Tensor, "P"], Choices]:
    """The least of several bounds, property by property, and its choices."""
    least, best = torch.stack(list(bounds)).min(0)
    each = torch.arange(len(best), device=best.device)
    return least, {name: torch.stack([c[name] for c in choices])[best, each] for name in choices[0]}


def _chained_choices(
    kappa: Float64[Tensor, "P"], failure: Float64[Tensor, "P"], method: int, found: Chained
) -> Choices:
    """The choices of one trial."""
    methods = torch.full_like(kappa, method, dtype=torch.uint8)
    chosen = {"method": methods, "kappa": kappa, "failure": failure, "step": found.step}
    if found.carried is not None:
        chosen["carried"] = found.carried.to(torch.uint8)
    for place, ranges in enumerate(found.known):
        chosen[f"sign.{place}"] = sign(ranges.spread)
        chosen[f"below.{place}"] = ranges.lines.below
        chosen[f"slope.{place}"] = ranges.lines.slope
        centre = Static().middle(ranges)[0] if method == STATIC else torch.zeros_like(ranges.mean)
        chosen[f"reference.{place}"] = centre
    return _finite(chosen)


def _finite(choices: Choices) -> Choices:
    """The choices, with 0 for values that are not finite: these belong to a bound that proves nothing."""
    return {name: tensor.nan_to_num(0.0, 0.0, 0.0) for name, tensor in choices.items()}


def sign(spread: Spread) -> Tensor:
    """1 for neurons that stay active on the region, −1 for those that stay inactive, 0 for all others."""
    return ((2 * spread.slope) - 1).to(torch.int8)


def prefixed(prefix: str, choices: Choices) -> Choices:
    """The same choices, with a prefix before each name."""
    return {f"{prefix}.{name}": tensor for name, tensor in choices.items()}
