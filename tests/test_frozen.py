from dataclasses import dataclass

import pytest
import torch

from fedcert.frozen import rows_of, unchecked, with_rows
from fedcert.numerics.enclosure import Enclosure


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


def test_rows_are_taken_of_every_tensor_and_nothing_else() -> None:
    numbers = torch.arange(4, dtype=torch.float64)
    found = rows_of((numbers, Enclosure.exactly(numbers), Positive(1, "one")), torch.tensor([2, 0]))
    assert found[0].tolist() == found[1].lower.tolist() == [2.0, 0.0]
    assert found[2] == Positive(1, "one")


def test_rows_are_replaced_in_every_tensor_and_nothing_is_changed_in_place() -> None:
    numbers = torch.arange(4, dtype=torch.float64)
    data = (numbers, Enclosure.exactly(numbers), Positive(1, "one"), None)
    chosen = torch.tensor([False, True, False, True])
    found = with_rows(data, chosen, rows_of((10 + numbers, Enclosure.exactly(-numbers), *data[2:]), chosen))
    assert found[0].tolist() == [0.0, 11.0, 2.0, 13.0]
    assert found[1].lower.tolist() == found[1].upper.tolist() == [0.0, -1.0, 2.0, -3.0]
    assert found[2:] == (Positive(1, "one"), None)
    assert numbers.tolist() == [0.0, 1.0, 2.0, 3.0]
