"""Linear pooling: client i's own model is deployed with probability w_i / Σ_j w_j."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from flint import arb

from fedcert_check.balls import ZERO, Interval, exact
from fedcert_check.errors import InvalidCertificate
from fedcert_check.laws import DiagonalGaussian
from fedcert_check.validation import Array, require, require_fields, shaped

POOLING = "pooling"


@dataclass(frozen=True)
class Pooling:
    """Θ_g = Θ_I, where I is i with probability w_i / Σ_j w_j, independently of all Θ_i.

    Attributes:
        name: a label.
        weights: w ≥ 0, of shape (n, 1), not all 0.
    """

    name: str
    weights: Array

    @classmethod
    def read(cls, entry: dict[str, Any], arrays: Mapping[str, Array], dimension: int) -> "Pooling":
        """The rule of a claim.

        Args:
            entry: the rule's description.
            arrays: the certificate's tensors.
            dimension: n_w.
        """
        require_fields(entry, {"type", "name", "clients"}, "pooling")
        name = entry["name"]
        require(name == POOLING, f"pooling is not a {name}")
        require("rule.offset" not in arrays, "pooling has no offset")
        weights = shaped("rule.weights", arrays.get("rule.weights"), np.float64, entry["clients"], 1)
        require(
            bool((weights >= 0).all()) and bool((weights > 0).any()),
            "the weights of pooling are not negative, and not all of them are zero",
        )
        return cls(name, weights)

    @property
    def clients(self) -> int:
        """The number n of clients."""
        return len(self.weights)

    @property
    def nbytes(self) -> int:
        """The size of the rule's arrays."""
        return self.weights.nbytes

    @property
    def shares(self) -> list[arb]:
        """The probabilities w_i / Σ_j w_j."""
        weights = exact(self.weights[:, 0]).tolist()
        whole = sum(weights, ZERO)
        return [weight / whole for weight in weights]

    def image(self, boxes: Sequence[Interval]) -> NoReturn:
        """Raise: what is deployed is no function of all clients' parameters."""
        raise InvalidCertificate(f"the rule {self.name} maps no boxes: no such claim can be made")

    def deployed(self, laws: Sequence[DiagonalGaussian]) -> NoReturn:
        """Raise: the deployed law is a mixture."""
        raise InvalidCertificate(f"the rule {self.name} deploys no Gaussian law: no such claim can be made")
