from dataclasses import replace

import pytest
import torch

from fedcert.certificate import Certificate, Claim, Estimate
from fedcert.federation.same_law import OncePerLaw, same_law
from fedcert.laws import DiagonalGaussian
from fedcert.rules import LinearRule


def law(loc: float = 1.0, scale: float = 0.5, error: float | None = 1e-16) -> DiagonalGaussian:
    mean = torch.full((3,), loc, dtype=torch.float64)
    return DiagonalGaussian(
        mean, torch.full_like(mean, scale), None if error is None else torch.full_like(mean, error), 1e-15
    )


def certificate() -> Certificate:
    return Certificate(Claim("direct", "fedavg", "box"), torch.tensor([0.5], dtype=torch.float64))


def estimate() -> Estimate:
    return Estimate("mc-ibp", "fedavg", torch.tensor([3]), 4)


@pytest.mark.parametrize("make", [certificate, estimate])
def test_a_rule_with_an_equal_law_gets_the_same_result_under_its_own_name(make) -> None:
    once, calls = OncePerLaw(), []
    first = once(law(), "fedavg", lambda: calls.append("fedavg") or make())()
    again = once(law(), "pog", lambda: calls.append("pog") or make())()
    assert calls == ["fedavg"]
    assert first == make()
    assert again == first.for_rule("pog") != first


def test_another_law_has_a_result_of_its_own() -> None:
    once, calls = OncePerLaw[Estimate](), []
    for loc in (1.0, 2.0, 1.0, 2.0):
        once(law(loc), "fedavg", lambda loc=loc: calls.append(loc) or estimate())()
    assert calls == [1.0, 2.0]


def test_no_work_is_done_before_it_is_asked_for() -> None:
    OncePerLaw[Estimate]()(law(), "fedavg", lambda: pytest.fail("not asked for"))


@pytest.mark.parametrize(
    "other",
    [
        law(loc=1 + 2**-52),
        law(scale=0.25),
        law(error=1e-15),
        law(error=None),
        replace(law(), scale_error=0.0),
    ],
)
def test_laws_that_differ_anywhere_are_not_the_same(other: DiagonalGaussian) -> None:
    assert same_law(law(), law())
    assert same_law(other, other)
    assert not same_law(law(), other)


@pytest.mark.parametrize("clients", [2, 3, 5, 7])
def test_equal_scales_give_both_rules_the_same_law(clients: int) -> None:
    generator = torch.Generator().manual_seed(clients)
    means = torch.randn(clients, 1001, generator=generator, dtype=torch.float64)
    laws = [DiagonalGaussian(mean, torch.full_like(mean, 1e-5)) for mean in means]
    fedavg, pog = LinearRule.fedavg([1] * clients), LinearRule.product_of_gaussians(laws)
    assert same_law(fedavg.pushforward(laws), pog.pushforward(laws))
