from pathlib import Path

import pytest
import torch

from fedcert.data import DATASETS, load
from fedcert.data.dataset import Dataset, Split
from fedcert.errors import DataError
from fedcert.randomness import stream


def numbered(first: int, count: int) -> Split:
    """Inputs that are their own number, so that a subset can be traced."""
    number = torch.arange(first, first + count)
    return Split(number.double().unsqueeze(-1), number % 10)


def numbers(split: Split) -> list[int]:
    assert (split.label == split.x.squeeze(-1).long() % 10).all()
    return split.x.squeeze(-1).long().tolist()


def with_test_split() -> Dataset:
    return Dataset(numbered(0, 50), numbered(100, 20), 10, (1, 1))


def without_test_split(count: int = 50) -> Dataset:
    return Dataset(numbered(0, count), None, 10, (1, 1))


@pytest.mark.parametrize("count", [5, 50, 53])
def test_data_without_a_split_are_cut_80_to_20(count: int) -> None:
    train, test = without_test_split(count).subset(count, count, stream(0, "subset"))
    assert len(train) == count * 4 // 5
    assert sorted(numbers(train) + numbers(test)) == list(range(count))


@pytest.mark.parametrize("data", [with_test_split(), without_test_split()], ids=["split", "no split"])
@pytest.mark.parametrize(("train_size", "test_size"), [(1, 1), (7, 3), (30, 10)])
def test_sizes_are_capped_and_the_parts_are_disjoint(data: Dataset, train_size: int, test_size: int) -> None:
    train, test = data.subset(train_size, test_size, stream(0, "subset"))
    assert (len(train), len(test)) == (train_size, test_size)
    assert len(set(numbers(train) + numbers(test))) == train_size + test_size


def test_a_given_split_is_kept() -> None:
    train, test = with_test_split().subset(1000, 1000, stream(0, "subset"))
    assert sorted(numbers(train)) == list(range(50))
    assert sorted(numbers(test)) == list(range(100, 120))


@pytest.mark.parametrize("data", [with_test_split(), without_test_split()], ids=["split", "no split"])
def test_the_seed_decides_the_subset(data: Dataset) -> None:
    def drawn(seed: int) -> list[list[int]]:
        return [numbers(part) for part in data.subset(20, 8, stream(seed, "subset"))]

    assert drawn(0) == drawn(0)
    assert drawn(0) != drawn(1)


def test_examples_keep_their_position_through_subsets_of_subsets() -> None:
    split = numbered(100, 20).numbered()
    some = split[torch.tensor([7, 3, 19])]
    assert some.index is not None
    assert some.index.tolist() == [7, 3, 19]
    last = some.to("cpu")[torch.tensor([2, 0])]
    assert last.index is not None
    assert (last.index.tolist(), numbers(last)) == ([19, 7], [119, 107])
    assert numbered(0, 5)[torch.tensor([1])].index is None, "what is not known stays unknown"


@pytest.mark.parametrize("data", [with_test_split(), without_test_split()], ids=["split", "no split"])
def test_a_subset_of_numbered_data_says_where_each_example_was(data: Dataset) -> None:
    whole = data.numbered()
    train, test = whole.subset(20, 8, stream(0, "subset"))
    for part, source in ((train, whole.train), (test, whole.test or whole.train)):
        assert part.index is not None
        assert torch.equal(source.x[part.index], part.x)
        assert torch.equal(source.label[part.index], part.label)
    plain = data.subset(20, 8, stream(0, "subset"))
    assert [numbers(part) for part in plain] == [numbers(train), numbers(test)], "the same examples"


@pytest.mark.usefixtures("without_annotations")
def test_inputs_and_labels_belong_together() -> None:
    with pytest.raises(DataError, match="3 inputs but 2 labels"):
        Split(torch.zeros(3, 1), torch.zeros(2, dtype=torch.int64))


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(DataError) as caught:
        load("cifar")
    assert all(name in str(caught.value) for name in ("cifar", *DATASETS))


def test_the_data_folder_is_the_argument_or_else_the_environment_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEDCERT_DATA", str(tmp_path / "variable"))
    with pytest.raises(DataError, match="variable"):
        load("mnist")
    with pytest.raises(DataError, match="argument"):
        load("mnist", tmp_path / "argument")
