"""Certificates from projected events: lower and upper bounds, directly under the deployed law."""

import math
from collections.abc import Iterator, Sequence
from itertools import islice

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.attack import ProjectedGradient
from fedcert.box import Box
from fedcert.certificate import Certificate, Claim
from fedcert.errors import InvalidConfig, ShapeMismatch
from fedcert.laws import DiagonalGaussian, GaussianMixture, Law
from fedcert.networks import Network
from fedcert.numerics import down, require_gradual_underflow, sum_down, sum_up, up
from fedcert.progress import Tracker, silent
from fedcert.projected.bound import violation
from fedcert.projected.chain import Federation, least_chained_violation
from fedcert.projected.layers import noisy_layers
from fedcert.projected.split import GOOD_ENOUGH, STARTS, least_violation, uniform_split
from fedcert.properties import Properties
from fedcert.rules import GaussianRule
from fedcert.search import exhaustive_within

EVENTS = "projected"
TUPLES = 256  # component tuples of mixture laws that are certified, the heaviest ones


def certify_projected_directly(
    laws: Sequence[Law],
    rule: GaussianRule,
    network: Network,
    properties: Properties,
    budget: int = TUPLES,
    attack: ProjectedGradient | None = None,
    track: Tracker = silent,
) -> Certificate:
    """L ≤ Pr(Θ_g ∈ S) ≤ U under the law of the deployed model, for each property.

    A tuple of components, one of each client's mixture, deploys one Gaussian law; the deployed law is the
    mixture of these with weights Π_i π_{i,k_i}. So L and U are the mixtures of the tuples' bounds, where a
    tuple beyond the budget counts 0 for L and 1 for U.

    Args:
        laws: the clients' posteriors, Gaussians or mixtures of them.
        rule: the deployed rule.
        network: f_θ.
        properties: the properties to prove.
        budget: the most tuples of components that are bounded.
        attack: finds the inputs that upper bounds speak of; the default one where None.
        track: shows progress.
    """
    if len(laws) != rule.clients:
        raise ShapeMismatch(f"laws of {len(laws)} clients, a rule for {rule.clients}")
    require_gradual_underflow()
    attack = attack or ProjectedGradient()
    tuples = list(component_tuples(laws, budget))
    lowers, uppers, weights = [], [], []
    for components, weight in track(tuples, "projected events", len(tuples)) if len(tuples) > 1 else tuples:
        deployed = rule.pushforward(components)
        inner = silent if len(tuples) > 1 else track
        lower = lower_bound(network, deployed, properties, inner)
        lowers.append(lower)
        uppers.append(upper_bound(network, deployed, properties, attack))
        weights.append(weight)
    lower, upper = mixed_lower(lowers, weights), mixed_upper(uppers, weights)
    return Certificate(Claim("direct", rule.name, EVENTS), lower, upper)


def certify_projected_locally(
    laws: Sequence[Law], rule: str, network: Network, properties: Properties, track: Tracker = silent
) -> Certificate:
    """The mean over clients of the bounds of their own models, which are deployed nowhere.

    One split for all, without a search: it is a figure to compare with.

    Args:
        laws: the clients' posteriors.
        rule: the deployed rule's name, for the table; the bound does not depend on it.
        network: f_θ.
        properties: the properties to prove.
        track: shows progress.
    """
    require_gradual_underflow()
    own = []
    for law in track(laws, "certifying clients", len(laws)):
        lowers, weights = [], []
        for (component,), weight in component_tuples([law], TUPLES):
            layers = noisy_layers(network, component)
            found = violation(layers, properties, uniform_split(layers, len(properties), STARTS[0]))
            lowers.append(down(1 - found.probability).clamp(min=0.0))
            weights.append(weight)
        own.append(mixed_lower(lowers, weights))
    mean = down(sum_down(torch.stack(own, dim=-1)) / len(own)).clamp(min=0.0)
    return Certificate(Claim("local", rule, EVENTS), mean)


def mixed_lower(
    lowers: Sequence[Float64[Tensor, "P"]], weights: Sequence[tuple[float, float]]
) -> Float64[Tensor, "P"]:
    """Σ_k π_k L_k, rounded down, from bounds of the π_k."""
    if len(lowers) == 1 and weights[0] == (1.0, 1.0):
        return lowers[0]
    share = torch.tensor([low for low, _ in weights], dtype=torch.float64, device=lowers[0].device)
    return sum_down(down(torch.stack(list(lowers), dim=-1) * share)).clamp(0.0, 1.0)


