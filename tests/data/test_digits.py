import sys
from pathlib import Path

import pytest
import torch
from sklearn.datasets import load_digits

from fedcert.data import load
from fedcert.data.digits import digits
from fedcert.errors import DataError


def test_digits_are_images_in_the_unit_interval_with_labels_0_to_9() -> None:
    data = digits()
    assert data.test is None
    assert data.train.x.shape == (1797, 64)
    assert data.image_shape == (8, 8)
    low, high = data.train.x.aminmax()
    assert (low.item(), high.item()) == (0.0, 1.0)
    assert data.train.label.unique().tolist() == list(range(data.classes)) == list(range(10))


def test_digits_need_neither_folder_nor_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDCERT_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    data = load("digits", tmp_path / "nowhere")
    assert (data.train.x == digits().train.x).all()
    assert list(tmp_path.iterdir()) == []


def test_the_digits_are_those_that_scikit_learn_loads() -> None:
    theirs = load_digits()
    assert torch.equal(digits().train.x, torch.from_numpy(theirs.data / 16))
    assert torch.equal(digits().train.label, torch.from_numpy(theirs.target).long())


def test_without_scikit_learn_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[digits.__module__], "find_spec", lambda name: None)
    with pytest.raises(DataError, match="scikit-learn"):
        digits()
