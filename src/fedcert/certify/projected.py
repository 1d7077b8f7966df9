"""Certificates from projected events: lower and upper bounds, directly under the deployed law."""

from collections.abc import Sequence

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.attack import ProjectedGradient
from fedcert.box import Box
from fedcert.certificate import Certificate, Claim
from fedcert.certify.components import TUPLES, Interval, mixed
from fedcert.errors import ShapeMismatch
from fedcert.laws import DiagonalGaussian, Law
from fedcert.networks import Network
from fedcert.numerics import down, require_gradual_underflow, sum_down, up
from fedcert.progress import Tracker, silent
from fedcert.projected.bound import violation
from fedcert.projected.chain import Federation, least_chained_violation
from fedcert.projected.layers import noisy_layers
from fedcert.projected.split import GOOD_ENOUGH, STARTS, least_violation, uniform_split
from fedcert.properties import Properties
from fedcert.rules import GaussianRule

EVENTS = "projected"


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

    Laws that are mixtures deploy a mixture over tuples of their components (`components.py`).

    Args:
        laws: the clients' posteriors, Gaussians or mixtures of them.
        rule: the deployed rule.
        network: f_θ.
        properties: the properties to prove.
        budget: the most bounds of tuples of components.
        attack: finds the inputs that upper bounds speak of; the default one where None.
        track: shows progress.
    """
    if len(laws) != rule.clients:
        raise ShapeMismatch(f"laws of {len(laws)} clients, a rule for {rule.clients}")
    require_gradual_underflow()
    attack = attack or ProjectedGradient()

    def bound(components: Sequence[DiagonalGaussian]) -> Interval:
        deployed = rule.pushforward(components)
        lower = lower_bound(network, deployed, properties, track)
        return lower, upper_bound(network, deployed, properties, attack)

    found = mixed(laws, bound, budget, GOOD_ENOUGH)
    return Certificate(Claim("direct", rule.name, EVENTS), found.lower, found.upper)


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

    def bound(components: Sequence[DiagonalGaussian]) -> Interval:
        layers = noisy_layers(network, components[0])
        found = violation(layers, properties, uniform_split(layers, len(properties), STARTS[0]))
        lower = down(1 - found.probability).clamp(min=0.0)
        return lower, torch.ones_like(lower)

    own = [
        mixed([law], bound, TUPLES, GOOD_ENOUGH).lower for law in track(laws, "certifying clients", len(laws))
    ]
    mean = down(sum_down(torch.stack(own, dim=-1)) / len(own)).clamp(min=0.0)
    return Certificate(Claim("local", rule, EVENTS), mean)


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
