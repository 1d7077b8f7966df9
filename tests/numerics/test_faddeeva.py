import math

import numpy as np
import pytest
import torch
from scipy.special import wofz

from fedcert.families.projected.inversion import ERROR
from fedcert.numerics.faddeeva import faddeeva


@pytest.mark.parametrize("size", [1e-3, 0.1, 1.0, 3.0, 10.0, 100.0, 1e6])
@pytest.mark.parametrize("height", [0.0, 1e-6, 1.0])
def test_it_is_within_a_sixteenth_of_the_charged_error(size: float, height: float) -> None:
    draws = np.random.default_rng(0).normal(size=(2, 4000))
    z = size * (draws[0] + 1j * height * np.abs(draws[1]))
    assert np.abs(faddeeva(torch.from_numpy(z)).numpy() - wofz(z)).max() <= ERROR / 16


def test_it_is_a_scaled_error_function_on_the_imaginary_axis() -> None:
    y = torch.linspace(0, 5, 50, dtype=torch.float64)
    found = faddeeva(torch.complex(torch.zeros_like(y), y))
    expected = [math.exp(own * own) * math.erfc(own) for own in y.tolist()]
    assert found.real.tolist() == pytest.approx(expected, abs=1e-13)
    assert found.imag.abs().max() <= 1e-14
