"""Heart disease in four hospitals: a federation as it was, with measurements in their units (docs/tables.md).

The four files of the UCI repository come with the package (heart_disease/ATTRIBUTION.md). They are cleaned as
FLamby's Fed-Heart-Disease is: without slope, ca and thal, which most hospitals did not record, and without
patients of whom another value is missing; cp and restecg as indicators without the first code; a patient is
ill if num > 0; and FLamby's 486 training and 254 test patients.
"""

import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.data.dataset import Dataset, Split
from fedcert.errors import DataError
from fedcert.model.features import Feature, scaled
from fedcert.numerics.rounding import up

FOLDER = files("fedcert.data") / "heart_disease"
MISSING = "?"
COLUMNS = 14
AGE, SEX, PAIN, PRESSURE, CHOLESTEROL, SUGAR, ECG, HEART_RATE, ANGINA, DEPRESSION = range(10)
DISEASE = 13
CLASSES = 2


@dataclass(frozen=True)
class Hospital:
    """A hospital and its file.

    Attributes:
        name: of the client.
        file: the middle of the name of its file.
        sha256: of the file.
    """

    name: str
    file: str
    sha256: str


HOSPITALS = (
    Hospital("Cleveland", "cleveland", "a74b7efa387bc9d108d7d0115d831fe9b414b29ae7124f331b622b4efa0427c8"),
    Hospital("Hungarian", "hungarian", "d1ad108f785768cd3d7e82dc522e6f5a61eea93cccfb3a46ee8076f73fc3d796"),
    Hospital(
        "Switzerland", "switzerland", "834a405ccf5b66ab4056bb77794adc8df0b7125186454c0a1d002d33c6c3b314"
    ),
    Hospital("VA-Long-Beach", "va", "e7c93d8d0d2acdadfa4c5e8de768e2191e7f618b952e29623f1f0d5949ff6b8f"),
)

FEATURES = (
    Feature("age", "years", 50.0, 8.0),
    Feature("sex"),
    Feature("trestbps", "mmHg", 128.0, 16.0),
    Feature("chol", "mg/dl", 200.0, 64.0),
    Feature("fbs"),
    Feature("thalach", "bpm", 144.0, 32.0),
    Feature("exang"),
    Feature("oldpeak", "mm"),
    Feature("cp-2"),
    Feature("cp-3"),
    Feature("cp-4"),
    Feature("restecg-1"),
    Feature("restecg-2"),
)
"""Shifts and scales are round numbers near clinical reference values, fixed in advance: no hospital reveals
statistics of its own. Scales are powers of two and shifts whole numbers, so that scaling rounds nothing."""
ERRORS = {"trestbps": 5.0, "thalach": 5.0, "oldpeak": 0.1}
RELATIVE_ERRORS = {"chol": 0.05}
"""Of one measurement: in its unit, or as a share of the value; every other value is exact."""


def heart_disease() -> Dataset:
    """The patients of the four hospitals, split into training and test patients as in FLamby."""
    chosen = json.loads((FOLDER / "test_patients.json").read_text(encoding="utf-8"))
    train, test = [], []
    for i, hospital in enumerate(HOSPITALS):
        patients = _split(_read(hospital), i)
        tested = torch.zeros(len(patients), dtype=torch.bool)
        tested[chosen[hospital.file]] = True
        train.append(patients[(~tested).nonzero().squeeze(-1)])
        test.append(patients[tested.nonzero().squeeze(-1)])
    names = tuple(own.name for own in HOSPITALS)
    return Dataset(_together(train), _together(test), CLASSES, None, FEATURES, names)


def _read(hospital: Hospital) -> Float64[Tensor, "n 11"]:
    """The patients of a hospital of whom no value is missing: ten values each, and the diagnosis."""
    content = (FOLDER / f"processed.{hospital.file}.data").read_bytes()
    if hashlib.sha256(content).hexdigest() != hospital.sha256:
        raise DataError(f"heart-disease: the file of {hospital.name} was changed: install fedcert again")
    rows = [line.split(",") for line in content.decode("ascii").split()]
    kept = [[row[j] for j in (*range(10), DISEASE)] for row in rows if len(row) == COLUMNS]
    return torch.tensor(
        [[float(value) for value in row] for row in kept if MISSING not in row], dtype=torch.float64
    )


def _split(patients: Float64[Tensor, "n 11"], hospital: int) -> Split:
    codes = [patients[:, PAIN] == code for code in (2, 3, 4)] + [patients[:, ECG] == code for code in (1, 2)]
    plain = (AGE, SEX, PRESSURE, CHOLESTEROL, SUGAR, HEART_RATE, ANGINA, DEPRESSION)
    measured = torch.cat([patients[:, plain], torch.stack(codes, 1).double()], 1)
    error = torch.zeros_like(measured)
    for j, feature in enumerate(FEATURES):
        if feature.name in ERRORS:
            error[:, j] = ERRORS[feature.name] / feature.scale
        if feature.name in RELATIVE_ERRORS:
            share = RELATIVE_ERRORS[feature.name] * measured[:, j] / feature.scale
            error[:, j] = torch.where(share > 0, up(share), share)  # at least the share, whatever was rounded
    label = (patients[:, -1] > 0).long()
    return Split(scaled(measured, FEATURES), label, None, error, torch.full_like(label, hospital))


def _together(parts: list[Split]) -> Split:
    x, label, error, client = (
        torch.cat([getattr(part, name) for part in parts]) for name in ("x", "label", "error", "client")
    )
    return Split(x, label, None, error, client)
