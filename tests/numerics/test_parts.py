import pytest
import torch

from fedcert.numerics.parts import CACHED_ELEMENTS, in_blocks, in_parts, on_parts, room

CPU = torch.device("cpu")


@pytest.mark.parametrize("each", [0, 1, CACHED_ELEMENTS // 3, 10 * CACHED_ELEMENTS])
def test_parts_hold_everything_once_and_fit(each: int) -> None:
    parts = list(in_parts(7, each, CPU))
    assert [place for part in parts for place in range(7)[part]] == list(range(7))
    assert all(
        part.stop - part.start == 1 or (part.stop - part.start) * each <= CACHED_ELEMENTS for part in parts
    )


@pytest.mark.parametrize("each", [1, CACHED_ELEMENTS // 7, CACHED_ELEMENTS])
def test_blocks_hold_every_row_once_and_fit(each: int) -> None:
    held = torch.zeros(3, 5, dtype=torch.int64)
    for problems, rows in in_blocks((3, 5), each, CPU):
        held[problems, rows] += 1
        assert held[problems, rows].numel() * each <= CACHED_ELEMENTS
    assert (held == 1).all()


def test_a_part_for_which_memory_does_not_suffice_is_halved_and_order_is_kept() -> None:
    def work(part: slice) -> list[int]:
        if part.stop - part.start > 2:
            raise torch.OutOfMemoryError("too many")
        return list(range(part.start, part.stop))

    found = list(on_parts(work, [slice(0, 5), slice(5, 6)]))
    assert [own for _, result in found for own in result] == list(range(6))
    assert [(part.start, part.stop) for part, _ in found] == [(0, 2), (2, 3), (3, 5), (5, 6)]


def test_one_problem_that_does_not_fit_is_an_error() -> None:
    def work(part: slice) -> None:
        raise torch.OutOfMemoryError("too large")

    with pytest.raises(torch.OutOfMemoryError, match="too large"):
        list(on_parts(work, [slice(0, 2)]))


def test_a_processor_is_not_asked_for_its_memory() -> None:
    assert room(CPU, held=10, most=123) == 123