def mixed_upper(
    uppers: Sequence[Float64[Tensor, "P"]], weights: Sequence[tuple[float, float]]
) -> Float64[Tensor, "P"]:
    """Σ_k π_k U_k, rounded up, from bounds of the π_k; what they leave out counts fully."""
    if len(uppers) == 1 and weights[0] == (1.0, 1.0):
        return uppers[0]
    low, high = torch.tensor(list(weights), dtype=torch.float64, device=uppers[0].device).unbind(-1)
    left_out = up(1 - sum_down(low)).clamp(min=0.0)
    return up(sum_up(up(torch.stack(list(uppers), dim=-1) * high)) + left_out).clamp(0.0, 1.0)


def lower_bound(
    network: Network, law: DiagonalGaussian, properties: Properties, track: Tracker = silent
) -> Float64[Tensor, "P"]:
    """L = 1 − (a bound of the probability of a violation), for one Gaussian law.

    The least of three bounds, property by property: with the first hidden layer's law exact, and where
    that proves little, with every ReLU a line and the noise at random or at fixed activations.
    """
    layers = noisy_layers(network, law)
    found, _ = least_violation(layers, properties, track)
    violated = found.probability
    open_ones = violated > GOOD_ENOUGH
    if open_ones.any():
        chained = least_chained_violation(Federation(layers, [layers]), properties[open_ones])
        violated[open_ones] = torch.minimum(violated[open_ones], chained)
    return down(1 - violated).clamp(min=0.0)


def upper_bound(
    network: Network, law: DiagonalGaussian, properties: Properties, attack: ProjectedGradient
) -> Float64[Tensor, "P"]:
    """U ≥ Pr(safe), for one Gaussian law.

    A network that violates one constraint r at one point x' of the region is unsafe. That it does not is a
    violation of −(C f(x') + d)_r > 0, whose probability is bounded like any other; ties have none, since the
    output biases have a density, unless C_r = 0, a constraint that d_r decides. x' is what an attack on
    the mean network finds.
    """
    worst, _ = attack(network, law.loc.unsqueeze(0), properties)
    lower, upper = properties.regions.lower, properties.regions.upper
    points = Box.point(torch.minimum(torch.maximum(worst[0].double(), lower), upper))
    negated = Properties(points, -properties.C, -properties.d)
    layers = noisy_layers(network, law)
    best = torch.ones_like(properties.d[:, 0])
    trivial = (properties.C == 0).all(-1)
    for start in STARTS:
        found = violation(layers, negated, uniform_split(layers, len(properties), start))
        holds = torch.where(trivial, (properties.d >= 0).to(best.dtype), found.tails)
        least = up(holds.amin(-1) + found.events)
        best = torch.minimum(best, torch.where(least.isnan(), 1.0, least))
    return best


def component_tuples(
    laws: Sequence[Law], budget: int
) -> Iterator[tuple[tuple[DiagonalGaussian, ...], tuple[float, float]]]:
    """Tuples of components, the heaviest first where not all fit, and bounds of their weights Π π_{i,k_i}."""
    if budget < 1:
        raise InvalidConfig(f"at least one tuple of components must be bounded, not {budget}")
    shares = [_shares(law) for law in laws]
    logs = [[math.log(low) for low, _ in own] for own in shares]
    for chosen in islice(exhaustive_within(budget)(logs), budget):
        components = tuple(law.components[k] for law, k in zip(laws, chosen, strict=True))
        low = high = 1.0
        for own, k in zip(shares, chosen, strict=True):
            low = math.nextafter(low * own[k][0], 0.0)
            high = math.nextafter(high * own[k][1], math.inf)
        exact = all(len(law.components) == 1 for law in laws)
        yield components, (1.0, 1.0) if exact else (low, min(1.0, high))


def _shares(law: Law) -> list[tuple[float, float]]:
    """Bounds of the normalised weights of a law's components."""
    if not isinstance(law, GaussianMixture):
        if len(law.components) != 1:
            raise ShapeMismatch(f"projected events need a Gaussian or a mixture, not a {type(law).__name__}")
        return [(1.0, 1.0)]
    low = down(law.weights / sum_up(law.weights)).clamp(min=0.0).tolist()
    high = up(law.weights / sum_down(law.weights)).tolist()
    return list(zip(low, high, strict=True))
