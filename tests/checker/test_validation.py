"""Values from a file: what does not fit is named, and quoted in no more than a line."""

import numpy as np
import pytest

from fedcert_check.errors import InvalidCertificate
from fedcert_check.validation import finite, natural, plain_name, quoted, require, require_fields, shaped


def test_a_condition_that_fails_is_an_error_that_says_so() -> None:
    require(True, "nothing")
    with pytest.raises(InvalidCertificate, match="something"):
        require(False, "something")


@pytest.mark.parametrize("value", ["y" * 10_000, [[]] * 10_000])
def test_a_quote_is_short(value: object) -> None:
    assert len(quoted(value)) <= 81


@pytest.mark.parametrize("entry", [None, [], "x", {}, {"a": 1}, {"a": 1, "b": 2, "c": 3}])
def test_an_entry_has_its_fields_and_no_others(entry: object) -> None:
    require_fields({"a": 0, "b": []}, {"a", "b"}, "an entry")
    with pytest.raises(InvalidCertificate, match="an entry"):
        require_fields(entry, {"a", "b"}, "an entry")


@pytest.mark.parametrize("value", [0, -1, 2**31, 1.0, True, "3", None, [3]])
def test_a_natural_number_is_an_integer_in_range(value: object) -> None:
    assert [natural(n, 1, "n") for n in (1, 2**31 - 1)] == [1, 2**31 - 1]
    with pytest.raises(InvalidCertificate, match="the count is"):
        natural(value, 1, "the count")


@pytest.mark.parametrize("name", ["", "-a", "a b", "a/b", "é", "a\n", "x" * 65, None, 3])
def test_a_plain_name_has_letters_digits_and_a_few_signs(name: object) -> None:
    assert plain_name("trimmed-mean_2.0+x", "the rule") == "trimmed-mean_2.0+x"
    with pytest.raises(InvalidCertificate, match=r"the rule .* is not a plain name"):
        plain_name(name, "the rule")


@pytest.mark.parametrize(
    ("array", "complaint"),
    [
        (None, "tensor x is missing"),
        (np.zeros((2, 3), dtype=np.float32), "float32"),
        (np.zeros((3, 3)), r"\(3, 3\)"),
        (np.zeros(2), r"\(2,\)"),
        (np.array([[0.0, np.nan, 1.0]] * 2), "not finite"),
        (np.array([[0.0, np.inf, 1.0]] * 2), "not finite"),
    ],
)
def test_a_tensor_has_its_type_and_shape_and_is_finite(array, complaint: str) -> None:
    fitting = np.ones((2, 3))
    assert shaped("x", fitting, np.float64, 2, None) is fitting
    with pytest.raises(InvalidCertificate, match=complaint):
        shaped("x", array, np.float64, 2, None)


@pytest.mark.parametrize("value", [10**400, -(10**400), float("inf"), float("nan"), True, "1", None])
def test_what_no_float_can_be_is_no_finite_number(value: object) -> None:
    with pytest.raises(InvalidCertificate, match="the margin is"):
        finite(value, "the margin")
    assert finite(2**1023, "the margin") == 2.0**1023
