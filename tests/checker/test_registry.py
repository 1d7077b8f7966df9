"""What is not known is refused by its name."""

import pytest

from fedcert_check.errors import InvalidCertificate
from fedcert_check.registry import Registry

SHAPES = Registry("shape", {"circle": 0, "square": 4})


def test_what_is_known_is_found() -> None:
    assert SHAPES["square"] == 4


@pytest.mark.parametrize("name", ["triangle", "", None, 4, ["circle"], {"circle": 1}])
def test_anything_else_is_refused_by_name(name: object) -> None:
    with pytest.raises(InvalidCertificate) as refused:
        SHAPES[name]
    assert str(refused.value) == f"shape {name!r}: this checker knows circle and square"


def test_a_long_name_is_not_repeated_whole() -> None:
    with pytest.raises(InvalidCertificate) as refused:
        SHAPES["y" * 10_000]
    assert len(str(refused.value)) < 200
