"""Bounds under a law whose weights depend on each other: every ReLU a line, in both directions."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.families.projected.carried import MAX_FEATURES
from fedcert.families.projected.chain import Federation
from fedcert.families.projected.choices import (
    Choices,
    best_of,
    chained_trials,
    least_chained_violation,
    prefixed,
)
from fedcert.families.projected.fields import Fields
from fedcert.laws.affine import RandomAffine
from fedcert.laws.conv_affine import ConvAffine
from fedcert.model.properties import Properties
from fedcert.numerics.enclosure import Enclosure
from fedcert.progress import Tracker, silent

ELEMENTS = 2**23  # maximum number of coefficients of parameters at a time, which bounds the memory


def dependent_violation(
    federation: Federation, properties: Properties, track: Tracker = silent
) -> tuple[Float64[Tensor, "P"], Choices]:
    """Upper bounds of the probability of a violation, and the choices behind them.

    Args:
        federation: the network and its law.
        properties: P properties.
        track: shows progress.
    """
    parts = list(_parts(federation.deployed, properties))
    found = [least_chained_violation(federation, properties[part]) for part in track(parts, "projected")]
    choices = {name: torch.cat([own[name] for _, own in found]) for name in found[0][1]}
    return torch.cat([violated for violated, _ in found]), _as_methods(choices)


def dependent_satisfaction(
    federation: Federation, negated: Properties, trivial: Float64[Tensor, "P R"]
) -> tuple[Float64[Tensor, "P"], Choices]:
    """Upper bounds of the probability that some one constraint is not violated at a point.

    Args:
        federation: the network and its law.
        negated: −(C f(x') + d) ≥ 0 at single points x'.
        trivial: 0 or 1 for a constraint of zeros that is violated or not; NaN for any other.
    """
    found = list[tuple[Tensor, Choices]]()
    for part in _parts(federation.deployed, negated):
        bounds, choices = [], []
        for bound, chosen in chained_trials(federation, negated[part]):
            holds = torch.where(trivial[part].isnan(), bound.tails, trivial[part])
            least, constraint = holds.min(-1)
            bounds.append((Enclosure.exactly(least) + bound.events).upper.clamp(max=1.0))
            choices.append({"constraint": constraint.int(), **chosen})
        found.append(best_of(bounds, choices))
    choices_of_all = {name: torch.cat([own[name] for _, own in found]) for name in found[0][1]}
    constraint = choices_of_all.pop("constraint")
    return torch.cat([holds for holds, _ in found]), {
        "constraint": constraint,
        **_as_methods(choices_of_all),
    }


def _as_methods(choices: Choices) -> Choices:
    """The method, and its choices under their prefix."""
    others = {name: tensor for name, tensor in choices.items() if name != "method"}
    return {"method": choices["method"], **prefixed("chain", others)}


def _parts(layers: Sequence[RandomAffine], properties: Properties) -> Iterator[slice]:
    """Slices of the properties, so small that memory is bounded."""
    size = max(1, ELEMENTS // max(_coefficients(layers, properties.d.shape[1])))
    return (slice(start, start + size) for start in range(0, len(properties), size))


def _coefficients(layers: Sequence[RandomAffine], constraints: int) -> Iterator[int]:
    """The number of coefficients of parameters, or of pixels, of the rows of each layer, for a property."""
    fields = Fields(layers)
    if layers[-1].inputs <= MAX_FEATURES:  # one row for each feature that is carried to the inputs
        yield layers[-1].inputs * sum(layer.inputs for layer in layers)
    for depth, layer in enumerate(layers):
        rows = constraints if depth == len(layers) - 1 else 2 * layer.outputs
        if depth < len(layers) - 1 and fields.convolutions(depth):
            yield rows  # the rest is bounded by position
            continue
        seen = layers[: depth + 1]
        yield rows * sum(
            own.held() if isinstance(own, ConvAffine) else own.inputs * own.outputs + own.outputs
            for own in seen
        )
