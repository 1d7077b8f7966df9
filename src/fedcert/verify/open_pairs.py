"""Pairs of a network and a property that an attack has not decided yet, packed network by network."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from fedcert.model.network import Network
from fedcert.model.properties import Properties

PACKED = 0.5
"""Pairs are packed again once less than this share of their places is in use."""


class OpenPairs(NamedTuple):
    """For each of some networks a row of inputs, one for each property that is open; short rows are padded.

    Attributes:
        rows: the numbers of the networks.
        columns: the numbers of the properties.
        used: which places of the rows hold a pair; what stands at the others is of no account.
        theta: the parameters of the networks.
        x: an input of each pair.
        lower: the lower ends of the regions.
        upper: their upper ends.
        C: the constraints.
        d: their offsets.
    """

    rows: Int64[Tensor, "B"]
    columns: Int64[Tensor, "B n"]
    used: Bool[Tensor, "B n"]
    theta: Float[Tensor, "B n_w"]
    x: Float[Tensor, "B n p"]
    lower: Float[Tensor, "B n p"]
    upper: Float[Tensor, "B n p"]
    C: Float[Tensor, "B n R K"]
    d: Float[Tensor, "B n R"]

    @classmethod
    def of(
        cls, theta: Float[Tensor, "B n_w"], properties: Properties, tried: Bool[Tensor, "B P"]
    ) -> "OpenPairs":
        """The chosen pairs, each at the centre of its region.

        Args:
            theta: the parameters of B networks.
            properties: P properties.
            tried: the pairs.
        """
        rows, columns, used = packed(tried)
        regions = properties.regions
        lower, upper, C, d = (
            part.to(theta.dtype)[columns]
            for part in (regions.lower, regions.upper, properties.C, properties.d)
        )
        return cls(rows, columns, used, theta[rows], (lower + upper) / 2, lower, upper, C, d)

    @property
    def places(self) -> tuple[Tensor, Tensor]:
        """The numbers of the networks and of the properties of all pairs."""
        return self.rows[:, None].expand_as(self.used)[self.used], self.columns[self.used]

    def margin_and_gradient(self, network: Network) -> tuple[Float[Tensor, "B n"], Float[Tensor, "B n p"]]:
        """min_r (C f_θ(x) + d)_r of every pair, and its ∇_x.

        Args:
            network: f.
        """
        with torch.enable_grad():
            x = self.x.detach().requires_grad_()
            outputs = network(self.theta, x)
            margin = (torch.einsum("bnrk,bnk->bnr", self.C, outputs) + self.d).amin(-1)
            (gradient,) = torch.autograd.grad(margin.sum(), x)
        return margin.detach(), gradient

    def step(self, gradient: Float[Tensor, "B n p"], share: float) -> "OpenPairs":
        """Every input moved against the signs of its gradient, and back into its region.

        Args:
            gradient: of the margins.
            share: how far a step goes, in radii of the regions.
        """
        half = (self.upper - self.lower) / 2 * share
        x = torch.addcmul(self.x, half, gradient.sign_(), value=-1, out=half)
        return self._replace(x=torch.clamp(x, self.lower, self.upper, out=x))

    def only(self, kept: Bool[Tensor, "B n"]) -> "OpenPairs":
        """Some of the pairs, packed into fewer places where that pays.

        Args:
            kept: which.
        """
        used = self.used & kept
        if used.sum() >= PACKED * used.numel():
            return self._replace(used=used)
        rows, places, filled = packed(used)
        own = rows[:, None]
        parts = (part[own, places] for part in (self.x, self.lower, self.upper, self.C, self.d))
        return OpenPairs(self.rows[rows], self.columns[own, places], filled, self.theta[rows], *parts)


def packed(used: Bool[Tensor, "B n"]) -> tuple[Tensor, Tensor, Tensor]:
    """Rows with a pair; for each the places of its pairs, first to last, padded; which of these are pairs.

    Args:
        used: which places hold a pair.
    """
    rows = used.any(-1).nonzero().squeeze(-1)
    counts = used[rows].sum(-1)
    width = int(counts.max()) if len(rows) else 0
    places = used[rows].byte().argsort(dim=-1, descending=True, stable=True)[:, :width]
    return rows, places, torch.arange(width, device=used.device) < counts[:, None]
