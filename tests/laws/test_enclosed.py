import pytest
import torch

from fedcert.errors import InvalidLaw
from fedcert.laws import DiagonalGaussian
from fedcert.laws.enclosed import EnclosedGaussian


@pytest.mark.parametrize("error", [float("nan"), float("inf"), -1.0])
def test_an_enclosed_law_needs_sound_errors(error: float) -> None:
    ones = torch.ones(2).double()
    with pytest.raises(InvalidLaw):
        EnclosedGaussian(DiagonalGaussian(ones, ones, error * ones, 0.1))
    for bad in (DiagonalGaussian(ones, ones), DiagonalGaussian(ones, 0 * ones, ones, 0.1)):
        with pytest.raises(InvalidLaw):
            EnclosedGaussian(bad)
