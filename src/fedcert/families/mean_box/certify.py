"""`box` certificates: mean-centred boxes, as large as possible while their images can be verified."""

from collections.abc import Sequence
from itertools import product
from typing import Literal

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.certificate import Certificate, Claim, Kind
from fedcert.families.mean_box.costs import log_costs
from fedcert.families.mean_box.events import MeanBox
from fedcert.families.mean_box.measures import EventMeasure, identity, measures
from fedcert.families.mean_box.mixtures import certify_mixture_boxes
from fedcert.families.mean_box.nested import NestedBoxes
from fedcert.families.mean_box.tiles import split_boxes
from fedcert.families.mean_box.witness import BoxWitnessBuilder
from fedcert.laws import BoxMeasurable, DiagonalLaw
from fedcert.numerics.box import Box
from fedcert.numerics.enclosure import Enclosure
from fedcert.progress import Tracker, silent
from fedcert.rules import AggregationRule
from fedcert.verify import Safe
from fedcert.witness import Witness

TARGET_MASS = 0.999  # a property with this lower bound or more needs no better shape of box
Shape = Literal["uniform", "layer", "parameter"]
MAX_PARAMETERS_TO_SPLIT = 16  # maximum number of parameters, over all clients, for which boxes are split


def certify_boxes(
    laws: Sequence[BoxMeasurable],
    rule: AggregationRule,
    safe: Safe,
    events: MeanBox,
    kind: Kind = "transported",
    budget: int = 1000,
    shapes: Sequence[Shape] = ("uniform", "layer", "parameter"),
    deployed: DiagonalLaw | None = None,
    track: Tracker = silent,
) -> Certificate:
    """L = max over boxes of Pr(events of the clients whose image lies in a box that is proven safe).

    Sound like any transported certificate: disjoint client events, their mass, and the proof of the whole
    image. Verification is monotone in the box, so bisection finds the largest box of a nested family.
    The events are one box per client, H_i = [μ_i ± r σ_i] with mass Π_i q_i(H_i), or, under a linear rule,
    all tuples of lattice cells whose image lies in the box (`lattice.py`), which loses almost nothing. Three
    families are tried, each only for the properties that the earlier ones leave below 99.9 %: one radius for
    all parameters, one per layer, one per parameter; if parameters are few, boxes are also split. For a
    direct claim, `laws` is the deployed law alone and the rule is the identity. Mixtures have one cell per
    component, and tuples of components are searched by their hulls.

    Args:
        laws: q_i, the clients' posteriors.
        rule: A, the deployed rule.
        safe: the verifier and the properties.
        events: the widest radius and the bisection.
        kind: what the certificate claims.
        budget: verifier calls of the hull search, for mixtures, and of splitting.
        shapes: which families of boxes are tried.
        deployed: the law that a linear rule deploys, where it is known already.
        track: shows progress.
    """
    claim = Claim(kind, rule.name, events.name)
    if any(len(law.components) > 1 for law in laws):
        return certify_mixture_boxes(laws, rule, safe, events, kind, budget, track)
    best = torch.zeros(len(safe.properties), dtype=torch.float64, device=laws[0].loc.device)
    record = BoxWitnessBuilder(safe.network, len(best), len(laws))
    measured = measures(laws, rule, deployed)
    tried = [(each, _nested("uniform", each, safe, events).hopeless()) for each in measured]
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
    """The mean over clients of q_i(H_i), with each box as large as possible while it can be verified.

    There is one radius for all parameters: the mean only serves for comparison and bounds no deployed model.

    Args:
        laws: q_i, the clients' posteriors.
        rule: the deployed rule's name, for the table; the bound does not depend on it.
        safe: the verifier and the properties.
        events: the widest radius and the number of bisection steps.
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
    """The clients' witnesses combined into one; None if a client has none."""
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
    """Log costs of widening each parameter, at most 0: one for all, one per layer, or one per parameter."""
    if shape == "uniform":
        return torch.zeros(1, 1, dtype=torch.float64, device=measure.laws[0].loc.device)
    unit = measure.rule.image([Box.around(law.loc, law.scale) for law in measure.laws])
    center = measure.rule([law.loc for law in measure.laws])
    width = (unit.upper - unit.lower) / 2
    return log_costs(safe.network, center, safe.properties, width, shape == "layer")
