"""Inversions of many rows at once against those of one row, and the Faddeeva function against a library."""

import pytest
import torch
from problems import normal, uniform
from torch import Tensor

from fedcert.families.projected.inversion import Row, enough_terms, lower_tail
from fedcert.families.projected.inversions import Rows, lower_tails
from fedcert.randomness import stream


def make_rows(seed: int, count: int, neurons: int, later: int) -> tuple[Rows, Tensor, Tensor]:
    """Rows of all kinds: some have a fixed bias, some are out of reach."""
    generator = stream(seed, "rows")
    lowest = uniform(generator, count, later)
    rows = Rows(
        2 * normal(generator, count),
        normal(generator, count, neurons),
        0.3 * uniform(generator, count, neurons),
        (uniform(generator, count) - 0.2).clamp(min=0.0),
        lowest,
        lowest + uniform(generator, count, later),
        2 * normal(generator, count, neurons),
        0.1 + uniform(generator, count, neurons),
    )
    spread = 0.5 + uniform(generator, count) + neurons**0.5
    return rows, rows.constant + rows.coefficient.clamp(min=0.0).sum(-1), spread


def single(rows: Rows, place: int) -> Row:
    later = zip(rows.lowest[place].tolist(), rows.highest[place].tolist(), strict=True)
    return Row(
        rows.constant[place].item(),
        rows.coefficient[place].numpy(),
        rows.noise[place].numpy(),
        rows.bias_noise[place].item(),
        tuple(later),
        rows.mean[place].numpy(),
        rows.deviation[place].numpy(),
    )


@pytest.mark.parametrize(("neurons", "later"), [(1, 0), (6, 0), (20, 1), (8, 2)])
def test_rows_together_have_the_tails_and_terms_of_each_alone(neurons: int, later: int) -> None:
    rows, centre, spread = make_rows(neurons, 25, neurons, later)
    tails, terms = lower_tails(rows, centre, spread)
    for place in range(25):
        about = centre[place].item(), spread[place].item()
        assert terms[place] == enough_terms(single(rows, place), *about)
        assert tails[place].item() == pytest.approx(lower_tail(single(rows, place), *about), abs=1e-9)
    assert (tails < 0.9).any()


@pytest.mark.parametrize("broken", [float("nan"), float("inf"), 0.0])
def test_what_is_not_known_has_a_tail_of_one(broken: float) -> None:
    rows, centre, spread = make_rows(0, 4, 3, 1)
    spread[2] = broken
    tails, _ = lower_tails(rows, centre, spread)
    alone, _ = lower_tails(*make_rows(0, 4, 3, 1))
    assert tails[2] == 1
    assert torch.equal(tails[:2], alone[:2])
