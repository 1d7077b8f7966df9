"""What properties mean in words: the label wins on a whole ball around each input. The words are verified.

A certificate may say that its properties are the robustness of a classifier around some inputs. The checker
holds this against the properties themselves: every region must contain the ball, cut to the domain, and the
constraints must say that the label beats every other class by the margin. Where the inputs come from and how
they were chosen cannot be seen in a file: that is what the certificate's maker states.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fedcert_check.digest import digest
from fedcert_check.errors import InvalidCertificate
from fedcert_check.features import Feature, error_words, read_features
from fedcert_check.properties import Properties
from fedcert_check.regions import outward, require_regions
from fedcert_check.validation import Array, finite, plain_name, quoted, require, require_fields, shaped

PREFIX = "subject."
TENSORS = ("inputs", "labels", "indices", "radius", "weights")
LINF, WEIGHTED = "linf", "weighted-linf"
CHOICES = ("first", "random", "correct", "given")
UNKNOWN = -1
"""The index of an input that does not come from a test set."""


@dataclass(frozen=True)
class Subject:
    """Robustness around inputs: f_c(x') − f_r(x') ≥ margin for all r ≠ c and all x' of a ball in the domain.

    The ball of radius ε around x is {x': |x'_j − x_j| ≤ ε w_j for all j}; all w_j are 1 for the norm "linf".

    Attributes:
        inputs: the centre of each ball, of shape (P, p).
        labels: c of each input.
        indices: the position of each input in the test set; −1 where unknown.
        radius: of each ball, in the norm.
        norm: "linf", or "weighted-linf".
        margin: by which the label must win.
        domain: the smallest and largest value of an input coordinate, to which balls are cut; None for no
            limits.
        source: the name of the data set, as stated by the certificate's maker.
        chosen: how the inputs were chosen from it, as stated: one of `CHOICES`.
        available: the number of inputs that they were chosen from, as stated; None where unknown.
        seed: of a random choice, as stated; None where there was none.
        weights: w, of shape (P, p); None for the norm "linf".
        features: which measurement each coordinate is, as stated; None where that is not said.
    """

    inputs: Array
    labels: Array
    indices: Array
    radius: Array
    norm: str
    margin: float
    domain: tuple[float, float] | None
    source: str
    chosen: str
    available: int | None
    seed: int | None
    weights: Array | None = None
    features: tuple[Feature, ...] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def digest(self) -> str:
        """SHA-256 of inputs and labels, which names them."""
        return inputs_digest(self.inputs, self.labels)

    @property
    def common_radius(self) -> float | None:
        """The radius of all balls; None where they differ."""
        return float(self.radius[0]) if (self.radius == self.radius[0]).all() else None

    def describe(self) -> str:
        """What the properties say, in words."""
        by = f" by a margin of {number(self.margin)}" if self.margin else ""
        within = "" if self.domain is None else " within [{}, {}]".format(*map(number, self.domain))
        return (
            f"the label wins{by} on the whole {self._ball}{within} around {len(self):,} inputs"
            f" ({self.describe_choice()}, digest {self.digest[:12]})"
        )

    @property
    def _ball(self) -> str:
        if self.common_radius is not None:
            radius = number(self.common_radius)
            return f"ℓ∞ ball of radius {radius}" if self.weights is None else self.box
        least, most = (number(float(end)) for end in (self.radius.min(), self.radius.max()))
        if self.weights is None:
            return f"ℓ∞ ball of radii from {least} to {most}, one for each input,"
        return (
            f"box of measurement error × {least} to {most}, a factor for each input"
            f" (× 1: {self.errors(1.0)}),"
        )

    def describe_ball(self, in_full: bool = False) -> str:
        """The ball of the radius that all share, in words for sentences.

        Args:
            in_full: whether the error of each measurement is said.
        """
        radius = self.common_radius
        if radius is None:
            raise InvalidCertificate("the balls have different radii: nothing is said of them together")
        if self.weights is None:
            return f"l-infinity ball of radius {radius!r}"
        return self.box if in_full else f"box of measurement error × {number(radius)}"

    @cached_property
    def box(self) -> str:
        """The weighted ball of the radius that all share, in words."""
        radius = self.common_radius or 0.0
        return f"box of measurement error × {number(radius)} ({self.errors(radius)})"

    def errors(self, factor: float) -> str:
        """How far each measurement may be from the stated one, in its unit.

        Args:
            factor: ε.
        """
        if self.weights is None:
            raise AssertionError("an unweighted ball has no errors of its own")
        width = self.inputs.shape[1]
        features = self.features or tuple(Feature(f"x{j}", "", 0.0, 1.0) for j in range(width))
        return error_words(self.inputs, self.weights, features, factor)

    def describe_choice(self) -> str:
        """Which inputs these are and how they were chosen, as the certificate's maker states."""
        match self.chosen:
            case "first" if len(self) == self.available:
                return f"all {len(self):,} of {self.source}"
            case "first":
                return f"the first {len(self):,}{self._of} of {self.source}, as they come"
            case "random":
                return f"{len(self):,}{self._of} of {self.source}, drawn at random with seed {self.seed}"
            case "correct":
                return f"of {self.source}, selected because the mean model classifies them correctly"
            case _:
                return f"of {self.source}, as given"

    @property
    def _of(self) -> str:
        return "" if self.available is None else f" of {self.available:,}"


