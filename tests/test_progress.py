from collections.abc import Iterator

from fedcert.progress import silent


def test_silent_passes_the_items_through_in_order() -> None:
    assert list(silent([3, 1, 2], "work")) == [3, 1, 2]
    assert list(silent([], "work", 0)) == []


def test_silent_asks_for_an_item_only_when_it_is_wanted() -> None:
    asked = []

    def items() -> Iterator[int]:
        for i in range(3):
            asked.append(i)
            yield i

    watched = iter(silent(items(), "work", 3))
    assert asked == []
    assert next(watched) == 0
    assert asked == [0]
