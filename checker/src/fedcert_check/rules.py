"""The aggregation rules that this checker knows, and what they make of boxes and of Gaussians, in balls."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedcert_check.balls import Balls, Interval, exact, lower, root, upper, zeros
from fedcert_check.errors import InvalidCertificate
from fedcert_check.laws import DiagonalGaussian, Law
from fedcert_check.masses import Gaussian, gaussian
from fedcert_check.pooling import POOLING, Pooling
from fedcert_check.published import PRODUCTS, SETTINGS, read_settings, require_deserved
from fedcert_check.registry import Registry
from fedcert_check.stated import GAUSSIAN, StatedGaussian
from fedcert_check.stated import NAMES as STATED_NAMES
from fedcert_check.validation import Array, natural, plain_name, require, require_fields, shaped

MAX_CLIENTS = 10_000
AVERAGES = ("fedavg", "weighted-average", *PRODUCTS)
TRIMMED = ("median", "trimmed-mean")
RESERVED = {re.sub(r"[._+-]", "", name) for name in (*AVERAGES, *SETTINGS, *STATED_NAMES, *TRIMMED, POOLING)}
"""Names that readers know; whatever their spelling, a rule has one only if it deserves it."""


def _require_name(name: str, own: Sequence[str], what: str) -> None:
    """Raise if a rule has the name of one of another kind, or nearly."""
    known = re.sub(r"[._+-]", "", name.casefold()) in RESERVED
    require(name in own or not known, f"{what} is not called {name}, the name of another rule")


@dataclass(frozen=True)
class LinearRule:
    """Θ_g = v + Σ_i w_i Θ_i.

    Attributes:
        name: a label, which some laws must deserve (`published.py`).
        weights: w, of shape (n, 1) or (n, n_w).
        offset: v, or None for 0.
        settings: what a published law was made with.
    """

    name: str
    weights: Array
    offset: Array | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, entry: dict[str, Any], arrays: Mapping[str, Array], dimension: int) -> "LinearRule":
        """The rule of a claim.

        Args:
            entry: the rule's description.
            arrays: the certificate's tensors.
            dimension: n_w.
        """
        name = entry["name"]
        stated = {"settings"} if name in SETTINGS else set()
        require_fields(entry, {"type", "name", "clients", *stated}, "a linear rule")
        _require_name(name, (*AVERAGES, *SETTINGS), "a linear rule")
        weights = shaped("rule.weights", arrays.get("rule.weights"), np.float64, entry["clients"], None)
        require(weights.shape[1] in (1, dimension), f"weights for {weights.shape[1]} parameters")
        offset = arrays.get("rule.offset")
        offset = None if offset is None else shaped("rule.offset", offset, np.float64, dimension)
        if name in AVERAGES:  # a name must be deserved, up to rounding; no bound relies on it
            sums = bool((abs(weights.sum(0) - 1) <= 1e-9).all())
            require(
                offset is None and bool((weights >= 0).all()) and sums,
                f"{name} is a weighted average: weights that are not negative and sum to one, and no offset",
            )
        one = bool((weights == weights[:, :1]).all())
        require(name != "fedavg" or one, "fedavg has one weight for each client")
        return cls(name, weights, offset, read_settings(name, entry.get("settings"), len(weights)))

    @property
    def clients(self) -> int:
        """The number n of clients."""
        return len(self.weights)

    @property
    def nbytes(self) -> int:
        """The size of the rule's arrays."""
        return self.weights.nbytes + (0 if self.offset is None else self.offset.nbytes)

    def start(self, dimension: int) -> Balls:
        """The offset v.

        Args:
            dimension: n_w.
        """
        return zeros(dimension) if self.offset is None else exact(self.offset)

    def image(self, boxes: Sequence[Interval]) -> Interval:
        """A box that contains A(H_1 × … × H_n), exact but for outward rounding at 128 bits.

        The rule rises or falls in each coordinate of each client, by the sign of the weight, so the extremes
        are taken at end points.
        """
        low, high = self.start(len(boxes[0].lower)), self.start(len(boxes[0].lower))
        for weight, box in zip(self.weights, boxes, strict=True):
            w, rises = exact(weight), weight >= 0
            low = low + w * np.where(rises, box.lower, box.upper)
            high = high + w * np.where(rises, box.upper, box.lower)
        return Interval(lower(low), upper(high))

    def deployed(self, laws: Sequence[DiagonalGaussian]) -> Gaussian:
        """N(v + Σ w_i μ_i, diag Σ w_i² σ_i²)."""
        loc, variance = self.moments([gaussian(law) for law in laws])
        return Gaussian(loc, root(variance))

    def moments(self, laws: Sequence[Gaussian]) -> tuple[Balls, Balls]:
        """The mean v + Σ w_i μ_i and the variance Σ w_i² σ_i² of each deployed parameter."""
        loc, variance = self.start(len(laws[0].loc)), zeros(len(laws[0].loc))
        for weight, law in zip(self.weights, laws, strict=True):
            w = exact(weight)
            loc = loc + w * law.loc
            variance = variance + (w * law.scale) ** 2
        return loc, variance


