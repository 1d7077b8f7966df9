from dataclasses import dataclass

import pytest

from fedcert.frozen import unchecked


@dataclass(frozen=True)
class Positive:
    value: int
    name: str

    def __post_init__(self) -> None:
        if self.value <= 0:
            raise ValueError("not positive")


def test_a_copy_has_the_new_values_and_is_not_checked() -> None:
    original = Positive(1, "one")
    changed = unchecked(original, value=-1)
    assert (changed.value, changed.name) == (-1, "one")
    assert original == Positive(1, "one")
    assert type(changed) is Positive
    with pytest.raises(ValueError, match="not positive"):
        Positive(-1, "one")
