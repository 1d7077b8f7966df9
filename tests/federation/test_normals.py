import pytest
import torch

from fedcert.federation.normals import QuantisedNormals
from fedcert.randomness import stream


def test_the_draws_have_the_moments_and_quantiles_of_normals() -> None:
    z = QuantisedNormals(stream(0, "normals"))(1000, 1001).double()
    assert z.shape == (1000, 1001)
    assert z.mean().abs() < 0.005
    assert z.std().item() == pytest.approx(1.0, abs=0.005)
    assert z.pow(4).mean().item() == pytest.approx(3.0, abs=0.05)
    for deviations, share in [(-1.0, 0.158655), (0.0, 0.5), (2.0, 0.977250), (3.0, 0.998650)]:
        assert (z < deviations).double().mean().item() == pytest.approx(share, abs=0.003)


def test_rows_and_columns_are_uncorrelated() -> None:
    z = QuantisedNormals(stream(0, "normals"))(400, 403)
    for matrix in (z, z.mT):
        correlation = torch.corrcoef(matrix).fill_diagonal_(0.0)
        assert correlation.abs().max() < 0.3


def test_the_generator_decides_the_draws_and_they_go_on() -> None:
    first, again, other = (QuantisedNormals(stream(seed, "normals")) for seed in (0, 0, 1))
    z = first(3, 5)
    assert torch.equal(z, again(3, 5))
    assert not torch.equal(z, other(3, 5))
    assert not torch.equal(z, first(3, 5))