@dataclass(frozen=True)
class TrimmedMean:
    """In each coordinate the mean of the clients' values without the least and the greatest; a median is one.

    Attributes:
        name: a label.
        clients: n.
        trim: number of values that are left out at each end.
    """

    name: str
    clients: int
    trim: int

    @classmethod
    def read(cls, entry: dict[str, Any], arrays: Mapping[str, Array], dimension: int) -> "TrimmedMean":
        """The rule of a claim.

        Args:
            entry: the rule's description.
            arrays: the certificate's tensors.
            dimension: n_w.
        """
        require_fields(entry, {"type", "name", "clients", "trim"}, "a trimmed mean")
        require("rule.weights" not in arrays and "rule.offset" not in arrays, "a trimmed mean has no weights")
        name, clients = entry["name"], entry["clients"]
        _require_name(name, TRIMMED, "a trimmed mean")
        trim = natural(entry["trim"], 0, "the number of trimmed values")
        require(2 * trim < clients, f"{trim} values cannot be trimmed at each end of {clients}")
        require(name != "median" or trim == (clients - 1) // 2, "a median keeps one or two middle values")
        return cls(name, clients, trim)

    @property
    def nbytes(self) -> int:
        """The size of the rule's arrays."""
        return 0

    def image(self, boxes: Sequence[Interval]) -> Interval:
        """A box that contains A(H_1 × … × H_n), exact but for outward rounding at 128 bits.

        The rule rises in all coordinates, so the extremes are taken at end points.
        """
        low, high = (self._kept(np.stack([box[end] for box in boxes])) for end in (0, 1))
        return Interval(lower(low.sum(0) / len(low)), upper(high.sum(0) / len(high)))

    def _kept(self, values: Balls) -> Balls:
        return np.sort(values, axis=0)[self.trim : self.clients - self.trim]

    def deployed(self, laws: Sequence[DiagonalGaussian]) -> Gaussian:
        """Raise: the law of a trimmed mean of Gaussians is not Gaussian."""
        raise InvalidCertificate(_no_gaussian(self))


Rule = LinearRule | TrimmedMean | Pooling | StatedGaussian
"""How the clients' parameters Θ_1, …, Θ_n become those of the deployed model."""

Read = Callable[[dict[str, Any], Mapping[str, Array], int], Rule]
RULES: Registry[Read] = Registry(
    "rule type",
    {
        "linear": LinearRule.read,
        "trimmed-mean": TrimmedMean.read,
        POOLING: Pooling.read,
        GAUSSIAN: StatedGaussian.read,
    },
)
"""How a rule is read from its description, the certificate's tensors and n_w, by its type."""


def read_rule(entry: Any, arrays: Mapping[str, Array], dimension: int) -> Rule:
    """The rule of a claim.

    Args:
        entry: the rule's description.
        arrays: the certificate's tensors.
        dimension: n_w.
    """
    require(isinstance(entry, dict), "the rule is not a JSON object")
    clients = natural(entry.get("clients"), 1, "the number of clients")
    require(clients <= MAX_CLIENTS, f"a rule of {clients} clients, more than {MAX_CLIENTS}")
    plain_name(entry.get("name"), "the rule")
    return RULES[entry.get("type")](entry, arrays, dimension)


def require_name(rule: Rule, laws: Sequence[Law]) -> None:
    """Raise if a rule has the name of a published law and deploys another one.

    Args:
        rule: of a claim.
        laws: of the clients.
    """
    if isinstance(rule, LinearRule):
        offset = np.zeros(1) if rule.offset is None else rule.offset
        require_deserved(rule.name, rule.settings, (rule.weights, offset), laws)
    if isinstance(rule, StatedGaussian):
        rule.require_deserved(laws)


def linear(rule: Rule) -> LinearRule:
    """The rule, if it is linear; raises if it is not."""
    if isinstance(rule, StatedGaussian):
        rule.refuse()
    if not isinstance(rule, LinearRule):
        raise InvalidCertificate(_no_gaussian(rule))
    return rule


def _no_gaussian(rule: TrimmedMean | Pooling) -> str:
    return f"the rule {rule.name} deploys no Gaussian law: no such claim can be made"


def rule_tensors(entry: Any) -> set[str]:
    """The names of the tensors that a rule of this type may have."""
    own = isinstance(entry, dict) and entry.get("type") == GAUSSIAN
    return {"rule.loc", "rule.factor"} if own else {"rule.weights", "rule.offset"}
