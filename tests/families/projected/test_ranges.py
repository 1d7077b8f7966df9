"""Ranges of neurons: as several moments of both sides would give them, and paid for where a sign is kept."""

import pytest
import torch
from problems import normal, uniform
from torch import Tensor

from fedcert.families.projected.centre import LinearForm
from fedcert.families.projected.chernoff import own_moments, quantile_rates, rough_mean
from fedcert.families.projected.ranges import NEVER, excess_of, ranges
from fedcert.randomness import stream


def make_form(seed: int, neurons: int = 12, inputs: int = 9) -> tuple[LinearForm, Tensor]:
    """Neurons from far below 0 to far above, and their negatives, with bounds of their own noise."""
    generator = stream(seed, "ranges")
    A, mean = normal(generator, 2, neurons, inputs), normal(generator, 2, 1, inputs)
    noise, bias = 0.1 * uniform(generator, 2, neurons, inputs), 0.1 + uniform(generator, 2, neurons)
    constant = torch.linspace(-60.0, 60.0, neurons, dtype=torch.float64).expand(2, -1)
    sides = [torch.cat([own, sign * own], dim=1) for own, sign in ((constant, -1), (A, -1), (noise, 1))]
    scale = 0.1 + uniform(generator, 2, inputs)
    form = LinearForm(
        sides[0] - 0.1, sides[1], mean.expand(-1, 2 * neurons, -1), sides[2], bias.repeat(1, 2), (), scale
    )
    return form, 2 + uniform(generator, 2, 2 * neurons)


@pytest.mark.parametrize("seed", range(3))
def test_ranges_are_those_of_all_moments_of_both_sides(seed: int) -> None:
    form, own = make_form(seed)
    most = torch.tensor([1e-4, 1e-9], dtype=torch.float64)
    found, every = ranges(form, own, most), own_moments(form, own, quantile_rates(most))
    (low, minus_high), (below, over) = (
        every.quantile(most)[0].chunk(2, -1),
        every.probability()[0].chunk(2, -1),
    )
    unknown = ~(found.active | found.inactive)
    assert unknown.any()
    assert found.active.any()
    assert found.inactive.any()
    assert torch.equal(found.active, below <= most.unsqueeze(-1))
    assert torch.equal(found.inactive, over <= most.unsqueeze(-1))
    assert torch.allclose(found.lower[unknown], low[unknown], rtol=1e-12)
    assert torch.allclose(found.upper[unknown], -minus_high[unknown], rtol=1e-12)
    assert (found.lower[found.active] == 0).all()
    assert (found.upper[found.inactive] == 0).all()
    best = torch.where(found.active, below, torch.where(found.inactive, over, 2 * most.unsqueeze(-1)))
    assert (found.price <= best + NEVER).all()


def test_the_rate_of_a_settled_sign_gives_its_price_again() -> None:
    form, own = make_form(0)
    found = ranges(form, own, torch.tensor([1e-4, 1e-4], dtype=torch.float64))
    about = torch.ones_like(own) * found.rate
    unit = own_moments(form, own, torch.ones(1, 1, 1, dtype=torch.float64)).rate
    again = own_moments(form, own, (about / unit[0]).unsqueeze(0)).probability()[0].chunk(2, dim=-1)
    assert torch.allclose(found.price[found.active], again[0][found.active], rtol=1e-6, atol=0)
    assert torch.allclose(found.price[found.inactive], again[1][found.inactive], rtol=1e-6, atol=0)


def test_neurons_are_beyond_thresholds_only_where_a_line_may_be_exceeded() -> None:
    form, own = make_form(1)
    found = ranges(form, own, torch.tensor([1e-4, 1e-4], dtype=torch.float64))
    excess = excess_of(form, own, found, torch.tensor([True, False]))
    unknown = ~(found.active | found.inactive).repeat(1, 2)
    assert torch.equal(excess.exponent[0].isfinite(), unknown[0])
    assert excess.exponent[1].isinf().all()
    assert torch.allclose(excess.centre[0][unknown[0]], rough_mean(form)[0][unknown[0]])
