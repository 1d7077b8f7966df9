"""Sums of blocks as messages state them."""

import numpy as np
import pytest

from fedcert_check.blocks import DENSE, DIAGONAL, KRONECKER, MAX_BLOCKS, BlockGaussian
from fedcert_check.errors import InvalidCertificate
from fedcert_check.laws import LAWS, diagonal

TABLE = np.array([[DIAGONAL, 0, 2, 1], [DENSE, 1, 2, 3], [KRONECKER, 2, 1, 2]], dtype=float)
NUMBERS = np.arange(2 + 6 + 7, dtype=float)
FITTING = {"law.loc": np.zeros(4), "law.blocks": TABLE, "law.numbers": NUMBERS}


def test_blocks_are_what_a_message_states() -> None:
    law = LAWS["block-gaussian"](FITTING, 4)
    assert isinstance(law, BlockGaussian)
    first, second, third = law.blocks
    assert first.matrix.tolist() == [[0.0], [1.0]]
    assert second.matrix.tolist() == [[2.0, 3.0, 4.0], [5.0, 6.0, 7.0]]
    left, right, scale = third.kronecker
    assert (left.tolist(), right.tolist(), scale.tolist()) == (
        [[8.0]],
        [[9.0, 10.0], [11.0, 12.0]],
        [[13.0, 14.0]],
    )
    assert [own.stop for own in law.blocks] == [2, 3, 4]
    with pytest.raises(InvalidCertificate, match="depend on each other"):
        diagonal(law)


def changed(row: int, column: int, value: float) -> np.ndarray:
    table = TABLE.copy()
    table[row, column] = value
    return table


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"law.blocks": changed(0, 0, 7)}, "a block of type 7"),
        ({"law.blocks": changed(0, 0, 1.5)}, "no whole number"),
        ({"law.blocks": changed(0, 1, -1)}, "no whole number"),
        ({"law.blocks": changed(0, 2, 2.0**50)}, "no whole number"),
        ({"law.blocks": changed(1, 3, 2.0**30)}, "fewer numbers"),
        ({"law.blocks": changed(1, 1, 3)}, "a block up to parameter 5 of 4"),
        ({"law.blocks": changed(0, 3, 2)}, "one number a parameter|numbers"),
        ({"law.blocks": TABLE[:, :3]}, "law.blocks"),
        ({"law.blocks": TABLE[:2]}, "more numbers"),
        ({"law.blocks": np.zeros((MAX_BLOCKS + 1, 4))}, "10001 blocks"),
        ({"law.numbers": NUMBERS[:-1]}, "fewer numbers"),
        ({"law.numbers": -NUMBERS}, "a scale is negative"),
        ({"law.numbers": NUMBERS * np.nan}, "law.numbers is not finite"),
        ({"law.loc": np.zeros(3)}, "law.loc"),
    ],
)
def test_what_is_no_sum_of_blocks_is_refused(change: dict[str, np.ndarray], complaint: str) -> None:
    with pytest.raises(InvalidCertificate, match=complaint):
        LAWS["block-gaussian"](FITTING | change, 4)
