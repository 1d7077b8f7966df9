"""`box` certificates: mean-centred boxes, each as large as its transported image can be verified."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.box import Box
from fedcert.certificate import Certificate, Claim, Kind
from fedcert.certify.chosen import Chosen, View
from fedcert.certify.hull import certify_hulls
from fedcert.certify.lattice import lattice_log_mass
from fedcert.certify.linearise import log_costs
from fedcert.certify.splitting import split_boxes
from fedcert.events.mean_box import MeanBox
from fedcert.laws import DiagonalGaussian, Law
from fedcert.numerics import down, exp_down, sum_down
from fedcert.progress import Tracker, silent
from fedcert.rules import AggregationRule, GaussianRule, LinearRule, WeightedAverage
from fedcert.verifiers import Safe
from fedcert.witness import Witness

HELD_ELEMENTS = 2**24  # parameters of all clients' boxes held at a time
ENOUGH = 0.999  # a property certified to this share needs no better shape of box
NEGLIGIBLE = -30.0  # log mass: below 1e-13
Shape = Literal["uniform", "layer", "parameter"]
FEW = 16  # parameters of all clients together, up to which boxes are worth splitting
MIXTURE_RADII = (8.0, 7.0, 6.0, 5.0, 4.0, 3.0)


def certify_boxes(
    laws: Sequence[Law],
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
    chosen = Chosen(safe.network, len(best), len(laws))
    views = [_products(laws, rule)]
    if isinstance(rule, WeightedAverage | LinearRule) and len(laws) > 1:
        views.insert(0, _lattice(laws, rule if isinstance(rule, LinearRule) else rule.linear))
    attempts = [(shape, view) for shape in shapes for view in views]
    for shape, view in track(attempts, "enlarging boxes"):
        wanting = best < ENOUGH
        if wanting.any():
            family = _Family(view, safe.only(wanting), events, _shape(shape, view, safe.only(wanting)))
            price = family.largest()
            mass = torch.zeros_like(best).masked_scatter(wanting, family.mass(price))
            for p in (mass > best).nonzero().squeeze(-1).tolist():
                place = int(wanting[:p].sum())
                chosen.radii(view.name, p, family.radius(price, place), shape != "parameter")
            best = torch.maximum(best, mass)
    wanting = best < ENOUGH
    if wanting.any() and len(laws) * laws[0].dimension <= FEW:
        tiles = split_boxes(laws, rule, safe.only(wanting), budget)
        for place, p in enumerate(wanting.nonzero().squeeze(-1).tolist()):
            if tiles.lower[place] > best[p]:
                best[p] = tiles.lower[place]
                chosen.tiles(p, tiles.products[place])
    return Certificate(claim, best, witness=chosen.witness())


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

    One radius for all parameters: it is a figure to compare with, of no deployed model.

    Args:
        laws: q_i, the clients' posteriors.
        rule: the deployed rule's name, for the table; the bound does not depend on it.
        safe: the verifier and the properties.
        events: the widest radius and the bisection.
        track: shows progress.
    """
    alone = _identity(rule, laws[0])
    own = [
        certify_boxes([law], alone, safe, events, "local", shapes=("uniform",))
        for law in track(laws, "certifying clients", len(laws))
    ]
    mean = down(sum_down(torch.stack([one.lower for one in own], dim=-1)) / len(own)).clamp(min=0.0)
    return Certificate(Claim("local", rule, events.name), mean, witness=_of_clients(own))


def _of_clients(own: Sequence[Certificate]) -> Witness | None:
    """One witness of all clients'; None where a client has none."""
    tensors: dict[str, Tensor] = {}
    for i, certificate in enumerate(own):
        if certificate.witness is None:
            return None
        tensors |= {f"client-{i}.{name}": t for name, t in certificate.witness.tensors.items()}
    return Witness(tensors)


def _identity(name: str, law: Law) -> WeightedAverage:
    """The rule of a single client, under a name for the table."""
    return WeightedAverage(torch.ones(1, 1, dtype=torch.float64, device=law.loc.device), name)


class _View(NamedTuple):
    """Boxes of some laws, their image under a rule, and how the mass of the event behind it is measured."""

    name: View
    laws: Sequence[DiagonalGaussian]
    rule: AggregationRule
    log_mass: Callable[[Float64[Tensor, "u d"]], Float64[Tensor, "u"]]

    def images(self, radius: Float64[Tensor, "u d"]) -> Box:
        """The image of the boxes [μ_i ± r σ_i], in real numbers, for each row of radii."""
        return self.rule.image([law.central_box(radius) for law in self.laws])


