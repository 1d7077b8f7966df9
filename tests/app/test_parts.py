from pathlib import Path

import numpy as np
import pytest
import torch

from fedcert.app.parts import ESTIMATE, POSTERIOR, Posterior
from fedcert.certificate import Estimate
from fedcert.errors import UnreadableFile
from fedcert.laws import DiagonalGaussian
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


@pytest.mark.parametrize("tensors", [{}, {"loc": DOUBLE}, {"loc": DOUBLE, "scale": -DOUBLE}])
def test_a_file_that_holds_no_posterior_is_refused(tmp_path: Path, tensors: dict[str, torch.Tensor]) -> None:
    path = tmp_path / "client-0.safetensors"
    tensorfile.write(path, {"seconds": "1.0"}, tensors)
    with pytest.raises(UnreadableFile, match="no posterior"):
        POSTERIOR.load(path)


def test_an_estimate_comes_back(tmp_path: Path) -> None:
    estimate = Estimate("mc-ibp", "fedavg", torch.tensor([3, 5]), 5)
    ESTIMATE.save(estimate, tmp_path / "estimate.json")
    back = ESTIMATE.load(tmp_path / "estimate.json")
    assert (back.name, back.rule, back.successes.tolist(), back.samples) == ("mc-ibp", "fedavg", [3, 5], 5)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"successes": 3}'])
def test_a_file_that_holds_no_estimate_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "estimate.json").write_text(text, encoding="utf-8")
    with pytest.raises(UnreadableFile, match="no estimate"):
        ESTIMATE.load(tmp_path / "estimate.json")
