"""Rules that deploy the same law have the same direct certificates and estimates: they are made once."""

from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

import torch

from fedcert.certificate import Certificate, Estimate
from fedcert.laws import DenseGaussian, DiagonalLaw, GaussianLaw

T = TypeVar("T", Certificate, Estimate)


class OncePerLaw(Generic[T]):
    """Remembers one result a law, and gives it to every rule that deploys that law, under the rule's name.

    FedAvg and Product-of-Gaussians deploy the same law where all scales are equal.
    """

    def __init__(self) -> None:
        self.made: list[tuple[GaussianLaw, T]] = []

    def __call__(self, law: GaussianLaw, rule: str, make: Callable[[], T]) -> Callable[[], T]:
        """The work for a rule, which is `make` unless an equal law has had it done.

        Args:
            law: what the rule deploys; all that the result depends on, but for names.
            rule: its name.
            make: the work.
        """
        return partial(self._find_or_make, law, rule, make)

    def _find_or_make(self, law: GaussianLaw, rule: str, make: Callable[[], T]) -> T:
        for known, result in self.made:
            if same_law(known, law):
                return result.for_rule(rule)
        self.made.append((law, make()))
        return self.made[-1][1]


def same_law(one: GaussianLaw, other: GaussianLaw) -> bool:
    """Whether two laws are equal to the last bit, with the errors that they carry."""
    if isinstance(one, DiagonalLaw) and isinstance(other, DiagonalLaw):
        pairs = [(one.loc, other.loc), (one.scale, other.scale), (one.loc_error, other.loc_error)]
        same = one.scale_error == other.scale_error
    elif isinstance(one, DenseGaussian) and isinstance(other, DenseGaussian):
        pairs = [(one.loc, other.loc), (one.factor, other.factor), (one.loc_error, other.loc_error)]
        same = one.factor_error == other.factor_error
    else:
        return one is other
    return same and all(torch.equal(a, b) if a is not None and b is not None else a is b for a, b in pairs)
