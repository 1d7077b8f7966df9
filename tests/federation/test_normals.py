import pytest
import torch

from fedcert.federation.normals import CountedNormals

KEY = 2**61 + 1, 3


def test_the_draws_have_the_moments_and_quantiles_of_normals() -> None:
    z = CountedNormals(KEY, 1001)(0, 0, 1000).double()
    assert z.shape == (1000, 1001)
    assert z.mean().abs() < 0.005
    assert z.std().item() == pytest.approx(1.0, abs=0.005)
    assert z.pow(4).mean().item() == pytest.approx(3.0, abs=0.05)
    for deviations, share in [(-1.0, 0.158655), (0.0, 0.5), (2.0, 0.977250), (3.0, 0.998650)]:
        assert (z < deviations).double().mean().item() == pytest.approx(share, abs=0.003)


def test_rows_columns_and_streams_are_uncorrelated() -> None:
    z, other = (CountedNormals(KEY, 403)(stream, 0, 400) for stream in (0, 1))
    for matrix in (z, z.mT, torch.cat([z[:200], other[:200]])):
        correlation = torch.corrcoef(matrix).fill_diagonal_(0.0)
        assert correlation.abs().max() < 0.3


@pytest.mark.parametrize("dimension", [1, 15, 16, 17, 50])
def test_a_draw_depends_on_its_number_alone(dimension: int) -> None:
    normals = CountedNormals(KEY, dimension)
    z = normals(2, 0, 9)
    assert torch.equal(z, torch.cat([normals(2, n, 1) for n in range(9)]))
    assert torch.equal(z[4:7], normals(2, 4, 3))
    assert len(z.unique(dim=0)) == 9
    assert not torch.equal(z, normals(3, 0, 9))
    assert not torch.equal(z, CountedNormals((KEY[0], 4), dimension)(2, 0, 9))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gives_the_same_normals() -> None:
    normals = CountedNormals(KEY, 77)
    assert torch.equal(normals(1, 5, 40), normals(1, 5, 40, "cuda").cpu())
