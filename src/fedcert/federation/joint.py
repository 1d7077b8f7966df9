"""Samples of the deployed model from joint draws of the clients, whatever the rule and the laws."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.laws import Law
from fedcert.rules import AggregationRule, Pooling, StatedGaussian


@runtime_checkable
class Sampled(Protocol):
    """What estimates need of the deployed law."""

    @property
    def dimension(self) -> int:
        """n_w, the length of a parameter vector."""
        ...

    def sample(self, count: int, generator: torch.Generator) -> Float64[Tensor, "count n_w"]:
        """Draw independent parameter vectors."""
        ...


@dataclass(frozen=True)
class JointDraws:
    """The law of A(Θ_1, …, Θ_n), or under pooling of one client's draw, known by its samples alone.

    Attributes:
        laws: q_i, the clients' posteriors.
        rule: A, the deployed rule.
    """

    laws: Sequence[Law]
    rule: AggregationRule

    @property
    def dimension(self) -> int:
        """n_w, the length of a parameter vector."""
        return self.laws[0].dimension

    def sample(self, count: int, generator: torch.Generator) -> Float64[Tensor, "count n_w"]:
        """Draw independent parameter vectors of the deployed model.

        Args:
            count: how many.
            generator: the source of randomness.
        """
        if isinstance(self.rule, StatedGaussian):
            return self.rule.law.sample(count, generator)
        if not isinstance(self.rule, Pooling):
            return self.rule([law.sample(count, generator) for law in self.laws])
        loc = self.laws[0].loc
        samples = torch.empty(count, self.dimension, dtype=torch.float64, device=loc.device)
        chosen = self.rule.choose(count, generator)
        for i, law in enumerate(self.laws):
            mine = (chosen == i).to(loc.device)
            samples[mine] = law.sample(int(mine.sum()), generator)
        return samples
