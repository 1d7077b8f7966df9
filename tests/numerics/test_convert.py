import numpy as np
import pytest
import torch

from fedcert.errors import ShapeMismatch
from fedcert.numerics.convert import as_double

NUMBERS = [0.1, 2.5, -3.0]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_every_narrower_float_keeps_its_value(dtype: torch.dtype) -> None:
    given = torch.tensor(NUMBERS, dtype=dtype)
    found = as_double("numbers", given)
    assert found.dtype == torch.float64
    assert torch.equal(found.to(dtype), given)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.int32, np.uint8])
def test_numpy_arrays_keep_their_values(dtype: type) -> None:
    given = np.array([1, 2, 250], dtype=dtype)
    assert as_double("numbers", given).tolist() == given.tolist()


def test_lists_are_numbers_in_double_precision() -> None:
    assert as_double("numbers", NUMBERS).tolist() == NUMBERS


@pytest.mark.parametrize(
    "numbers",
    [
        np.array([1.0], dtype=np.longdouble),
        np.array([1j]),
        np.array(["1"]),
        np.array([None]),
        [[1.0], [1.0, 2.0]],
        torch.tensor([True]),
        torch.tensor([2**53 + 1]),
        np.array([2**53 + 1], dtype=np.uint64),
        np.array([2**64 - 1], dtype=np.uint64),
        np.ma.masked_array([1.0, 2.0], mask=[False, True]),
        torch.eye(2).to_sparse(),
        torch.ones(2, device="meta"),
    ],
)
def test_what_would_be_rounded_or_is_no_number_is_refused(numbers: object) -> None:
    with pytest.raises(ShapeMismatch, match="weights"):
        as_double("weights", numbers)
