"""`box` certificates: mean-centred boxes, each as large as its transported image can be verified."""

from collections.abc import Sequence
from itertools import product
from typing import Literal

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.certificate import Certificate, Claim, Kind
from fedcert.families.hull import certify_hulls
from fedcert.families.mean_box.costs import log_costs
from fedcert.families.mean_box.events import MeanBox
from fedcert.families.mean_box.measures import EventMeasure, identity, measures
from fedcert.families.mean_box.nested import NestedBoxes
from fedcert.families.mean_box.tiles import split_boxes
from fedcert.families.mean_box.witness import BoxWitnessBuilder
from fedcert.laws import BoxMeasurable
from fedcert.numerics.box import Box
from fedcert.numerics.enclosure import Enclosure
from fedcert.progress import Tracker, silent
from fedcert.rules import AggregationRule
from fedcert.verify import Safe
from fedcert.witness import Witness

TARGET_MASS = 0.999  # a property certified to this share needs no better shape of box
Shape = Literal["uniform", "layer", "parameter"]
MAX_PARAMETERS_TO_SPLIT = 16  # parameters of all clients together, up to which boxes are worth splitting
MIXTURE_RADII = (8.0, 7.0, 6.0, 5.0, 4.0, 3.0)


def certify_boxes(
    laws: Sequence[BoxMeasurable],
    rule: AggregationRule,
    safe: Safe,
    events: MeanBox,
    kind: Kind = "transported",
    budget: int = 1000,
    shapes: Sequence[Shape] = ("uniform", "layer", "parameter"),
    track: Tracker = silent,
) -> Certificate:
    """L = max over boxes of Pr(events of the clients whose image lies in a box that is proven safe).

    Sound as any transported certificate is: disjoint client events, their mass, and the proof of the whole
    image. Verification is monotone in the box, so bisection finds the largest box of a nested family.
    The events are one box a client, H_i = [μ_i ± r σ_i] with mass Π_i q_i(H_i), or, under a linear rule, all
    tuples of lattice cells whose image lies in the box (`lattice.py`), which loses almost nothing. Three
    families are tried, each only for the properties that those before leave below 99.9 %: one radius for
    all parameters, one a layer, one a parameter; where parameters are few, boxes are also split. With a
    direct claim, `laws` is the deployed law alone and the rule the identity. Mixtures have one cell a
    component, and tuples of components are searched by their hulls.

    Args:
        laws: q_i, the clients' posteriors.
        rule: A, the deployed rule.
        safe: the verifier and the properties.
        events: the widest radius and the bisection.
        kind: what the certificate claims.
        budget: verifier calls of the hull search, for mixtures, and of splitting.
        shapes: which families of boxes are tried.
        track: shows progress.
    """
    claim = Claim(kind, rule.name, events.name)
    if any(len(law.components) > 1 for law in laws):
        found = [
            certify_hulls([events.cells(law, radius) for law in laws], rule, safe, budget, events.name).lower
            for radius in track(MIXTURE_RADII, "searching tuples of components")
        ]
        return Certificate(claim, torch.stack(found).max(0).values)
    best = torch.zeros(len(safe.properties), dtype=torch.float64, device=laws[0].loc.device)
    record = BoxWitnessBuilder(safe.network, len(best), len(laws))
    tried = [(each, _nested("uniform", each, safe, events).hopeless()) for each in measures(laws, rule)]
    for shape, (measure, unprovable) in track(list(product(shapes, tried)), "enlarging boxes"):
        wanting = (best < TARGET_MASS) & ~unprovable
        if wanting.any():
            boxes = _nested(shape, measure, safe.only(wanting), events)
            price = boxes.largest()
            mass = torch.zeros_like(best).masked_scatter(wanting, boxes.mass(price))
            for p in (mass > best).nonzero().squeeze(-1).tolist():
                place = int(wanting[:p].sum())
                record.radii(measure.kind, p, boxes.radius(price, place), shape != "parameter")
            best = torch.maximum(best, mass)
    wanting = best < TARGET_MASS
    if wanting.any() and len(laws) * laws[0].dimension <= MAX_PARAMETERS_TO_SPLIT:
        tiles = split_boxes(laws, rule, safe.only(wanting), budget)
        for place, p in enumerate(wanting.nonzero().squeeze(-1).tolist()):
            if tiles.lower[place] > best[p]:
                best[p] = tiles.lower[place]
                record.tiles(p, tiles.products[place])
    return Certificate(claim, best, witness=record.witness())


def certify_boxes_locally(
    laws: Sequence[BoxMeasurable], rule: str, safe: Safe, events: MeanBox, track: Tracker = silent
) -> Certificate:
    """The mean over clients of q_i(H_i), each box as large as the client's own model can be verified.

    One radius for all parameters: it is a figure to compare with, of no deployed model.

    Args:
        laws: q_i, the clients' posteriors.
        rule: the deployed rule's name, for the table; the bound does not depend on it.
        safe: the verifier and the properties.
        events: the widest radius and the bisection.
        track: shows progress.
    """
    alone = identity(rule, laws[0])
    own = [
        certify_boxes([law], alone, safe, events, "local", shapes=("uniform",))
        for law in track(laws, "certifying clients", len(laws))
    ]
    bounds = torch.stack([one.lower for one in own], dim=-1)
    mean = Enclosure.exactly(bounds).mean().lower.clamp(min=0.0)
    return Certificate(Claim("local", rule, events.name), mean, witness=_of_clients(own))


def _of_clients(own: Sequence[Certificate]) -> Witness | None:
    """One witness of all clients'; None where a client has none."""
    tensors: dict[str, Tensor] = {}
    for i, certificate in enumerate(own):
        if certificate.witness is None:
            return None
        tensors |= {f"client-{i}.{name}": t for name, t in certificate.witness.tensors.items()}
    return Witness(tensors)


def _nested(shape: Shape, measure: EventMeasure, safe: Safe, events: MeanBox) -> NestedBoxes:
    """The boxes of one shape for the properties of `safe`, from the widest down to the mean."""
    return NestedBoxes(measure, safe, events, _shape(shape, measure, safe))


def _shape(shape: Shape, measure: EventMeasure, safe: Safe) -> Float64[Tensor, "p_or_1 d"]:
    """Log costs of widening each parameter, at most 0: one for all, one a layer, one a parameter."""
    if shape == "uniform":
        return torch.zeros(1, 1, dtype=torch.float64, device=measure.laws[0].loc.device)
    unit = measure.rule.image([Box.around(law.loc, law.scale) for law in measure.laws])
    center = measure.rule([law.loc for law in measure.laws])
    width = (unit.upper - unit.lower) / 2
    return log_costs(safe.network, center, safe.properties, width, shape == "layer")
