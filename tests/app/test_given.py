"""A user's own inputs: what the arrays must be, and what is asked of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from own_models import ARRAYS, NETWORK

from fedcert.app.given import Given
from fedcert.errors import DataError, FedcertError, InvalidConfig

LAYERS = tuple(NETWORK.describe())


def given(tmp_path: Path, boxes: bool = False, **arrays: Any) -> Given:
    np.savez(tmp_path / "own.npz", **arrays)
    return Given(LAYERS, tmp_path / "own.npz", boxes)


def test_labels_on_balls_are_what_classification_asks(tmp_path: Path) -> None:
    inputs = given(tmp_path, **ARRAYS["x"]).inputs("own")
    asked = inputs.properties_within(0.25, 0.0, 2)
    assert asked.subject is not None
    assert (asked.subject.norm, asked.subject.origin.source) == ("linf", "own")
    assert asked.subject.labels is not None
    assert bool((asked.regions.lower < 0.5).all())  # nothing is cut
    assert inputs.examples is not None
    assert inputs.examples.label.tolist() == [0, 1]


def test_the_accuracy_of_boxes_is_that_of_their_centres(tmp_path: Path) -> None:
    inputs = given(tmp_path, boxes=True, **ARRAYS["boxes"]).inputs("own")
    assert inputs.examples is not None
    expected = (np.array(ARRAYS["boxes"]["lower"]) + np.array(ARRAYS["boxes"]["upper"])) / 2
    assert torch.allclose(inputs.examples.x, torch.tensor(expected))
    assert given(tmp_path, boxes=True, **ARRAYS["control"]).inputs("own").examples is None


def test_images_are_flat(tmp_path: Path) -> None:
    inputs = given(tmp_path, x=np.zeros((3, 1, 2)), y=[0, 1, 0]).inputs("own")
    assert inputs.lower.shape == (3, 2)


X = ARRAYS["x"]
BOXES = ARRAYS["boxes"]
WRONG: dict[str, tuple[dict[str, Any], bool]] = {
    "x: 2 rows of 3 numbers for 2 inputs": (X | {"x": np.zeros((2, 3))}, False),
    "x: 0 rows": ({"x": np.zeros((0, 2)), "y": np.zeros(0, dtype=int)}, False),
    "x: 1 axes": (X | {"x": [0.0, 1.0]}, False),
    "x: NaN": (X | {"x": [[np.nan, 0.0], [0.0, 0.0]]}, False),
    "y: 3 labels for 2": (X | {"y": [0, 1, 1]}, False),
    "y: labels must be": (X | {"y": [0, 2]}, False),
    "y: an array of float64": (X | {"y": [0.0, 1.0]}, False),
    "y: give either": ({"x": X["x"]}, False),
    "or constraints C and d": (X | {"C": [[1.0, 0.0]], "d": [0.0]}, False),
    "upper: no array": ({"lower": BOXES["lower"], "y": [0, 1]}, True),
    "not the two ends": (BOXES | {"upper": BOXES["lower"], "lower": BOXES["upper"]}, True),
    "d: no array": ({"x": X["x"], "C": [[1.0, 0.0]]}, False),
    r"C, d: shapes \(2, 1, 3\)": ({"x": X["x"], "C": [[1.0, 0.0, 0.0]], "d": [0.0]}, False),
    r"C, d: shapes \(1, 1, 2\)": ({"x": X["x"], "C": [[[1.0, 0.0]]], "d": [[0.0]]}, False),
    r"C, d: shapes \(2, 0, 2\)": ({"x": X["x"], "C": np.zeros((0, 2)), "d": np.zeros(0)}, False),
    "d: NaN": ({"x": X["x"], "C": [[1.0, 0.0]], "d": [np.inf]}, False),
}


@pytest.mark.parametrize("words", WRONG)
def test_bad_arrays_are_refused_by_file_and_name(tmp_path: Path, words: str) -> None:
    arrays, boxes = WRONG[words]
    with pytest.raises(DataError, match=rf"own\.npz: .*{words}|own\.npz: {words}"):
        given(tmp_path, boxes, **arrays).inputs("own")


def test_another_file_than_the_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="digest differs"):
        replace(given(tmp_path, **X), sha256="0" * 64).inputs("own")


def test_settings_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    own = given(tmp_path, **X)
    with pytest.raises(InvalidConfig, match="domain"):
        replace(own, domain=(1.0, 0.0))
    with pytest.raises(InvalidConfig, match="states its own boxes"):
        replace(own, file=Path("spec.vnnlib"), boxes=True)
    for layers in (({"inputs": 2},), ({"type": "linear", "inputs": 2},), ({"type": "conv9d"},)):
        with pytest.raises(FedcertError):
            _ = replace(own, layers=layers).network
