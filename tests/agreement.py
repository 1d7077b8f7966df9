"""One random federation for two implementations, and what it means that they agree."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from federated_problems import Federated, make_federated
from flint import arb
from saved_certificates import as_document
from torch import Tensor

from fedcert.families.projected.bound import Split, Violation, analysis
from fedcert.families.projected.centre import Known
from fedcert.families.projected.chain import Federation
from fedcert.families.projected.choices import chosen_violation
from fedcert.families.projected.constraint_tails import TailChoices
from fedcert.families.projected.split import uniform_split
from fedcert.families.projected.spread import Spread
from fedcert.families.projected.transported import client_layers
from fedcert.laws.diagonal_affine import DiagonalAffine
from fedcert.model.properties import Properties
from fedcert_check.projected import region
from fedcert_check.projected.any_layer import Layer
from fedcert_check.projected.constraint_tails import TailChoice
from fedcert_check.projected.exact import Choices, Region
from fedcert_check.projected.laws import deployed, shares

CLOSE = 1e-8
START = (3e-5, 1e-7, 1e-7)


@dataclass(frozen=True)
class Both:
    """A problem as the checker sees it and as the fast path does, whose centre is exactly the middle.

    Attributes:
        problem: the federation.
        properties: one property.
        federation: the fast path's layers.
        layers: the checker's.
        clients: the checker's shares of the noise.
        region: the checker's property.
        reach: of lines that may be exceeded.
    """

    problem: Federated
    properties: Properties
    federation: Federation
    layers: Sequence[Layer]
    clients: list[Sequence[Layer]]
    region: Region
    reach: float = 0.0

    @property
    def fast_layers(self) -> list[DiagonalAffine]:
        return list(self.federation.deployed)

    @property
    def radius(self) -> Tensor:
        return (self.properties.regions.upper - self.properties.regions.lower) / 2

    @property
    def u(self) -> Tensor:
        return torch.tensor([5.0], dtype=torch.float64)

    @property
    def split(self) -> Split:
        return uniform_split(self.fast_layers, self.properties, START, self.reach)

    @cached_property
    def found(self) -> tuple[Violation, tuple[Known, TailChoices] | None]:
        return analysis(self.fast_layers, self.properties, self.split)

    @property
    def spreads(self) -> tuple[Spread, ...]:
        return () if self.known is None else self.known.spreads

    @property
    def known(self) -> Known | None:
        _, chosen = self.found
        return None if chosen is None else chosen[0]

    def unit(self, place: int) -> Tensor:
        return torch.eye(self.layers[place].outputs, dtype=torch.float64).unsqueeze(0)

    def choices(self) -> Choices:
        """The fast path's choices as the checker reads them."""
        _, chosen = chosen_violation(self.fast_layers, self.properties, self.split)
        mine = {name: tensor[0].numpy() for name, tensor in chosen.items()}
        hidden = range(1, len(self.layers) - 1)
        return Choices(
            mine["ranges"],
            mine["movement"],
            mine["deviation"],
            [mine[f"sign.{k}"] for k in range(len(self.layers) - 1)],
            *(
                [mine[f"{name}.{k}"] for k in hidden]
                for name in ("below", "slope", "rate", "mean_rate", "excess_centre", "excess_rate")
            ),
            [
                TailChoice(*own)
                for own in zip(
                    *(mine.get(f"tail.{name}", np.zeros(2)).tolist() for name in TailChoice._fields),
                    strict=True,
                )
            ],
        )


def both(
    seed: int, depth: int, scale: float = 0.05, radius: float = 2.0**-7, sigmas: float = 2.0, clients: int = 2
) -> Both:
    """A federation of this depth, widths ≤ 5, two constraints."""
    made = make_federated(
        seed, (3, *[5 - k for k in range(depth - 1)], 2), scale, radius, clients, 2, linear=bool(seed % 2)
    )
    made = replace(made, centre=(made.centre * 256).round() / 256)
    properties = made.properties(made.offsets(sigmas))
    rule = getattr(made.rule, "linear", made.rule)
    laws = [law.components[0] for law in made.laws]
    document = as_document(made, properties)
    return Both(
        made,
        properties,
        client_layers(laws, rule, made.network, rule.pushforward(laws)),
        deployed(document).layers,
        [own.layers for own in shares(document)],
        region(document, 0),
    )


def upper_bound(mine: np.ndarray, theirs: Tensor) -> None:
    """The checker's upper bounds are below the fast path's, by a hair."""
    for ball, number in zip(mine, theirs.tolist(), strict=True):
        assert ball <= arb(number)
        assert ball >= arb(number) - CLOSE * abs(arb(number)) - arb(1e-100)


def lower_bound(mine: np.ndarray, theirs: Tensor, magnitude: float = 0.0) -> None:
    """The checker's lower bounds are above the fast path's, by a hair of their size or of what cancelled."""
    for ball, number in zip(mine, theirs.tolist(), strict=True):
        assert ball >= arb(number)
        assert ball <= arb(number) + CLOSE * (abs(arb(number)) + magnitude)
