"""What properties mean in words: which regions, and what is asked of the network on them.

Properties ask that the label of an input wins on a whole ball around it, or on a whole box; or that
constraints of the maker's own hold there. What a certificate says of them is held against the properties
themselves (`subject_file.py`). Where the inputs come from and how they were chosen cannot be seen in a file:
that is what the certificate's maker states.
"""

from dataclasses import dataclass
from functools import cached_property

from fedcert_check.digest import digest
from fedcert_check.errors import InvalidCertificate
from fedcert_check.features import Feature, error_words
from fedcert_check.validation import Array

PREFIX = "subject."
TENSORS = ("inputs", "labels", "indices", "radius", "weights", "upper")
LINF, WEIGHTED, BOX = "linf", "weighted-linf", "box"
NORMS = (LINF, WEIGHTED, BOX)
LABELS, CONSTRAINTS = "robustness", "constraints"
"""The types of subjects: labels win, or constraints of the maker's own hold."""
CHOICES = ("first", "random", "correct", "given")
UNKNOWN = -1
"""The index of an input that does not come from a test set."""


@dataclass(frozen=True)
class Subject:
    """What is asked at all x' of a region: f_c(x') − f_r(x') ≥ margin for all r ≠ c, or C f(x') + d ≥ 0.

    The ball of radius ε around x is {x': |x'_j − x_j| ≤ ε w_j for all j}; all w_j are 1 for the norm "linf".
    For the norm "box" the region is {x': ℓ_j − ε ≤ x'_j ≤ u_j + ε for all j}. Regions are cut to the domain.

    Attributes:
        inputs: the centre of each ball, of shape (P, p); for the norm "box", ℓ.
        labels: c of each input; None where constraints of the maker's own are asked for.
        indices: the position of each input in the test set; −1 where unknown.
        radius: of each ball, in the norm.
        norm: "linf", "weighted-linf" or "box".
        margin: by which the label must win; 0 without labels.
        domain: the smallest and largest value of an input coordinate, to which balls are cut; None for no
            limits.
        source: the name of the data set, as stated by the certificate's maker.
        chosen: how the inputs were chosen from it, as stated: one of `CHOICES`.
        available: the number of inputs that they were chosen from, as stated; None where unknown.
        seed: of a random choice, as stated; None where there was none.
        weights: w, of shape (P, p); None for the norm "linf".
        features: which measurement each coordinate is, as stated; None where that is not said.
        upper: u for the norm "box", of shape (P, p); None for balls.
        constraints: C and d where there are no labels; None where labels win.
    """

    inputs: Array
    labels: Array | None
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
    upper: Array | None = None
    constraints: tuple[Array, Array] | None = None

    def __len__(self) -> int:
        return len(self.radius)

    @property
    def labelled(self) -> bool:
        """Whether labels win; otherwise constraints of the maker's own are asked for."""
        return self.labels is not None

    @property
    def boxed(self) -> bool:
        """Whether regions are boxes of the maker's own, not balls around inputs."""
        return self.upper is not None

    @property
    def noun(self) -> str:
        """What is counted: inputs, boxes with a label each, or properties."""
        if not self.labelled:
            return "properties"
        return "boxes" if self.boxed else "inputs"

    @property
    def boxes(self) -> tuple[Array, Array]:
        """ℓ and u: what each region reaches beyond by its radius."""
        return self.inputs, self.inputs if self.upper is None else self.upper

    @property
    def digest(self) -> str:
        """SHA-256 of what is asked, whatever the radius, which names it: inputs and labels, if there are."""
        named = {"inputs": self.inputs}
        named |= {} if self.labels is None else {"labels": self.labels}
        named |= {} if self.upper is None else {"upper": self.upper}
        named |= {} if self.constraints is None else dict(zip(("C", "d"), self.constraints, strict=True))
        return digest({}, named)

    @property
    def common_radius(self) -> float | None:
        """The radius of all balls; None where they differ."""
        return float(self.radius[0]) if (self.radius == self.radius[0]).all() else None

    def describe(self) -> str:
        """What the properties say, in words."""
        by = f" by a margin of {number(self.margin)}" if self.margin else ""
        within = "" if self.domain is None else " within [{}, {}]".format(*map(number, self.domain))
        region = f"{self._ball}{within}"
        match self.noun:
            case "inputs":
                said = f"the label wins{by} on the whole {region} around {len(self):,} inputs"
            case "boxes":
                said = f"the label wins{by} on the whole {region} of each of {len(self):,} boxes"
            case _:
                around = "" if self.boxed else " around its input"
                said = (
                    f"the constraints C f(x) + d ≥ 0 of each of {len(self):,} properties hold on the whole"
                    f" {region}{around}"
                )
        return f"{said} ({self.describe_choice()}, digest {self.digest[:12]})"

    def describe_one(self) -> str:
        """What is asked of each input, box or property, in words."""
        by = f" by a margin of {number(self.margin)}" if self.margin else ""
        within = "" if self.domain is None else " within [{}, {}]".format(*map(number, self.domain))
        around = "" if self.boxed else f" around {'the' if self.labelled else 'its'} input"
        asked = f"the label wins{by}" if self.labelled else "the constraints C f(x) + d ≥ 0 hold"
        return f"{asked} on the whole {self._ball}{within}{around}"

    @property
    def contents(self) -> str:
        """What the digest covers, in words."""
        what = "boxes" if self.boxed else "inputs"
        return f"{what} and labels" if self.labelled else f"{what} and constraints"

    @property
    def _ball(self) -> str:
        if self.boxed:
            least, most = (number(float(end)) for end in (self.radius.min(), self.radius.max()))
            by = least if self.common_radius is not None else f"{least} to {most}, one for each,"
            return "stated box" if self.common_radius == 0 else f"stated box, widened by {by} on every side,"
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
        if self.boxed:
            return "stated box" if radius == 0 else f"stated box, widened by {radius!r} on every side"
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


def singular(noun: str) -> str:
    """One of several.

    >>> singular("inputs"), singular("boxes"), singular("properties")
    ('input', 'box', 'property')
    """
    return {"boxes": "box", "properties": "property"}.get(noun, noun.removesuffix("s"))
