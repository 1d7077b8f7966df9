from pathlib import Path

import pytest

from fedcert.data import load
from fedcert.data.digits import digits


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