def number(value: float) -> str:
    """A number to the last digit: a radius that is rounded up would say more than is proven.

    Args:
        value: any finite number.

    >>> number(0.001), number(1.0)
    ('0.001', '1')
    """
    return repr(value).removesuffix(".0")


def inputs_digest(inputs: Array, labels: Array) -> str:
    """The digest that names inputs and their labels.

    Args:
        inputs: float64 (P, p).
        labels: int64 (P).
    """
    return digest({}, {"inputs": inputs, "labels": labels})


def read_subject(entry: Any, arrays: dict[str, Array], properties: Properties) -> Subject | None:
    """The subject of a claim, if it has one and the properties are what it says.

    Args:
        entry: what the claim's JSON says of it; None for no subject.
        arrays: all tensors of the file.
        properties: the properties of the claim.
    """
    own = {name: arrays.get(PREFIX + name) for name in TENSORS}
    if entry is None:
        stray = [PREFIX + name for name, tensor in own.items() if tensor is not None]
        require(not stray, f"tensors {quoted(stray)} without a subject")
        return None
    require(isinstance(entry, dict), f"the subject is {quoted(entry)}, not a JSON object")
    weighted = entry.get("norm") == WEIGHTED
    more = {"features"} if weighted else set()
    require_fields(entry, {"type", "norm", "domain", "margin", "inputs", *more}, "the subject")
    require(entry["type"] == "robustness", f"a subject of type {quoted(entry['type'])}, not robustness")
    require(entry["norm"] in (LINF, WEIGHTED), f"the norm {quoted(entry['norm'])}, not {LINF} or {WEIGHTED}")
    domain = _domain(entry["domain"])
    require(weighted == (own["weights"] is not None), f"weights of the norm {entry['norm']}")
    origin = entry["inputs"]
    require_fields(origin, {"source", "chosen", "available", "seed"}, "the inputs of the subject")
    require(origin["chosen"] in CHOICES, f"inputs chosen by {quoted(origin['chosen'])}")
    count, width = properties.lower.shape
    subject = Subject(
        shaped("subject.inputs", own["inputs"], np.float64, count, width),
        shaped("subject.labels", own["labels"], np.int64, count),
        shaped("subject.indices", own["indices"], np.int64, count),
        shaped("subject.radius", own["radius"], np.float64, count),
        entry["norm"],
        finite(entry["margin"], "the margin"),
        domain,
        plain_name(origin["source"], "the source of the inputs"),
        origin["chosen"],
        _count(origin["available"], "the number of available inputs"),
        _count(origin["seed"], "the seed"),
        shaped("subject.weights", own["weights"], np.float64, count, width) if weighted else None,
        read_features(entry["features"], width) if weighted and entry["features"] is not None else None,
    )
    _require_inside(subject)
    require(bool((subject.radius >= 0).all()), "a radius below 0")
    require(bool((subject.indices >= UNKNOWN).all()), "an index below −1")
    reach = outward(subject.radius[:, None], subject.weights)
    require_regions(properties, subject.inputs, reach, domain)
    _require_labels_win(subject, properties)
    return subject


def _domain(entry: Any) -> tuple[float, float] | None:
    if entry is None:
        return None
    require(isinstance(entry, list) and len(entry) == 2, "domain: two numbers are needed, or null")
    low, high = (finite(end, "an end of the domain") for end in entry)
    return low, high


def _require_inside(subject: Subject) -> None:
    """Inputs lie in the domain: cut to it, a ball would be empty, and anything is true of nothing."""
    if subject.domain is not None:
        low, high = subject.domain
        inside = (subject.inputs >= low) & (subject.inputs <= high)
        require(bool(inside.all()), f"an input outside the domain [{low}, {high}]")
    if subject.weights is not None:
        require(bool((subject.weights >= 0).all()), "a weight below 0")


def _count(value: Any, what: str) -> int | None:
    require(value is None or (type(value) is int and 0 <= value < 2**64), f"{what} is {quoted(value)}")
    return value if value is None else int(value)


def _require_labels_win(subject: Subject, properties: Properties) -> None:
    """C_p has the rows e_c − e_r for all classes r ≠ c, and d_p is −margin."""
    classes = properties.C.shape[2]
    inside = (subject.labels >= 0) & (subject.labels < classes)
    require(bool(inside.all()), f"a label outside 0 … {classes - 1}")
    unit = np.eye(classes)
    for p, label in enumerate(subject.labels):
        wanted = unit[label] - np.delete(unit, label, axis=0)
        rows = {row.tobytes() for row in properties.C[p] + 0.0}
        require(
            rows == {row.tobytes() for row in wanted + 0.0},
            f"the constraints of property {p} do not say that label {label} wins",
        )
    fits = bool((properties.d == -subject.margin).all())
    require(fits, f"a constraint does not ask for the margin of {subject.margin}")
