"""`box` certificates: mean-centred boxes, each as large as its transported image can be verified."""

import math
from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.box import Box
from fedcert.certificate import Certificate, Claim, Kind
from fedcert.certify.hull import certify_hulls
from fedcert.certify.linearise import log_costs
from fedcert.events.mean_box import MeanBox
from fedcert.laws import DiagonalGaussian, Law
from fedcert.numerics import down, exp_down, sum_down
from fedcert.progress import Tracker, silent
from fedcert.rules import AggregationRule, GaussianRule, WeightedAverage
from fedcert.verifiers import Safe

HELD_ELEMENTS = 2**24  # parameters of all clients' boxes held at a time
ENOUGH = 0.999  # a property certified to this share needs no better shape of box
MIXTURE_RADII = (8.0, 7.0, 6.0, 5.0, 4.0, 3.0)


def certify_boxes(
    laws: Sequence[Law],
    rule: AggregationRule,
    safe: Safe,
    events: MeanBox,
    kind: Kind = "transported",
    budget: int = 1000,
    track: Tracker = silent,
) -> Certificate:
    """L = max over boxes of Π_i q_i(H_i) with H_i = [μ_i ± r σ_i] and A(Π H_i) proven safe.

    Sound as any transported certificate is: one event, its mass, and the proof of its whole image.
    Verification is monotone in the box, so bisection finds the largest box of a nested family. Three
    families are tried, each only for the properties that the one before leaves below 99.9 %: one radius
    for all parameters, one a layer, one a parameter. With a direct claim, `laws` is the deployed law
    alone and the rule the identity. Mixtures have one cell a component, and tuples of components are
    searched by their hulls.

    Args:
        laws: q_i, the clients' posteriors.
        rule: A, the deployed rule.
        safe: the verifier and the properties.
        events: the widest radius and the bisection.
        kind: what the certificate claims.
        budget: verifier calls of the hull search, for mixtures.
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
    for shape in track(("uniform", "layer", "parameter"), "enlarging boxes"):
        wanting = best < ENOUGH
        if wanting.any():
            open_properties = safe.only(wanting)
            family = _Family(laws, rule, open_properties, events, _shape(shape, laws, rule, open_properties))
            best[wanting] = torch.maximum(best[wanting], family.largest_mass())
    return Certificate(claim, best)


def certify_boxes_directly(
    laws: Sequence[DiagonalGaussian],
    rule: GaussianRule,
    safe: Safe,
    events: MeanBox,
    track: Tracker = silent,
) -> Certificate:
    """The same under the deployed law: one "client", which deploys its own draw.

    Args:
        laws: q_i, the clients' posteriors.
        rule: the deployed rule, whose law is in closed form.
        safe: the verifier and the properties.
        events: the widest radius and the bisection.
        track: shows progress.
    """
    deployed = rule.pushforward(laws)
    identity = _identity(rule.name, deployed)
    return certify_boxes([deployed], identity, safe, events, "direct", track=track)


def certify_boxes_locally(
    laws: Sequence[Law], rule: str, safe: Safe, events: MeanBox, track: Tracker = silent
) -> Certificate:
    """The mean over clients of q_i(H_i), each box as large as the client's own model can be verified.

    Args:
        laws: q_i, the clients' posteriors.
        rule: the deployed rule's name, for the table; the bound does not depend on it.
        safe: the verifier and the properties.
        events: the widest radius and the bisection.
        track: shows progress.
    """
    alone = _identity(rule, laws[0])
    own = [
        certify_boxes([law], alone, safe, events, "local").lower
        for law in track(laws, "certifying clients", len(laws))
    ]
    mean = down(sum_down(torch.stack(own, dim=-1)) / len(own)).clamp(min=0.0)
    return Certificate(Claim("local", rule, events.name), mean)


def _identity(name: str, law: Law) -> WeightedAverage:
    """The rule of a single client, under a name for the table."""
    return WeightedAverage(torch.ones(1, 1, dtype=torch.float64, device=law.loc.device), name)


def _shape(shape: str, laws: Sequence[Law], rule: AggregationRule, safe: Safe) -> Float64[Tensor, "p_or_1 d"]:
    """Log costs of widening each parameter, at most 0: one for all, one a layer, one a parameter."""
    if shape == "uniform":
        return torch.zeros(1, 1, dtype=torch.float64, device=laws[0].loc.device)
    unit = rule.image([Box.around(law.loc, law.components[0].scale) for law in laws])
    width = (unit.upper - unit.lower) / 2
    return log_costs(safe.network, rule([law.loc for law in laws]), safe.properties, width, shape == "layer")


class _Family:
    """A nested family of mean-centred boxes for each property, ordered by the log price λ."""

    def __init__(
        self,
        laws: Sequence[Law],
        rule: AggregationRule,
        safe: Safe,
        events: MeanBox,
        log_cost: Float64[Tensor, "p_or_1 d"],
    ) -> None:
        self.laws, self.rule, self.safe, self.events, self.log_cost = laws, rule, safe, events, log_cost

    def largest_mass(self) -> Float64[Tensor, "P"]:
        """The mass of the largest box that is verified, by bisection; 0 where none is."""
        widest, narrowest = self.events.log_prices
        count, device = len(self.safe.properties), self.log_cost.device
        outer = torch.full((count,), widest, dtype=torch.float64, device=device)
        inner = torch.full_like(outer, narrowest - self.log_cost.min().item())
        verified = self.verify(outer)
        best = torch.where(verified, outer, math.inf)
        for _ in range(self.events.steps if not verified.all() else 0):
            middle = (outer + inner) / 2
            proven = self.verify(middle)
            best = torch.where(proven, torch.minimum(best, middle), best)
            inner = torch.where(proven, middle, inner)
            outer = torch.where(proven, outer, middle)
        return self.mass(best)

    def verify(self, log_price: Float64[Tensor, "P"]) -> Bool[Tensor, "P"]:
        """Whether the image of each property's box is proven safe for it."""
        proven = torch.zeros_like(log_price, dtype=torch.bool)
        for part in self.parts():
            images, which = self.images(log_price, part)
            proven[part] = self.safe.only(part).pairs(images[which])
        return proven

    def mass(self, log_price: Float64[Tensor, "P"]) -> Float64[Tensor, "P"]:
        """A lower bound of Π_i q_i(H_i) for each property's boxes; 0 where the price is infinite."""
        mass = torch.zeros_like(log_price)
        for part in self.parts():
            part = part & torch.isfinite(log_price)
            if part.any():
                radius, which = self.radii(log_price, part)
                per_client = [law.log_mass(_box(law, radius)) for law in self.laws]
                mass[part] = exp_down(sum_down(torch.stack(per_client, dim=-1)))[which]
        return mass

    def images(self, log_price: Tensor, part: Tensor) -> tuple[Box, Tensor]:
        """The distinct images that some properties ask for, and which is whose."""
        radius, which = self.radii(log_price, part)
        return self.rule.image([_box(law, radius) for law in self.laws]), which

    def radii(self, log_price: Tensor, part: Tensor) -> tuple[Tensor, Tensor]:
        """The distinct radii that some properties ask for, and which are whose."""
        price = log_price[part].unsqueeze(-1)
        if len(self.log_cost) == 1:
            distinct, which = price.unique(dim=0, return_inverse=True)
            return self.events.radii(distinct + self.log_cost), which
        radius = self.events.radii(price + self.log_cost[part])
        return radius, torch.arange(len(radius), device=radius.device)

    def parts(self) -> Iterator[Bool[Tensor, "P"]]:
        """The properties in parts whose boxes, of all clients together, fit the memory."""
        count = len(self.safe.properties)
        size = max(1, HELD_ELEMENTS // (len(self.laws) * self.laws[0].dimension))
        index = torch.arange(count, device=self.log_cost.device)
        for start in range(0, count, size):
            yield (index >= start) & (index < start + size)


def _box(law: Law, radius: Float64[Tensor, "p d"]) -> Box:
    """[μ ± r σ], for each row of radii."""
    half = radius * law.components[0].scale
    return Box(law.loc - half, law.loc + half)
