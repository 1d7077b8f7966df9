from fractions import Fraction
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedcert.data.errors_of_columns import ColumnError, read_errors_file
from fedcert.errors import DataError, InvalidConfig


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("5 %", ColumnError(5.0, "", True)),
        ("± 5%", ColumnError(5.0, "", True)),
        ("5 mmHg", ColumnError(5.0, "mmHg", False)),
        ("0.1", ColumnError(0.1, "", False)),
        (" .5e1 mg/dl ", ColumnError(5.0, "mg/dl", False)),
    ],
)
def test_errors_are_read_as_people_write_them(text: str, error: ColumnError) -> None:
    assert ColumnError.read("chol", text) == error


@pytest.mark.parametrize("text", ["", "%", "-5", "five", "inf", "nan", "1e999"])
def test_what_is_no_error_is_refused_with_its_column(text: str) -> None:
    with pytest.raises(InvalidConfig, match="errors: chol: "):
        ColumnError.read("chol", text)


@given(st.floats(0, 1e3), st.floats(-1e6, 1e6), st.integers(-20, 20))
def test_a_share_is_never_less_than_stated(percent: float, value: float, power: int) -> None:
    scale = 2.0**power
    weight = ColumnError(percent, "", True).weights(torch.tensor([value], dtype=torch.float64), scale)
    assert Fraction(weight.item()) * Fraction(scale) >= Fraction(percent) * abs(Fraction(value)) / 100
    assert (weight.item() > 0) == (value != 0 != percent)


def test_a_file_has_a_line_for_each_column(tmp_path: Path) -> None:
    path = tmp_path / "errors.toml"
    path.write_text('chol = "5 %"\ntrestbps = 5\n"st depression" = 0.1\n')
    assert read_errors_file(path) == {"chol": "5 %", "trestbps": "5", "st depression": "0.1"}


@pytest.mark.parametrize("text", ["chol = ", "chol = true", "[chol]\nlow = 1", "chol = [1]"])
def test_malformed_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "errors.toml"
    path.write_text(text)
    with pytest.raises((DataError, InvalidConfig)):
        read_errors_file(path)