def _products(laws: Sequence[Law], rule: AggregationRule) -> _View:
    """One box a client: the event {Θ_i ∈ H_i for all i}, with mass Π_i q_i(H_i)."""
    gaussians = [law.components[0] for law in laws]

    def log_mass(radius: Float64[Tensor, "u d"]) -> Float64[Tensor, "u"]:
        return sum_down(torch.stack([law.central_log_mass(radius) for law in gaussians], dim=-1))

    return _View(View.PRODUCT, gaussians, rule, log_mass)


def _lattice(laws: Sequence[Law], rule: LinearRule) -> _View:
    """All tuples of lattice cells whose image lies in a box around the deployed mean."""
    gaussians = [law.components[0] for law in laws]
    deployed = rule.pushforward(gaussians)

    def log_mass(radius: Float64[Tensor, "u d"]) -> Float64[Tensor, "u"]:
        masses = [lattice_log_mass(rule, gaussians, row) for row in radius]
        return torch.tensor(masses, dtype=torch.float64, device=deployed.loc.device)

    return _View(View.LATTICE, [deployed], _identity(rule.name, deployed), log_mass)


def _shape(shape: Shape, view: _View, safe: Safe) -> Float64[Tensor, "p_or_1 d"]:
    """Log costs of widening each parameter, at most 0: one for all, one a layer, one a parameter."""
    if shape == "uniform":
        return torch.zeros(1, 1, dtype=torch.float64, device=view.laws[0].loc.device)
    unit = view.rule.image([Box.around(law.loc, law.scale) for law in view.laws])
    center = view.rule([law.loc for law in view.laws])
    width = (unit.upper - unit.lower) / 2
    return log_costs(safe.network, center, safe.properties, width, shape == "layer")


class _Family:
    """A nested family of mean-centred boxes for each property, ordered by the log price λ."""

    def __init__(
        self, view: _View, safe: Safe, events: MeanBox, log_cost: Float64[Tensor, "p_or_1 d"]
    ) -> None:
        self.view, self.safe, self.events, self.log_cost = view, safe, events, log_cost

    def largest(self) -> Float64[Tensor, "P"]:
        """The log price of the largest box that is verified, by bisection; infinite where none is."""
        widest, narrowest = self.events.log_prices
        count, device = len(self.safe.properties), self.log_cost.device
        outer = torch.full((count,), widest, dtype=torch.float64, device=device)
        inner = torch.full_like(outer, narrowest - self.log_cost.min().item())
        verified = self.verify(outer)
        best = torch.where(verified, outer, math.inf)
        for _ in range(self.events.steps if not verified.all() else 0):
            if (verified | self.negligible(outer)).all():
                break
            middle = (outer + inner) / 2
            proven = self.verify(middle)
            best = torch.where(proven, torch.minimum(best, middle), best)
            inner = torch.where(proven, middle, inner)
            outer = torch.where(proven, outer, middle)
        return best

    def negligible(self, log_price: Float64[Tensor, "P"]) -> Bool[Tensor, "P"]:
        """Whether the first law alone gives each property's box no mass to speak of: not worth a search."""
        law = self.view.laws[0]
        tiny = torch.zeros_like(log_price, dtype=torch.bool)
        for part in self.parts():
            radius, which = self.radii(log_price, part)
            tiny[part] = (law.central_log_mass(radius) < NEGLIGIBLE)[which]
        return tiny

    def verify(self, log_price: Float64[Tensor, "P"]) -> Bool[Tensor, "P"]:
        """Whether the image of each property's box is proven safe for it."""
        proven = torch.zeros_like(log_price, dtype=torch.bool)
        for part in self.parts():
            radius, which = self.radii(log_price, part)
            proven[part] = self.safe.only(part).pairs(self.view.images(radius)[which])
        return proven

    def mass(self, log_price: Float64[Tensor, "P"]) -> Float64[Tensor, "P"]:
        """A lower bound of the mass behind each property's image; 0 where the price is infinite."""
        mass = torch.zeros_like(log_price)
        for part in self.parts():
            found = part & torch.isfinite(log_price)
            if found.any():
                radius, which = self.radii(log_price, found)
                mass[found] = exp_down(self.view.log_mass(radius))[which]
        return mass

    def radius(self, log_price: Float64[Tensor, "P"], p: int) -> Float64[Tensor, "d"]:
        """The radii of one property's box."""
        radius, which = self.radii(log_price, torch.arange(len(log_price), device=log_price.device) == p)
        return radius[int(which[0])]

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
        size = max(1, HELD_ELEMENTS // (len(self.view.laws) * self.view.laws[0].dimension))
        index = torch.arange(count, device=self.log_cost.device)
        for start in range(0, count, size):
            yield (index >= start) & (index < start + size)
