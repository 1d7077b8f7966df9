"""`certify` and `certify_classification`: from posteriors to a result in one call."""

from collections.abc import Sequence

from torch import nn

from fedcert.api.inputs import Posteriors, as_rule, with_network
from fedcert.api.result import Certification
from fedcert.certificate import Kind
from fedcert.errors import InvalidArgument, ShapeMismatch
from fedcert.families.cells import Cells
from fedcert.families.problem import Problem
from fedcert.families.protocol import CellFamily, Family
from fedcert.families.registry import families as known_families
from fedcert.families.registry import family_named
from fedcert.federation.claims import claims_of
from fedcert.federation.server import problem_of
from fedcert.laws import Law
from fedcert.laws.registry import StatedLaw
from fedcert.model.network import Network
from fedcert.model.properties import Properties, linf_robustness
from fedcert.numerics.convert import Numbers, as_double
from fedcert.progress import Tracker, silent
from fedcert.rules import AggregationRule
from fedcert.rules.builders import WeightsName
from fedcert.verify.interval import IntervalVerifier
from fedcert.wire.message import Message

KINDS: tuple[Kind, ...] = ("local", "transported", "direct")


def certify(
    posteriors: Posteriors,
    rule: AggregationRule | str,
    network: Network | nn.Module | None = None,
    properties: Properties | None = None,
    *,
    events: str | Family | Sequence[str | Family] = "projected",
    claims: Sequence[Kind] = ("transported", "direct"),
    weights: WeightsName = "uniform",
    track: Tracker = silent,
) -> Certification:
    """Bound the probability that the deployed model has each property, from below and from above.

    Args:
        posteriors: one a client: what a reader of `fedcert.adapters` made, laws, messages, paths of messages,
            or pairs of arrays (means, deviations); or the path of a folder of messages.
        rule: how the server aggregates: "fedavg", "pog", …, or a rule.
        network: the model that all clients train; None for that of posteriors that a reader made.
        properties: what is safe.
        events: the families of events, or their names.
        claims: the kinds of claims to prove; those that the rule or the family does not have are left out.
        weights: of a rule that is given by its name: "uniform", or "size" for the sizes that messages state.
        track: shows progress.

    Returns:
        The certificates, with the best bounds of the deployed model that they prove.

    Examples:
        >>> import numpy as np, fedcert
        >>> mean = np.array([2, 0, 0, 2, 1, 1, 1, -1, 0, 0, 0, 0, 1, -1, 0, 1, -1, 1, 0, -1, 0, 0])
        >>> clients = [(mean + 0.02 * i, np.full(22, 0.15)) for i in range(3)]
        >>> x, y = np.array([[0.65, 0.35], [0.4, 0.6]]), np.array([0, 1])
        >>> properties = fedcert.linf_robustness(x, y, 0.01, classes=2)
        >>> fedcert.certify(clients, "fedavg", fedcert.mlp(2, 4, 2), properties)
        Certification: at least 97.62 % and at most 98.17 %, mean over 2 inputs as given,
        ℓ∞ balls of radius 0.01; accuracy of the mean model on them 100.0 % (3 clients, fedavg, projected)
    """
    families = [family_named(own) if isinstance(own, str) else own for own in _several(events)]
    if not families:
        raise InvalidArgument("events: name at least one family of events")
    if isinstance(claims, str) or not claims:
        raise InvalidArgument(f"claims: {claims!r}; give a list of kinds out of {', '.join(KINDS)}")
    wrong = sorted(set(claims) - set(KINDS))
    if wrong:
        raise InvalidArgument(f"claims: {wrong[0]!r} is no kind of claim; known are {', '.join(KINDS)}")
    if properties is None:
        raise InvalidArgument("properties: say what is safe, as with linf_robustness")
    stated, own_network = with_network(posteriors, network)
    laws = [own.law if isinstance(own, Message) else own for own in stated]
    examples = [own.examples for own in stated if isinstance(own, Message)]
    sizes = examples if len(examples) == len(stated) else None  # only messages state them
    own_rule = as_rule(rule, laws, sizes, weights)
    asked = Problem(own_network, properties, tuple(laws), own_rule)
    messages = _messages(stated, asked, families, track)
    problem = problem_of(messages, own_rule, own_network, properties) if messages else asked
    certificates = [
        prove() for claim, prove in claims_of(problem, families, track=track) if claim.kind in claims
    ]
    if not certificates:
        names = ", ".join(family.name for family in families)
        kinds = " or ".join(claims)
        others = [own.name for own in known_families() if any(own.supports(problem, k) for k in claims)]
        advice = f': choose events="{others[-1]}"' if others else ""
        raise InvalidArgument(f"{names} events have no {kinds} claim under the rule {own_rule.name}{advice}")
    return Certification(problem, tuple(certificates), messages)


