"""A nested family of mean-centred boxes for each property, and the largest box that is proven."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from fedcert.families.mean_box.events import MeanBox
from fedcert.families.mean_box.measures import EventMeasure
from fedcert.numerics.gaussian import log_mass_lower
from fedcert.numerics.rounding import exp_down
from fedcert.verify import Safe

HELD_ELEMENTS = 2**24  # maximum number of parameters of all clients' boxes held at a time
NEGLIGIBLE = -30.0  # log mass (below 1e-13) under which a box is not worth a search
WORTH = 5e-5  # minimum gain in mass for which a bracket is halved again
BIN = 0.25  # width of a bin of log costs, whose parameters count as equally costly in rough masses


@dataclass(frozen=True, eq=False)
class NestedBoxes:
    """Boxes ordered by the log price λ: the widest at the lowest price, for each property.

    Attributes:
        measure: gives the images of boxes and their masses.
        safe: the verifier and the properties.
        events: the widest radius and the number of bisection steps.
        log_cost: the log cost of widening each parameter, for each property or the same for all.
    """

    measure: EventMeasure
    safe: Safe
    events: MeanBox
    log_cost: Float64[Tensor, "p_or_1 d_or_1"]

    def largest(self) -> Float64[Tensor, "P"]:
        """The log price of the largest box that is verified, by bisection; infinite if none is.

        Bisection starts between the widest box and one of negligible mass, and continues only for
        properties that have some mass to gain.
        """
        outer = self.log_cost.new_full((len(self.safe.properties),), self.events.log_prices[0])
        inner = self._lightest()
        widest = self.verify(outer, torch.ones_like(outer, dtype=torch.bool))
        undecided = self.verify(inner, ~widest)
        best = torch.where(widest, outer, torch.where(undecided, inner, math.inf))
        for _ in range(self.events.steps):
            undecided = undecided & (self._rough_mass(outer) - self._rough_mass(inner) > WORTH)
            if not undecided.any():
                break
            middle = (outer + inner) / 2
            proven = self.verify(middle, undecided)
            inner = torch.where(proven, middle, inner)
            outer = torch.where(undecided & ~proven, middle, outer)
            best = torch.where(proven, middle, best)
        return best

    def hopeless(self) -> Bool[Tensor, "P"]:
        """Whether even a third of a box of negligible mass is not proven: then no box of another shape is."""
        radius = self._radii(
            self._lightest(), torch.zeros(1, dtype=torch.int64, device=self.log_cost.device)
        )[0]
        return ~self.safe(self.measure.images(radius / 3)).squeeze(0)

    def verify(self, log_price: Float64[Tensor, "P"], chosen: Bool[Tensor, "P"]) -> Bool[Tensor, "P"]:
        """Whether the image of each chosen property's box is proven safe for it."""
        proven = torch.zeros_like(chosen)
        for part in self._parts(chosen):
            radius, which = self._radii(log_price, part)
            images = self.measure.images(radius)
            if len(radius) == len(part):
                proven[part] = self.safe.only(self._mask(part)).pairs(images[which])
                continue
            for k in range(len(radius)):
                own = self._mask(part[which == k])
                proven[own] = self.safe.only(own)(images[k : k + 1]).squeeze(0)
        return proven

    def mass(self, log_price: Float64[Tensor, "P"]) -> Float64[Tensor, "P"]:
        """A lower bound of the mass of the event behind each property's image; 0 if the price is infinite."""
        mass = torch.zeros_like(log_price)
        for part in self._parts(torch.isfinite(log_price)):
            radius, which = self._radii(log_price, part)
            mass[part] = exp_down(self.measure.log_mass(radius))[which]
        return mass

    def radius(self, log_price: Float64[Tensor, "P"], p: int) -> Float64[Tensor, "d"]:
        """The radii of one property's box."""
        return self._radii(log_price, torch.tensor([p], device=log_price.device))[0][0]

    def _radii(
        self, log_price: Float64[Tensor, "P"], part: Int64[Tensor, " k"]
    ) -> tuple[Float64[Tensor, "u d"], Int64[Tensor, " k"]]:
        """The distinct radii of some properties' boxes, and which of them each property has."""
        price = log_price[part].unsqueeze(-1)
        if len(self.log_cost) == 1:
            distinct, which = price.unique(dim=0, return_inverse=True)
            return self.events.radii(distinct + self.log_cost), which
        return self.events.radii(price + self.log_cost[part]), torch.arange(len(part), device=part.device)

    def _parts(self, chosen: Bool[Tensor, "P"]) -> Iterator[Int64[Tensor, " k"]]:
        """The chosen properties in parts whose boxes, of all clients together, fit in memory."""
        size = max(1, HELD_ELEMENTS // (len(self.measure.laws) * self.measure.laws[0].dimension))
        index = chosen.nonzero().squeeze(-1)
        return iter(index.split(size)) if len(index) else iter(())

    def _mask(self, part: Int64[Tensor, " k"]) -> Bool[Tensor, "P"]:
        """The given properties as a mask over all properties."""
        mask = torch.zeros(len(self.safe.properties), dtype=torch.bool, device=part.device)
        mask[part] = True
        return mask

    @cached_property
    def _bins(self) -> tuple[Float64[Tensor, "bins"], Float64[Tensor, "p_or_1 bins"]]:
        """Bins of log costs from 0 down, and the number of parameters in each bin, for each property."""
        place = (-self.log_cost / BIN).long()
        rows = [row.bincount(minlength=int(place.max()) + 1) for row in place]
        counts = torch.stack(rows).double() * (self.measure.laws[0].dimension / self.log_cost.shape[-1])
        return -BIN * torch.arange(counts.shape[-1], dtype=torch.float64, device=place.device), counts

    def _rough_log_mass(self, log_price: Float64[Tensor, "P"]) -> Float64[Tensor, "P"]:
        """The approximate log mass of the boxes of all laws at this price; it only guides the search."""
        costs, counts = self._bins
        radius = self.events.radii(log_price.unsqueeze(-1) + costs)
        return (log_mass_lower(-radius, radius) * counts).sum(-1) * len(self.measure.laws)

    def _rough_mass(self, log_price: Float64[Tensor, "P"]) -> Float64[Tensor, "P"]:
        return self._rough_log_mass(log_price).exp()

    def _lightest(self) -> Float64[Tensor, "P"]:
        """The price at which the mass becomes negligible."""
        widest, narrowest = self.events.log_prices
        outer = self.log_cost.new_full((len(self.safe.properties),), widest)
        inner = torch.full_like(outer, narrowest - self.log_cost.min().item())
        for _ in range(self.events.steps):
            middle = (outer + inner) / 2
            heavy = self._rough_log_mass(middle) > NEGLIGIBLE
            outer, inner = torch.where(heavy, middle, outer), torch.where(heavy, inner, middle)
        return inner
