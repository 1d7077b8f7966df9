"""Sums only: each client sends one summand in fixed point, and direct claims need nothing but the sums.

FedAvg with sizes n_i needs Σ n_i μ_i, Σ n_i² σ_i² and Σ n_i; Product-of-Gaussians Σ σ_i^-2 μ_i and Σ σ_i^-2.
Summands are integers, which secure aggregation adds modulo 2^64 without error. What rounding to integers did
is charged to the law of the sum (docs/soundness.md, section 13).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Int64
from torch import Tensor

from fedcert.errors import InvalidConfig, InvalidLaw, InvalidMessage, ShapeMismatch
from fedcert.families.cells import Cells
from fedcert.laws import DiagonalGaussian
from fedcert.laws.enclosed import EnclosedGaussian
from fedcert.numerics.rounding import above, gamma, rounding_error
from fedcert.rules import LinearRule
from fedcert.wire.message import Message

SummedRule = Literal["fedavg", "pog"]
MAX_INTEGER = 2**49
"""The largest absolute value of a summand: 4 roundings of it are worth less than 1/4."""
MAX_CLIENTS = 2**13
"""So many summands do not overflow 63 bits."""
MAX_SIZE = 2**53
"""The largest sum of sizes: a double still."""
MAX_BITS = 60
LEAST_SHARE = 8
"""The second sum is at least so many times the number of clients: its relative error is at most 1/8."""


@dataclass(frozen=True)
class FixedPoint:
    """How numbers become integers: x is round(x 2^bits).

    Attributes:
        first: bits of the fraction of n_i μ_i, or of σ_i^-2 μ_i.
        second: bits of the fraction of n_i² σ_i², or of σ_i^-2.
    """

    first: int
    second: int

    def __post_init__(self) -> None:
        if not (0 <= self.first <= MAX_BITS and 0 <= self.second <= MAX_BITS):
            raise InvalidConfig(f"fixed point: between 0 and {MAX_BITS} bits, not {self.first, self.second}")


DEFAULT_BITS: dict[SummedRule, FixedPoint] = {"fedavg": FixedPoint(32, 40), "pog": FixedPoint(24, 24)}


@dataclass(frozen=True)
class Summand:
    """What one client sends, or the sum of what several send: they are added number by number.

    Attributes:
        first: Σ round(n_i μ_i 2^f), or Σ round(σ_i^-2 μ_i 2^f).
        second: Σ round(n_i² σ_i² 2^g), or Σ round(σ_i^-2 2^g).
        size: Σ n_i; the number of clients under Product-of-Gaussians.
    """

    first: Int64[Tensor, "n_w"]
    second: Int64[Tensor, "n_w"]
    size: int

    def __add__(self, other: "Summand") -> "Summand":
        if len(self.first) != len(other.first):
            raise ShapeMismatch(f"summands of {len(self.first)} and {len(other.first)} parameters")
        return Summand(self.first + other.first, self.second + other.second, self.size + other.size)


def summand(
    law: DiagonalGaussian, rule: SummedRule, size: int = 1, bits: FixedPoint | None = None
) -> Summand:
    """What a client sends: integers within 1 of the exact summands in units of 2^-bits.

    At most 4 roundings are made before the last, each of relative error 2^-53, of numbers of at most 2^49
    units: little more than ¼ unit. The last is off by at most ½.

    Args:
        law: the client's posterior, exact and without fixed parameters.
        rule: what the sums are for.
        size: n_i, under FedAvg: the client's number of examples, or 1 for equal weights.
        bits: the fixed point, the same for all clients; the rule's default where None.

    Examples:
        >>> law = DiagonalGaussian(torch.full((1,), 0.5).double(), torch.full((1,), 0.25).double())
        >>> summand(law, "fedavg", 3, FixedPoint(4, 8)).first.tolist()
        [24]
    """
    if law.loc_error is not None or law.scale_error or not (law.scale > 0).all():
        raise InvalidLaw("a summand is made from a law that is exact and has no fixed parameters")
    if not 1 <= size <= MAX_INTEGER:
        raise InvalidMessage(f"examples: {size}")
    bits = bits or DEFAULT_BITS[rule]
    if rule == "fedavg":
        first, second = size * law.loc, (size * law.scale).square()
    else:
        if size != 1:
            raise InvalidConfig("Product-of-Gaussians weighs clients by their precisions, not by their sizes")
        second = 1 / law.scale.square()
        first = law.loc * second
    return Summand(_integers("first", first, bits.first), _integers("second", second, bits.second), size)


def _integers(what: str, values: Tensor, bits: int) -> Int64[Tensor, "n_w"]:
    scaled = values * 2.0**bits
    if not (scaled.abs() <= MAX_INTEGER).all():
        raise InvalidMessage(
            f"{what} summand: a value beyond {MAX_INTEGER / 2**bits:g}: use fewer than {bits} bits"
        )
    return scaled.round().to(torch.int64)


def law_of_sum(
    total: Summand, rule: SummedRule, clients: int, bits: FixedPoint | None = None
) -> EnclosedGaussian:
    """The law that the rule deploys, enclosed: its errors are those of n roundings to integers and our own.

    Args:
        total: the sum of all summands.
        rule: what the summands are for.
        clients: n, the number of summands.
        bits: the fixed point of the summands.
    """
    bits = bits or DEFAULT_BITS[rule]
    if not 1 <= clients <= MAX_CLIENTS or not clients <= total.size <= MAX_SIZE:
        raise InvalidMessage(f"a sum of {clients} clients and size {total.size}")
    most = clients * MAX_INTEGER
    large = (total.first > most) | (total.first < -most) | (total.second > most)  # |−2^63| is no integer here
    if large.any():
        raise InvalidMessage("a sum is larger than so many summands can be: a client lied, or it overflowed")
    if (total.second < LEAST_SHARE * clients).any():
        raise InvalidMessage(
            f"second sum: below {LEAST_SHARE} units a client: use more than {bits.second} bits"
        )
    share = above(clients / total.second.double(), 2)  # δ, of the second sum
    unit = clients * 2.0**-bits.first
    first, second = total.first.double() * 2.0**-bits.first, total.second.double() * 2.0**-bits.second
    if rule == "fedavg":
        loc, scale = first / total.size, second.sqrt() / total.size
        error = torch.full_like(loc, unit / total.size)
    else:
        loc, scale = first / second, 1 / second.sqrt()
        error = 2 * share * loc.abs() + 2 * unit / second
    loc_error = above(above(error, 6) + rounding_error(4, loc.abs()), 2)
    scale_error = above(share.max() + 2 * gamma(4), 2).item()
    return EnclosedGaussian(DiagonalGaussian(loc, scale, loc_error, scale_error))


def message_of_sum(
    summands: Sequence[Summand], rule: SummedRule, bits: FixedPoint | None = None
) -> tuple[Message, LinearRule]:
    """The sum as a message of one law, and the rule under which it is deployed: the law itself.

    Args:
        summands: one for each client.
        rule: what they are for.
        bits: their fixed point.
    """
    if not summands:
        raise InvalidMessage("no summands")
    total = summands[0]
    for own in summands[1:]:
        total = total + own
    law = law_of_sum(total, rule, len(summands), bits)
    name = f"sum-of-{len(summands)}-clients"
    identity = LinearRule.average(torch.ones(1, 1, dtype=torch.float64), rule)
    return Message(name, law, Cells.none(law.dimension), total.size), identity