def certify_classification(
    posteriors: Posteriors,
    model: Network | nn.Module | None = None,
    x: Numbers = None,
    y: Numbers = None,
    *,
    epsilon: float | Numbers,
    rule: AggregationRule | str = "fedavg",
    margin: float = 0.0,
    domain: tuple[float, float] = (0.0, 1.0),
    events: str | Family | Sequence[str | Family] = "projected",
    claims: Sequence[Kind] = ("transported", "direct"),
    weights: WeightsName = "uniform",
    track: Tracker = silent,
) -> Certification:
    """Bound the probability that the deployed model gives each input its label on a whole ℓ∞ ball.

    Args:
        posteriors: as for `certify`.
        model: a network, or a torch module that can be read as one; None for the network of posteriors that a
            reader made.
        x: inputs, one a row or one an image.
        y: their labels, 0 … K − 1.
        epsilon: the radius of the balls, or one for each input.
        rule: as for `certify`.
        margin: by how much the label's logit must win.
        domain: the smallest and largest value of an input coordinate; balls are cut to it.
        events: as for `certify`.
        claims: as for `certify`.
        weights: as for `certify`.
        track: shows progress.

    Returns:
        The certificates, one property for each input.

    Examples:
        >>> import numpy as np, fedcert
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2))
        >>> mean = np.array([2, 0, 0, 2, 1, 1, 1, -1, 0, 0, 0, 0, 1, -1, 0, 1, -1, 1, 0, -1, 0, 0])
        >>> clients = [(mean + 0.02 * i, np.full(22, 0.15)) for i in range(3)]
        >>> result = fedcert.certify_classification(
        ...     clients, model, [[0.65, 0.35], [0.4, 0.6]], [0, 1], epsilon=0.01
        ... )
        >>> bool((result.lower > 0.9).all() and (result.lower <= result.upper).all())
        True
    """
    if x is None or y is None:
        raise InvalidArgument("x and y: give the inputs and their labels")
    inputs = as_double("inputs x", x)
    if inputs.dim() < 2:
        raise ShapeMismatch(
            f"x has shape {tuple(inputs.shape)}: one input a row, so x[None] for a single one"
        )
    stated, network = with_network(posteriors, model, tuple(inputs.shape[1:]))
    properties = linf_robustness(inputs.flatten(1), y, epsilon, margin, network.outputs, domain)
    return certify(
        stated, rule, network, properties, events=events, claims=claims, weights=weights, track=track
    )


def _several(events: str | Family | Sequence[str | Family]) -> Sequence[str | Family]:
    """Families as a list; names in one text are separated by commas."""
    if isinstance(events, str):
        return [name.strip() for name in events.split(",")]
    return [events] if isinstance(events, Family) else events


def _messages(
    stated: Sequence[Law | Message], problem: Problem, families: Sequence[Family], track: Tracker
) -> tuple[Message, ...]:
    """The messages of all clients, with the cells that some family needs; none where a law has no message."""
    chosen = families if problem.gaussian else ()  # families of cells have no claim for mixtures
    makers = [family for family in chosen if isinstance(family, CellFamily)]
    safe, messages = problem.safe(IntervalVerifier()), []
    for i, own in enumerate(stated):
        if isinstance(own, Message):
            messages.append(own)
        elif isinstance(own, StatedLaw):
            cells = makers[0].client_cells(own, i, safe, track) if makers else Cells.none(own.dimension)
            messages.append(Message(f"client-{i}", own, cells, 1, makers[0].name if makers else "cells"))
        else:
            return ()
    return tuple(messages)
