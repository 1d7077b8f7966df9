from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedcert_check.errors import InvalidCertificate
from fedcert_check.features import Feature, decimal_down, error_words, measured, read_features

FEATURES = (
    Feature("trestbps", "mmHg", 128.0, 16.0),
    Feature("chol", "mg/dl", 200.0, 64.0),
    Feature("sex", "", 0.0, 1.0),
)
X = np.array([[1.0, 0.5, 1.0], [-0.5, -3.125, 0.0]])  # 144 and 120 mmHg, 232 and 0 mg/dl
W = np.array([[0.3125, np.nextafter(0.05 * 232 / 64, 1), 0.0], [0.3125, 0.0, 0.0]])


def test_distances_are_said_in_units_of_measurement() -> None:
    assert measured(X, FEATURES).tolist() == [[144.0, 232.0, 1.0], [120.0, 0.0, 0.0]]
    assert error_words(X, W, FEATURES, 1.0) == "trestbps ± 5 mmHg, chol ± 5 %; all else fixed"
    assert error_words(X, W, FEATURES, 2.0) == "trestbps ± 10 mmHg, chol ± 10 %; all else fixed"
    assert error_words(X, W, FEATURES, 0.0) == "every value as stated"


def test_distances_of_no_pattern_are_said_from_least_to_most() -> None:
    weights = np.array([[0.25, 1.0, 1.0], [0.5, 1.0, 1.0]])
    assert error_words(X, weights, FEATURES, 1.0) == "trestbps ± 4 to 8 mmHg, chol ± 64 mg/dl, sex ± 1"


@given(st.fractions(min_value=0, max_value=10**9))
def test_a_distance_is_never_rounded_up(value: Fraction) -> None:
    shown = Fraction(decimal_down(value))
    assert shown <= value
    assert value - shown <= value / 1000


OTHER = {"name": "b", "unit": "", "shift": 0.0, "scale": 1.0}


@pytest.mark.parametrize("entry", [None, [], [OTHER], [OTHER, OTHER], {"a": OTHER, "b": OTHER}])
def test_features_are_a_list_of_one_for_each_coordinate(entry: object) -> None:
    with pytest.raises(InvalidCertificate):
        read_features(entry, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "a b"},
        {"unit": "\x1b[2K"},
        {"unit": "u" * 17},
        {"unit": None},
        {"unit": "mg, age ± 50 yr"},
        {"scale": -1.0},
        {"scale": 0},
        {"scale": "1"},
        {"shift": float("inf")},
        {"shift": True},
        {"more": 1},
    ],
)
def test_malformed_features_are_refused(change: dict[str, object]) -> None:
    assert len(read_features([OTHER | {"name": "a"}, OTHER], 2)) == 2
    with pytest.raises(InvalidCertificate):
        read_features([OTHER | {"name": "a"} | change, OTHER], 2)
