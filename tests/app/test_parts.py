from pathlib import Path

import numpy as np
import pytest
import torch

from fedcert.app.parts import ESTIMATE, POSTERIOR, Posterior
from fedcert.certificate import Estimate
from fedcert.errors import UnreadableFile
from fedcert.laws import BlockGaussian, DiagonalGaussian, GaussianMixture
from fedcert.laws.blocks import DenseBlock, KroneckerBlock
from fedcert.wire import tensorfile

SINGLE = torch.tensor([0.1, 3.0], dtype=torch.float32).double()
DOUBLE = torch.tensor([0.1, 3.0], dtype=torch.float64)


@pytest.mark.parametrize(("scale", "dtype"), [(SINGLE, np.float32), (DOUBLE, np.float64)])
def test_a_posterior_comes_back_exactly_and_in_as_few_bytes_as_it_needs(
    tmp_path: Path, scale: torch.Tensor, dtype: type
) -> None:
    path = tmp_path / "client-0.safetensors"
    POSTERIOR.save(Posterior(DiagonalGaussian(SINGLE, scale), 1.25), path)
    assert tensorfile.read(path)[1]["scale"].dtype == dtype
    back = POSTERIOR.load(path)
    assert (back.seconds, back.law.loc.equal(SINGLE), back.law.scale.equal(scale)) == (1.25, True, True)


def test_a_mixture_comes_back(tmp_path: Path) -> None:
    components = DiagonalGaussian(SINGLE, SINGLE), DiagonalGaussian(DOUBLE, DOUBLE)
    mixture = GaussianMixture(components, torch.tensor([1.0, 3.0]).double())
    POSTERIOR.save(Posterior(mixture, 2.5), tmp_path / "client-0.safetensors")
    back = POSTERIOR.load(tmp_path / "client-0.safetensors")
    assert isinstance(back.law, GaussianMixture)
    assert back.law.weights.tolist() == [1.0, 3.0]
    for one, other in zip(back.law.components, components, strict=True):
        assert one.loc.equal(other.loc)
        assert one.scale.equal(other.scale)


def test_a_law_of_blocks_comes_back(tmp_path: Path) -> None:
    blocks = (
        DenseBlock(0, torch.stack([SINGLE, DOUBLE])),
        KroneckerBlock(0, *map(torch.diag, (DOUBLE[:1], SINGLE)), torch.stack([DOUBLE])),
    )
    POSTERIOR.save(Posterior(BlockGaussian(DOUBLE, blocks), 2.5), tmp_path / "client-0.safetensors")
    back = POSTERIOR.load(tmp_path / "client-0.safetensors").law
    assert isinstance(back, BlockGaussian)
    assert back.loc.equal(DOUBLE)
    for one, other in zip(back.blocks, blocks, strict=True):
        assert (type(one), one.start) == (type(other), other.start)
        assert one.numbers().equal(other.numbers())


@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize("law", ["diagonal-gaussian", "gaussian-mixture", "cauchy", None])
@pytest.mark.parametrize("tensors", [{}, {"loc": DOUBLE}, {"loc": DOUBLE, "scale": -DOUBLE}])
def test_a_file_that_holds_no_posterior_is_refused(
    tmp_path: Path, tensors: dict[str, torch.Tensor], law: str | None
) -> None:
    path = tmp_path / "client-0.safetensors"
    tensorfile.write(path, {"seconds": "1.0"} | ({"law": law} if law else {}), tensors)
    with pytest.raises(UnreadableFile, match="not a posterior"):
        POSTERIOR.load(path)


def test_an_estimate_comes_back(tmp_path: Path) -> None:
    estimate = Estimate("mc-ibp", "fedavg", torch.tensor([3, 5]), 5)
    ESTIMATE.save(estimate, tmp_path / "estimate.json")
    back = ESTIMATE.load(tmp_path / "estimate.json")
    assert (back.name, back.rule, back.successes.tolist(), back.samples) == ("mc-ibp", "fedavg", [3, 5], 5)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"successes": 3}'])
def test_a_file_that_holds_no_estimate_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "estimate.json").write_text(text, encoding="utf-8")
    with pytest.raises(UnreadableFile, match="not an estimate"):
        ESTIMATE.load(tmp_path / "estimate.json")
