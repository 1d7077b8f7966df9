"""The laws that the checker knows."""

import numpy as np
import pytest

from fedcert_check.errors import InvalidCertificate
from fedcert_check.laws import LAWS, DiagonalGaussian

FITTING = {"law.loc": np.zeros(3), "law.scale": np.ones(3)}


def test_a_diagonal_gaussian_is_what_a_message_states() -> None:
    law = LAWS["diagonal-gaussian"](FITTING, 3)
    assert isinstance(law, DiagonalGaussian)
    assert law.loc is FITTING["law.loc"]
    assert law.scale is FITTING["law.scale"]


@pytest.mark.parametrize("name", ["kronecker-gaussian", "", None])
def test_another_law_is_refused_by_name(name: object) -> None:
    with pytest.raises(InvalidCertificate) as refused:
        LAWS[name]
    assert str(refused.value) == f"law {name!r}: this checker knows diagonal-gaussian"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"law.loc": np.zeros(2)}, "law.loc"),
        ({"law.loc": np.array([0.0, np.nan, 0.0])}, "law.loc is not finite"),
        ({"law.scale": np.ones(3, dtype=np.float32)}, "law.scale"),
        ({"law.scale": np.array([1.0, 0.0, 1.0])}, "not positive"),
    ],
)
def test_what_is_no_law_is_refused(change: dict[str, np.ndarray], complaint: str) -> None:
    with pytest.raises(InvalidCertificate, match=complaint):
        LAWS["diagonal-gaussian"](FITTING | change, 3)
