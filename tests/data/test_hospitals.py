"""The four hospitals are those of the UCI files, cleaned and split as FLamby does."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.model_selection import train_test_split

from fedcert.data import hospitals, load
from fedcert.data.hospitals import FEATURES, FOLDER, HOSPITALS, heart_disease
from fedcert.errors import DataError
from fedcert.wire.subject import checked_features
from fedcert_check.features import error_words, measured

PATIENTS = (303, 261, 46, 130)


def cleaned(file: str) -> pd.DataFrame:
    """What FLamby makes of a file, written down from its description."""
    table = pd.read_csv(str(FOLDER / f"processed.{file}.data"), header=None, na_values="?")
    return table.drop(columns=[10, 11, 12]).dropna().astype(float)


def test_patients_are_those_without_missing_values() -> None:
    data = heart_disease()
    both = torch.cat([data.train.client, data.test.client]).bincount()
    assert tuple(both.tolist()) == PATIENTS == tuple(len(cleaned(own.file)) for own in HOSPITALS)
    assert (len(data.train), len(data.test), data.classes) == (486, 254, 2)
    assert data.clients == ("Cleveland", "Hungarian", "Switzerland", "VA-Long-Beach")


def test_the_test_patients_are_those_of_flamby() -> None:
    chosen = json.loads((FOLDER / "test_patients.json").read_text())
    for own in HOSPITALS:
        ill = (cleaned(own.file)[13] > 0).to_numpy()
        levels = ill if min(ill.sum(), (~ill).sum()) > 2 else None
        _, tested = train_test_split(
            np.arange(len(ill)), test_size=1.0 - 0.66, train_size=0.66, random_state=43, stratify=levels
        )
        assert chosen[own.file] == sorted(tested.tolist())


def test_values_are_those_of_the_files_in_the_same_units() -> None:
    """Scaling rounds nothing: what comes back is what was measured."""
    test, start = load("heart-disease").test, 0
    chosen = json.loads((FOLDER / "test_patients.json").read_text())
    values = measured(test.x.numpy(), checked_features(FEATURES))
    for own in HOSPITALS:
        table = cleaned(own.file).iloc[chosen[own.file]]
        plain = table[[0, 1, 3, 4, 5, 7, 8, 9]].to_numpy()
        codes = [table[2] == 2, table[2] == 3, table[2] == 4, table[6] == 1, table[6] == 2]
        part = slice(start, start + len(table))
        assert np.array_equal(values[part], np.column_stack([plain, *codes]).astype(float))
        assert test.label[part].tolist() == (table[13] > 0).astype(int).tolist()
        start += len(table)


def test_measurement_errors_are_those_that_are_stated() -> None:
    test = heart_disease().test
    said = error_words(test.x.numpy(), test.error.numpy(), checked_features(FEATURES), 1.0)
    assert said == "trestbps ± 5 mmHg, chol ± 5 %, thalach ± 5 bpm, oldpeak ± 0.1 mm; all else fixed"


def test_files_are_the_originals_and_a_changed_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for own in HOSPITALS:
        content = (FOLDER / f"processed.{own.file}.data").read_bytes()
        assert hashlib.sha256(content).hexdigest() == own.sha256
    other = (hospitals.Hospital("Cleveland", "hungarian", HOSPITALS[0].sha256), *HOSPITALS[1:])
    monkeypatch.setattr(hospitals, "HOSPITALS", other)
    with pytest.raises(DataError, match="Cleveland was changed"):
        heart_disease()
