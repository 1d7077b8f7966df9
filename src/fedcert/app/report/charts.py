"""Charts against the radius as data: places in per cent of the plot, which a page draws in any width.

Lines are steps, since that is what is proven: a lower bound at a radius holds at every smaller one, and an
upper bound at every larger one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from fedcert.app.report.bounds import Bounds, stated_name
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.words import noun, radius_down, radius_name
from fedcert_check.confidence.level import confidence_words

MIN_GAP = 11.0  # between the labels of two ticks, in per cent of the width
MAX_RANGE = 1e6  # of the axis: quotient of the largest radius and that at which the axis turns
Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """The horizontal axis: linear up to about `unit`, logarithmic beyond it.

    Attributes:
        most: the largest radius.
        unit: the radius at which the axis turns.
    """

    most: float
    unit: float

    @classmethod
    def over(cls, radii: Sequence[float], unit: float | None = None) -> "Axis":
        """An axis on which some radii, and 0, are told apart.

        Args:
            radii: what is shown.
            unit: the radius at which the axis turns; the smallest one above 0 where None.
        """
        known = [radius for radius in radii if radius > 0]
        most = max(known, default=1.0)
        turn = min(known, default=1.0) if unit is None else unit
        return cls(most, max(turn, most / MAX_RANGE))

    def place(self, radius: float) -> float:
        """Where a radius is, from 0 to 100."""
        return round(100 * math.log1p(radius / self.unit) / math.log1p(self.most / self.unit), 3)

    def ticks(self, radii: Sequence[float]) -> list[tuple[float, str]]:
        """Places and labels of 0 and of those radii whose labels do not touch; the largest always.

        Args:
            radii: what deserves a label.
        """
        chosen: list[float] = []
        for radius in sorted({0.0, *radii}, key=lambda radius: (radius not in (0.0, self.most), -radius)):
            if all(abs(self.place(radius) - self.place(other)) >= MIN_GAP for other in chosen):
                chosen.append(radius)
        return [(self.place(radius), f"{radius:.3g}") for radius in sorted(chosen)]


@dataclass(frozen=True)
class Dot:
    """A point with a name.

    Attributes:
        kind: what it shows, which decides how it looks.
        x: from 0 at the left to 100 at the right.
        y: from 0 at the top to 100 at the bottom.
        text: what it says, in words.
        to: the y of the other end, for an interval; None for a point.
    """

    kind: str
    x: float
    y: float
    text: str
    to: float | None = None


@dataclass(frozen=True)
class Line:
    """A line through points.

    Attributes:
        kind: what it shows, which decides how it looks.
        points: x and y of each, in the units of `Dot`.
        name: for the legend.
    """

    kind: str
    points: Sequence[Point]
    name: str = ""

    @property
    def path(self) -> str:
        """The line in the language of SVG."""
        return "M" + "L".join(f"{x:g} {y:g}" for x, y in self.points)


@dataclass(frozen=True)
class Chart:
    """A chart of shares against the radius.

    Attributes:
        alternative: what it shows, in words, for readers who cannot see it.
        ticks: places and labels of the horizontal axis.
        lines: in the order in which they are drawn; a line of the kind `band` is filled.
        dots: single points and intervals.
    """

    alternative: str
    ticks: Sequence[tuple[float, str]]
    lines: Sequence[Line]
    dots: Sequence[Dot]

    @property
    def kinds(self) -> set[str]:
        """What there is to be explained in a legend."""
        return {line.kind for line in self.lines} | {dot.kind for dot in self.dots}


def accuracy_chart(run: FinishedRun) -> Chart | None:
    """Certified accuracy against the radius: L, U, survival, and accuracy at radius 0; None without claims.

    Args:
        run: with claims about the deployed model at some radius at least.
    """
    found = [(row["epsilon"], row) for r in sorted(run.radii) if (row := run.strongest_at(r)) is not None]
    if not found:
        return None
    axis = Axis.over([radius for radius, _ in found])
    proven = [(axis.place(radius), row["lower"], row["upper"]) for radius, row in found]
    shares = {radius: run.estimate("attack-survival", radius).get(run.config["rule"]) for radius, _ in found}
    survival = [(axis.place(r), height(share)) for r, share in shares.items() if share is not None]
    lower = lower_steps([(x, least) for x, least, _ in proven])
    upper = upper_steps([(x, 1.0 if most is None else most) for x, _, most in proven])
    words = [
        f"{radius_name(run.summary)} {radius:g}: {Bounds.of(row, {}, stated_name(row)).text}"
        for radius, row in found
    ]
    accuracy = run.summary["inputs"]["accuracy"]
    dots = [
        *(Dot("proven", x, height(least), text, height(1.0 if most is None else most))
          for (x, least, most), text in zip(proven, words, strict=True)),
        *(Dot("survival", x, y, f"survival under attack (estimate): {100 - y:.2f} %") for x, y in survival),
        *_confidence(run, axis),
        *([] if accuracy is None else [
            Dot("accuracy", 0.0, height(accuracy), f"accuracy of the mean model: {100 * accuracy:.1f} %")]),
    ]  # fmt: skip
    lines = [
        Line("band", [*lower[1:], *reversed(upper)]),
        *([Line("upper", upper)] if any(row["upper"] is not None for _, row in found) else []),
        Line("lower", lower),
        *([Line("survival", survival)] if survival else []),
    ]
    what = "accuracy" if noun(run.summary) == "inputs" else f"share of {noun(run.summary)}"
    words += [] if accuracy is None else [dots[-1].text]
    alternative = f"Certified {what} against the {radius_name(run.summary)}. {'; '.join(words)}."
    return Chart(alternative, axis.ticks([radius for radius, _ in found]), lines, dots)


def radius_chart(run: FinishedRun) -> Chart | None:
    """The share of inputs certified at each radius or a larger one, for each threshold; None without radii.

    Args:
        run: with the certified radius of each input.
    """
    rows = run.summary["radii"]
    if not rows:
        return None
    found = [sorted(entry["radii"][i] for entry in run.properties) for i in range(len(rows))]
    known = [radius for radii in found for radius in radii if radius > 0]
    axis = Axis.over(known, median(known) if known else None)
    lines, words = [], []
    for i, (row, radii) in enumerate(zip(rows, found, strict=True)):
        steps = lower_steps([
            (axis.place(radius), (len(radii) - k) / len(radii)) for k, radius in enumerate(radii)
        ])
        beyond = [(steps[-1][0], 100.0), (100.0, 100.0)]  # nothing is certified beyond the largest radius
        name = f"safe with probability ≥ {100 * row['threshold']:g} %"
        lines.append(Line(f"series-{i % 4}", [*steps, *beyond], name))
        words.append(f"{name}: mean radius {radius_down(row['mean'])}, median {radius_down(row['median'])}")
    ticks = axis.ticks([*_round_numbers(axis), axis.most])
    return Chart(f"Inputs certified at a radius or a larger one. {'; '.join(words)}.", ticks, lines, ())


def height(share: float) -> float:
    """Where a share is, from 100 at the bottom to 0 at the top."""
    return round(100 * (1 - share), 3)


def lower_steps(points: Sequence[Point]) -> list[Point]:
    """What lower bounds prove at every radius from 0 to the largest: each holds to the left of its radius.

    Args:
        points: place of the radius and bound, in ascending order.
    """
    places = [0.0, *(x for x, _ in points)]
    return [(x, height(y)) for left, (right, y) in zip(places, points, strict=False) for x in (left, right)]


def upper_steps(points: Sequence[Point]) -> list[Point]:
    """What upper bounds prove from the first radius to the largest: each holds to the right of its radius.

    Args:
        points: place of the radius and bound, in ascending order.
    """
    ends = [*(x for x, _ in points[1:]), points[-1][0]]
    return [(x, height(y)) for (left, y), right in zip(points, ends, strict=True) for x in (left, right)]


def _confidence(run: FinishedRun, axis: Axis) -> list[Dot]:
    return [
        Dot(
            "confidence",
            axis.place(row["epsilon"]),
            height(row["lower"]),
            f"confidence bound ({confidence_words(row['confidence'])}): {limits.text}",
            height(row["upper"]),
        )
        for row in run.summary["confidence"]
        for limits in [Bounds("", row["lower"], row["upper"], None)]
        if row["rule"] == run.config["rule"] and row["epsilon"] <= axis.most
    ]


def _round_numbers(axis: Axis) -> list[float]:
    """1, 2 and 5 times powers of ten on the axis."""
    last = math.floor(math.log10(axis.most))
    numbers = [float(f"{digit}e{power}") for power in range(last - 3, last + 1) for digit in (1, 2, 5)]
    return [number for number in numbers if number < axis.most]
