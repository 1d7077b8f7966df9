import pytest
import torch
from oracles import dot, exact
from problems import normal, uniform

from fedcert.numerics import interval
from fedcert.numerics.interval import Bounds, affine
from fedcert.randomness import stream


def around(generator: torch.Generator, radius: float, *shape: int) -> Bounds:
    center, half = normal(generator, *shape), radius * uniform(generator, *shape)
    return Bounds(center - half, center + half)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("radius", [0.0, 0.1, 3.0])
def test_affine_maps_enclose_exact_interval_arithmetic_and_little_more(seed: int, radius: float) -> None:
    generator = stream(seed, "affine")
    weight, bias, x = (around(generator, radius, *shape) for shape in ((2, 3, 4), (2, 3), (5, 4)))
    found = affine(weight, bias, x)
    assert found.lower.shape == (2, 5, 3)
    for b in range(2):
        for n in range(5):
            for m in range(3):
                parts = ((weight, (b, m)), (x, (n,)))
                rows = [
                    [
                        (exact(low), exact(high))
                        for low, high in zip(own.lower[at], own.upper[at], strict=True)
                    ]
                    for own, at in parts
                ]
                low, high = dot(*rows, (exact(bias.lower[b, m]), exact(bias.upper[b, m])))
                assert low - exact(1e-12) <= exact(found.lower[b, n, m]) <= low
                assert high <= exact(found.upper[b, n, m]) <= high + exact(1e-12)


def test_columns_that_straddle_zero_are_corrected_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = stream(1, "pieces")
    weight, bias, x = (around(generator, 3.0, *shape) for shape in ((2, 3, 40), (2, 3), (5, 40)))
    together = affine(weight, bias, x)
    monkeypatch.setattr(interval, "CORRECTION_ELEMENTS", 1)
    for one, other in zip(affine(weight, bias, x), together, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-13, atol=1e-13)


def test_axes_of_both_ends() -> None:
    bounds = Bounds(torch.zeros(2, 3, dtype=torch.float64), torch.ones(2, 3, dtype=torch.float64))
    assert bounds.unsqueeze(1).upper.shape == (2, 1, 3)
    assert bounds.unsqueeze(1).squeeze(1).lower.shape == (2, 3)
    assert bounds.transpose().lower.shape == (3, 2)
