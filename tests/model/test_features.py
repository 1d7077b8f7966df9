import pytest
import torch

from fedcert.errors import InvalidProperty
from fedcert.model.features import Feature, scaled


def test_measurements_are_scaled_column_by_column() -> None:
    features = (Feature("trestbps", "mmHg", 128.0, 16.0), Feature("sex"))
    measured = torch.tensor([[144.0, 1.0], [120.0, 0.0]], dtype=torch.float64)
    assert scaled(measured, features).tolist() == [[1.0, 1.0], [-0.5, 0.0]]


@pytest.mark.parametrize(
    "feature",
    [
        {"name": "blood pressure"},
        {"name": "x", "unit": "a" * 17},
        {"name": "x", "unit": "mg, age ± 50 yr"},
        {"name": "x", "unit": "m\u202em"},
        {"name": "x", "shift": float("inf")},
        {"name": "x", "scale": 0.0},
        {"name": "x", "scale": float("nan")},
    ],
)
def test_what_cannot_stand_in_a_certificate_is_refused(feature: dict[str, object]) -> None:
    with pytest.raises(InvalidProperty):
        Feature(**feature)
