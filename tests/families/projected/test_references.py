"""What is particular to each reference; the chain that uses them is tested in test_chain.py."""

from fractions import Fraction

import pytest
import torch
from problems import noise_of, normal, uniform

from fedcert.families.projected.references import Conditional, Ranges, Reference, Static
from fedcert.families.projected.relaxation import Lines
from fedcert.families.projected.spread import Spread
from fedcert.laws.independent_noise import IndependentNoise
from fedcert.randomness import stream


def make_ranges(seed: int) -> Ranges:
    """A layer of five neurons, some below zero, some above, some on both sides."""
    generator = stream(seed, "references")
    lower = normal(generator, 1, 5)
    upper = lower + uniform(generator, 1, 5)
    none = torch.zeros(1, 5, dtype=torch.bool)
    spread = Spread.of(torch.zeros_like(lower), none, none)
    deviation = 0.1 + uniform(generator, 1, 5)
    return Ranges(
        lower,
        upper,
        (lower + upper) / 2,
        deviation,
        upper.abs(),
        spread,
        Lines.of(lower, upper),
        independent=True,
    )


@pytest.mark.parametrize("seed", range(8))
def test_a_static_reference_has_the_deviation_of_the_middle_of_the_range(seed: int) -> None:
    ranges, generator = make_ranges(seed), stream(seed, "noise")
    noise, bias = uniform(generator, 1, 2, 5), uniform(generator, 1, 2)
    found = Static().deviation(IndependentNoise(noise, bias), ranges, torch.ones(1).double())
    middle = (ranges.lower.clamp(min=0) + ranges.upper.clamp(min=0)) / 2
    for r in range(2):
        terms = zip(noise[0, r].tolist(), middle[0].tolist(), strict=True)
        square = sum((Fraction(n) * Fraction(c)) ** 2 for n, c in terms) + Fraction(bias[0, r].item()) ** 2
        assert square <= Fraction(found[0, r].item()) ** 2 <= square * Fraction(1 + 1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_a_static_reference_loses_what_the_whole_range_can_add(seed: int) -> None:
    ranges, generator = make_ranges(seed), stream(seed, "noise")
    noise, u = noise_of(uniform(generator, 1, 2, 5)), torch.full((1,), 3.0).double()
    radius = torch.zeros(1, 2).double()
    half = (ranges.upper.clamp(min=0) - ranges.lower.clamp(min=0)) / 2
    found = Static().lost(1, [], radius, [ranges], noise, u)
    least = noise.over(half, u)
    assert (found >= least).all()
    torch.testing.assert_close(found, least)


def test_a_conditional_deviation_is_an_upper_bound_at_the_mean() -> None:
    ranges, u = make_ranges(1), torch.full((1,), 2.0).double()
    noise, bias = torch.ones(1, 1, 5).double(), torch.ones(1, 1).double()
    found = Conditional().deviation(IndependentNoise(noise, bias), ranges, u)
    assert found.item() > (1 + ranges.mean.clamp(min=0).square().sum().item()) ** 0.5


@pytest.mark.parametrize("reference", [Conditional(), Static()])
def test_both_satisfy_the_protocol(reference: Reference) -> None:
    assert isinstance(reference, Reference)
