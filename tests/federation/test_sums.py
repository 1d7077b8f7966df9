"""Sums of summands against exact rational arithmetic."""

from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedcert import DiagonalGaussian, GaussianMixture
from fedcert.errors import FedcertError, InvalidConfig, InvalidLaw, InvalidMessage, ShapeMismatch
from fedcert.federation.sums import MAX_INTEGER, FixedPoint, Summand, law_of_sum, message_of_sum, summand
from fedcert.laws.enclosed import EnclosedGaussian

BITS = {"fedavg": FixedPoint(20, 30), "pog": FixedPoint(20, 20)}


def laws_of(numbers: list[tuple[float, float]]) -> list[DiagonalGaussian]:
    return [DiagonalGaussian(torch.tensor([m]).double(), torch.tensor([s]).double()) for m, s in numbers]


def exact_law(laws: list[DiagonalGaussian], rule: str, sizes: list[int]) -> tuple[Fraction, Fraction]:
    """Mean and variance of what the rule deploys."""
    moments = [(Fraction(law.loc.item()), Fraction(law.scale.item()) ** 2) for law in laws]
    if rule == "fedavg":
        whole = sum(sizes)
        mean = sum(n * m for n, (m, _) in zip(sizes, moments, strict=True)) / whole
        return mean, sum(n * n * v for n, (_, v) in zip(sizes, moments, strict=True)) / Fraction(whole) ** 2
    precision = sum(1 / v for _, v in moments)
    return sum(m / v for m, v in moments) / precision, 1 / precision


def encloses(law: EnclosedGaussian, mean: Fraction, variance: Fraction, charged: bool = True) -> bool:
    own = law.gaussian
    loc, scale = Fraction(own.loc.item()), Fraction(own.scale.item())
    error = Fraction(own.loc_error.item()) if charged else abs(loc) * Fraction(2) ** -48
    relative = Fraction(own.scale_error) if charged else Fraction(2) ** -48
    inside = ((1 - relative) * scale) ** 2 <= variance <= ((1 + relative) * scale) ** 2
    return abs(mean - loc) <= error and inside


CLIENTS = st.lists(
    st.tuples(st.floats(-30, 30), st.floats(0.02, 4), st.integers(1, 50)), min_size=1, max_size=5
)


@given(CLIENTS, st.sampled_from(["fedavg", "pog"]))
def test_the_exact_law_is_enclosed(clients: list[tuple[float, float, int]], rule: str) -> None:
    laws = laws_of([(m, s) for m, s, _ in clients])
    sizes = [n if rule == "fedavg" else 1 for _, _, n in clients]
    sent = [summand(law, rule, n, BITS[rule]) for law, n in zip(laws, sizes, strict=True)]
    message, identity = message_of_sum(sent, rule, BITS[rule])
    assert (message.client, message.examples) == (f"sum-of-{len(laws)}-clients", sum(sizes))
    assert (identity.name, identity.weights.tolist()) == (rule, [[1.0]])
    assert encloses(message.law, *exact_law(laws, rule, sizes))


@pytest.mark.parametrize("rule", ["fedavg", "pog"])
def test_without_the_charge_for_quantisation_it_is_not(rule: str) -> None:
    laws = laws_of([(1 / 3, 0.1), (2 / 7, 0.3), (-5 / 9, 0.7)])
    sent = [summand(law, rule, 1, BITS[rule]) for law in laws]
    law = message_of_sum(sent, rule, BITS[rule])[0].law
    assert encloses(law, *exact_law(laws, rule, [1, 1, 1]))
    assert not encloses(law, *exact_law(laws, rule, [1, 1, 1]), charged=False)


def test_masks_that_cancel_modulo_two_to_the_64_leave_the_sums() -> None:
    """What secure aggregation does: the server sees masked summands, and their sum."""
    generator = torch.Generator().manual_seed(0)
    sent = [summand(law, "pog") for law in laws_of([(0.3, 0.1), (-0.2, 0.3), (0.9, 0.7)])]
    whole = sent[0] + sent[1] + sent[2]
    masked = list(sent)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        first, second = torch.randint(-(2**63), 2**63 - 1, (2, 1), generator=generator)
        masked[i] = masked[i] + Summand(first, second, 0)
        masked[j] = masked[j] + Summand(-first, -second, 0)
    assert all(own.first.abs() > MAX_INTEGER for own in masked)
    found = masked[0] + masked[1] + masked[2]
    assert torch.equal(found.first, whole.first)
    assert torch.equal(found.second, whole.second)


def one(value: int) -> torch.Tensor:
    return torch.tensor([value])


@pytest.mark.parametrize(
    ("total", "clients", "complaint"),
    [
        (Summand(one(0), one(2**20), 3), 0, "0 clients"),
        (Summand(one(0), one(2**20), 1), 2, "size 1"),
        (Summand(one(0), one(2**20), 2**54), 2, "size"),
        (Summand(one(3 * MAX_INTEGER), one(2**20), 2), 2, "larger than"),
        (Summand(one(-(2**63)), one(2**20), 2), 2, "larger than"),
        (Summand(one(0), one(3 * MAX_INTEGER), 2), 2, "larger than"),
        (Summand(one(0), one(-(2**30)), 2), 2, "second sum"),
        (Summand(one(0), one(15), 2), 2, "second sum"),
    ],
)
@pytest.mark.parametrize("rule", ["fedavg", "pog"])
def test_a_sum_that_cannot_be_is_refused(total: Summand, clients: int, complaint: str, rule: str) -> None:
    with pytest.raises(InvalidMessage, match=complaint):
        law_of_sum(total, rule, clients)


def test_what_cannot_be_summed_is_refused() -> None:
    (law,) = laws_of([(1.0, 0.1)])
    (fixed,) = laws_of([(1.0, 0.0)])
    for call, error in (
        (lambda: summand(fixed, "fedavg"), InvalidLaw),
        (lambda: summand(law, "fedavg", 0), InvalidMessage),
        (lambda: summand(law, "pog", 3), InvalidConfig),
        (lambda: summand(law, "fedavg", 1, FixedPoint(60, 10)), InvalidMessage),
        (lambda: FixedPoint(61, 3), InvalidConfig),
        (lambda: message_of_sum([], "pog"), InvalidMessage),
        (lambda: summand(law, "pog") + Summand(one(0).repeat(2), one(0).repeat(2), 1), ShapeMismatch),
    ):
        with pytest.raises(error):
            call()


def test_a_mixture_has_no_summand() -> None:
    (law,) = laws_of([(1.0, 0.1)])
    with pytest.raises((FedcertError, TypeError, AttributeError)):
        summand(GaussianMixture((law, law), torch.ones(2).double()), "fedavg")
