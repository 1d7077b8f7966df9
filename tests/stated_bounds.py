"""Bounds to conclude from: inputs that are described as a certificate's subject describes them."""

from dataclasses import dataclass
from typing import Any

from fedcert_check.conclusions import Bounds

CHOICES = {
    "first": "the first {count:,} of 10,000 of mnist, as they come",
    "random": "{count:,} of 10,000 of mnist, drawn at random with seed 0",
    "correct": "of mnist, selected because the mean model classifies them correctly",
    "given": "of clinic, as given",
}


@dataclass(frozen=True)
class Inputs:
    """What `fedcert_check.subject.Subject` says, without the inputs themselves."""

    count: int
    chosen: str = "first"
    norm: str = "linf"
    common_radius: float | None = 0.001
    margin: float = 0.0
    domain: tuple[float, float] = (0.0, 1.0)
    labelled: bool = True
    boxed: bool = False

    @property
    def noun(self) -> str:
        return "inputs"

    def __len__(self) -> int:
        return self.count

    def describe_ball(self, in_full: bool = False) -> str:
        return f"l-infinity ball of radius {self.common_radius!r}"

    def describe_choice(self) -> str:
        return CHOICES[self.chosen].format(count=self.count)


def make_bounds(lower: Any, upper: Any = None, **others: Any) -> Bounds:
    """Bounds of the first inputs of MNIST under FedAvg, unless told otherwise."""
    about = {name: others.pop(name) for name in ("chosen", "common_radius", "margin") if name in others}
    fixed = tuple(map(float, lower))
    most = None if upper is None else tuple(map(float, upper))
    return Bounds(Inputs(len(fixed), **about), "fedavg", fixed, most, **others)
