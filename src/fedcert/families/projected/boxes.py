"""Transport by a grid of boxes of the clients' own parameters, so fine that next to nothing is lost.

Cut every parameter of every client into intervals so short that the image of a tuple of boxes is no wider,
in parameter d, than 2^-bits (|M_d| + 40 S_d), M and S being mean and deviation of the deployed law. Boxes
of a client are disjoint, and masses of a tuple multiply. If the drawn network satisfies C f(x) + d ≥ ε on the
region, and no parameter is more than 40 deviations from its mean, then all networks of its tuple's image are
safe, for an ε that is computed here. So the tuples with a safe image have at least the probability that the
deployed law gives to margins of ε: that law counts them, and none is enumerated (docs/soundness.md, 10.5).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.errors import InvalidConfig
from fedcert.laws.affine import RandomAffine
from fedcert.model.properties import Properties
from fedcert.numerics.rounding import above, down, up

MOST_BITS = 512


@dataclass(frozen=True)
class Boxes:
    """A grid of boxes, for each client.

    Attributes:
        bits: 2^-bits is the largest width of a tuple's image, relative to what a parameter can be.
    """

    bits: int = 64

    def __post_init__(self) -> None:
        if not 8 <= self.bits <= MOST_BITS:
            raise InvalidConfig(f"bits: from 8 to {MOST_BITS}, not {self.bits}")

    def slack(self, layers: Sequence[RandomAffine], properties: Properties) -> Float64[Tensor, "P R"]:
        """ε: how much C f(x) can differ within the image of a tuple, anywhere in the region.

        With q = 2^-bits and H_l = (|M_l| + 40 S_l) H_{l−1} + |m_l| + 40 s_l, two networks of an image have
        activations of at most (1 + q)^l H_l that differ by at most ((1 + q)^l − 1) H_l, and
        (1 + q)^L − 1 ≤ 2 L q as L q ≤ 1.

        Args:
            layers: the network and its deployed law.
            properties: P properties.
        """
        if len(layers) > 2**self.bits:
            raise InvalidConfig(f"bits: {self.bits} are too few for {len(layers)} layers")
        reach = torch.maximum(properties.regions.lower.abs(), properties.regions.upper.abs())
        for layer in layers:
            reach = layer.ceiling(up(reach))
        share = 2.0 * len(layers) * 2.0**-self.bits
        return above(share * (properties.C.abs() * reach.unsqueeze(-2)).sum(-1), reach.shape[-1] + 4)

    def tightened(
        self, layers: Sequence[RandomAffine], properties: Properties
    ) -> tuple[Properties, Bool[Tensor, "P"]]:
        """The properties C f(x) + d − ε ≥ 0, and for which of them ε is a number: nothing is known of others.

        A constraint of zeros does not depend on the network, and stays as it is.

        Args:
            layers: the network and its deployed law.
            properties: P properties.
        """
        lowered = down(properties.d - self.slack(layers, properties))
        lowered = torch.where((properties.C != 0).any(-1), lowered, properties.d)
        known = lowered.isfinite().all(-1)
        lowered = torch.where(known.unsqueeze(-1), lowered, properties.d)
        return Properties(properties.regions, properties.C, lowered), known
