"""Certificates from projected events: lower and upper bounds directly under the deployed law."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.certificate import Certificate, Claim
from fedcert.families.problem import Problem
from fedcert.families.projected.bound import Split
from fedcert.families.projected.chain import Federation
from fedcert.families.projected.choices import (
    EXACT,
    PIECES,
    Choices,
    chosen_violation,
    least_chained_violation,
    prefixed,
)
from fedcert.families.projected.components import MAX_BOUNDS, Interval
from fedcert.families.projected.dependent import dependent_satisfaction, dependent_violation
from fedcert.families.projected.features import of_features
from fedcert.families.projected.layers import first_random, random_layers, rectified
from fedcert.families.projected.margins import may_be_negative
from fedcert.families.projected.nodes import bounds_and_witness
from fedcert.families.projected.pieces import Cut, better_cut, bound_of_pieces, cut_regions
from fedcert.families.projected.split import GOOD_ENOUGH, STARTS, Searched, parts, searched, uniform_split
from fedcert.frozen import with_rows
from fedcert.laws import GaussianLaw
from fedcert.laws.affine import IndependentAffine, independent
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.parts import on_parts
from fedcert.numerics.rounding import require_gradual_underflow
from fedcert.progress import Tracker, silent
from fedcert.verify.attack import ProjectedGradient
from fedcert.witness import Witness

EVENTS = "projected"
CUT = "how projected events cut regions"


def certify_projected_directly(
    problem: Problem,
    budget: int = MAX_BOUNDS,
    attack: ProjectedGradient | None = None,
    track: Tracker = silent,
) -> Certificate:
    """L ≤ Pr(Θ_g ∈ S) ≤ U under the law of the deployed model, for each property.

    Laws that are mixtures deploy a mixture over tuples of their components (`components.py`).

    Args:
        problem: Gaussian clients or mixtures of them, under a rule with a deployed law in closed form.
        budget: the maximum number of bounds of tuples of components.
        attack: finds the inputs that upper bounds speak of; the default one where None.
        track: shows progress.
    """
    require_gradual_underflow()
    attack = attack or ProjectedGradient()
    network, properties = problem.network, problem.properties

    def bound(components: Sequence[GaussianLaw]) -> tuple[Interval, Choices]:
        deployed = problem.deploy(components)
        split = split_of(problem, deployed, track)
        lower, below = lower_bound(network, deployed, properties, track, split)
        if split is not None and problem.gaussian:  # rows of pieces are not rows of nodes
            lower, below = by_pieces(problem, properties, split.split, (lower, below))
        upper, above = upper_bound(network, deployed, properties, attack)
        return (lower, upper), {**below, **prefixed("upper", above)}

    (lower, upper), witness = bounds_and_witness(problem.laws, bound, budget, GOOD_ENOUGH)
    return Certificate(Claim("direct", problem.rule.name, EVENTS), lower, upper, witness)


def certify_projected_locally(problem: Problem, track: Tracker = silent) -> Certificate:
    """The mean over clients of the bounds of their own models, which are deployed nowhere.

    One split is used for all properties, without a search: the mean only serves for comparison.

    Args:
        problem: the clients and the properties; of the rule only the name is used, for the table.
        track: shows progress.
    """
    require_gradual_underflow()
    properties, claim = problem.properties, Claim("local", problem.rule.name, EVENTS)

    def bound(components: Sequence[GaussianLaw]) -> tuple[Interval, Choices]:
        layers = random_layers(problem.network, components[0])
        asked = of_features(problem.network, components[0], properties)
        if independent(layers) and all(rectified(problem.network)):
            split = uniform_split(layers, asked, STARTS[0])
            found, choices = chosen_violation(layers, asked, split)
            lower = complement(found.probability)
        else:
            federation = Federation(layers, [layers], rectified(problem.network))
            violated, choices = dependent_violation(federation, asked)
            lower = complement(violated)
        return (lower, torch.ones_like(lower)), choices

    clients = [
        bounds_and_witness([law], bound, MAX_BOUNDS, GOOD_ENOUGH)
        for law in track(problem.laws, "certifying clients", len(problem.laws))
    ]
    own = torch.stack([lower for (lower, _), _ in clients], dim=-1)
    mean = Enclosure.exactly(own).mean().lower.clamp(min=0.0)
    choices: dict[str, Tensor] = {}
    for i, (_, witness) in enumerate(clients):
        choices |= prefixed(f"client.{i}", witness.tensors)
    return Certificate(claim, mean, None, Witness(choices))


def complement(violated: Float64[Tensor, "P"]) -> Float64[Tensor, "P"]:
    """A lower bound of Pr(safe) from an upper bound of the probability of a violation."""
    return (1 - Enclosure.exactly(violated)).lower.clamp(min=0.0)


def split_of(problem: Problem, deployed: GaussianLaw, track: Tracker) -> Searched | None:
    """The split that a search finds for a deployed law, searched once for all claims about Gaussian clients.

    None for neurons of the first layer that depend on each other, which need none.
    """
    layers = random_layers(problem.network, deployed)
    if not independent(layers) or not all(rectified(problem.network)):
        return None
    asked = of_features(problem.network, deployed, problem.properties)
    if not (problem.gaussian and deployed is problem.deployed):
        return searched(layers, asked, track)
    found = problem.remembered.get(EVENTS)
    if not isinstance(found, Searched):
        found = searched(layers, asked, track)
        problem.remembered[EVENTS] = found
    return found


def lower_bound(
    network: Network,
    law: GaussianLaw,
    properties: Properties,
    track: Tracker = silent,
    found_before: Searched | None = None,
) -> tuple[Float64[Tensor, "P"], Choices]:
    """L = 1 − (a bound of the probability of a violation), for one Gaussian law, and the choices behind it.

    The bound is the least of three for each property: with the first hidden layer's law exact, and where
    that proves little, with every ReLU a line and the noise at random or at fixed activations. Weights that
    depend on each other leave the latter two.

    Args:
        network: f_θ.
        law: of its parameters.
        properties: P properties.
        track: shows progress.
        found_before: a split of the failure probability for these regions; None to search for one.
    """
    layers, properties = random_layers(network, law), of_features(network, law, properties)
    federation = Federation(layers, [layers], rectified(network))
    if not independent(layers) or not all(rectified(network)):
        violated, choices = dependent_violation(federation, properties, track)
        return complement(violated), choices
    split = found_before or searched(layers, properties, track)
    found, choices = chosen_violation(layers, properties, split.split, split.known)
    violated = found.probability
    method = torch.full_like(violated, EXACT, dtype=torch.uint8)
    open_ones = violated > GOOD_ENOUGH
    if not open_ones.any():
        return complement(violated), {"method": method, **choices}
    chained, chain = _chained(federation, layers, properties[open_ones])
    method[open_ones] = torch.where(chained < violated[open_ones], chain["method"], method[open_ones])
    violated[open_ones] = torch.minimum(violated[open_ones], chained)
    choices = {"method": method, **choices, **prefixed("chain", _spread_out(chain, open_ones))}
    return complement(violated), choices


def _chained(
    federation: Federation, layers: Sequence[IndependentAffine], properties: Properties
) -> tuple[Float64[Tensor, "P"], Choices]:
    """The bounds with every ReLU a line, of so many properties at a time as memory allows."""
    work = on_parts(
        lambda part: least_chained_violation(federation, properties[part]), parts(layers, properties)
    )
    bounds, choices = zip(*(own for _, own in work), strict=True)
    return torch.cat(bounds), {name: torch.cat([own[name] for own in choices]) for name in choices[0]}


def by_pieces(
    problem: Problem,
    properties: Properties,
    best: Split,
    whole: tuple[Float64[Tensor, "P"], Choices],
) -> tuple[Float64[Tensor, "P"], Choices]:
    """The better of a bound of whole regions and one of their pieces, for each property.

    Boxes of features stay whole: most features move. How regions are cut is searched once for all claims.

    Args:
        problem: Gaussian clients.
        properties: the problem's, or tighter ones.
        best: the split of the failure probability that is best for whole regions.
        whole: L of whole regions, and the choices behind it.
    """
    lower, choices = whole
    layers = random_layers(problem.network, problem.deployed)
    if not independent(layers) or first_random(problem.network) > 0:
        return whole
    if not isinstance(cut := problem.remembered.get(CUT), Cut):
        bounds = (1 - Enclosure.exactly(lower)).upper
        splits = (best, uniform_split(layers, properties, STARTS[0]))
        cut = better_cut(*(cut_regions(layers, properties, split, bounds) for split in splits))
        problem.remembered[CUT] = cut
    violated, pieces = bound_of_pieces(layers, properties, cut.split, cut.counts)
    found = complement(violated)
    wins = (found > lower) & (cut.counts.prod(-1) > 1)
    method = torch.where(wins, PIECES, choices["method"]).to(choices["method"].dtype)
    if not wins.any():
        return whole
    return torch.where(wins, found, lower), {**choices, **pieces, "method": method}


def _spread_out(choices: Choices, chosen: Bool[Tensor, "P"]) -> Choices:
    """Choices for some properties as choices for all, with zeros for the others."""
    full = {name: tensor.new_zeros((len(chosen), *tensor.shape[1:])) for name, tensor in choices.items()}
    for name, tensor in choices.items():
        full[name][chosen] = tensor
    return {name: tensor for name, tensor in full.items() if name != "method"}


def upper_bound(
    network: Network, law: GaussianLaw, properties: Properties, attack: ProjectedGradient
) -> tuple[Float64[Tensor, "P"], Choices]:
    """U ≥ Pr(safe), for one Gaussian law, and the choices behind it.

    A network that violates one constraint r at one point x' of the region is unsafe. That it does not
    violate it is a violation of −(C f(x') + d)_r > 0, whose probability is bounded like any other; ties have
    probability 0, since the output biases have a density, unless C_r = 0, a constraint that d_r decides. x'
    is the point that an attack on the mean network finds.
    """
    worst, _ = attack(network, law.loc.unsqueeze(0), properties)
    lower, upper = properties.regions.lower, properties.regions.upper
    points = torch.minimum(torch.maximum(worst[0].double(), lower), upper)
    negated = of_features(network, law, Properties(Box.point(points), -properties.C, -properties.d))
    layers = random_layers(network, law)
    trivial = (properties.C == 0).all(-1)
    if not independent(layers) or not all(rectified(network)):
        known = torch.where(trivial, (properties.d >= 0).to(points.dtype), torch.nan)
        federation = Federation(layers, [layers], rectified(network))
        bound, chain = dependent_satisfaction(federation, negated, known)
        return bound, {"point": points, **chain}
    possible = may_be_negative(layers, negated)
    possible[0] |= ~possible.any()  # a witness has rows to show
    least, chosen = _least_satisfaction(layers, negated[possible], trivial[possible])
    bound = torch.ones_like(points[:, 0]).masked_scatter(possible, least)
    return bound, {"point": points, **_spread_out(chosen, possible)}


def _least_satisfaction(
    layers: Sequence[IndependentAffine], negated: Properties, trivial: Bool[Tensor, "P R"]
) -> tuple[Float64[Tensor, "P"], Choices]:
    """The least bound found of the probability that one of the constraints is satisfied at a point.

    Where all tails are 1, the point that the attack found is no violation, and no other split is tried.
    """
    least, worth, chosen = _satisfaction(layers, negated, trivial, uniform_split(layers, negated, STARTS[0]))
    others = [(start, 0.0) for start in STARTS[1:]] + [(STARTS[0], 1.0)] * (len(layers) > 2)
    for start, reach in others:
        if not worth.any():
            break
        asked = negated[worth]
        split = uniform_split(layers, asked, start, reach)
        tried, still, choices = _satisfaction(layers, asked, trivial[worth], split)
        better = tried < least[worth]
        wins = worth.masked_scatter(worth, better)
        least = with_rows(least, wins, tried[better])
        chosen = {name: with_rows(own, wins, choices[name][better]) for name, own in chosen.items()}
        worth = worth.masked_scatter(worth, still)
    return least, chosen


def _satisfaction(
    layers: Sequence[IndependentAffine], negated: Properties, trivial: Bool[Tensor, "P R"], split: Split
) -> tuple[Float64[Tensor, "P"], Bool[Tensor, "P"], Choices]:
    """The bound that one split gives, whether some tail is below 1, and the choices."""
    found, chosen = chosen_violation(layers, negated, split)
    holds = torch.where(trivial, (negated.d <= 0).to(found.tails.dtype), found.tails)
    least, constraint = holds.min(-1)
    bound = (Enclosure.exactly(least) + found.events).upper.clamp(max=1.0)
    return bound, least < 1, {"constraint": constraint.int(), **chosen}
