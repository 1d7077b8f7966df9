import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fedcert.data.partition import dirichlet_partition
from fedcert.errors import DataError, InvalidConfig
from fedcert.randomness import stream

LABELS = torch.arange(1000) % 10


def partition(label: Tensor, clients: int, concentration: float, seed: int = 0) -> list[list[int]]:
    shards = dirichlet_partition(label, clients, concentration, stream(seed, "partition"))
    return [shard.tolist() for shard in shards]


@pytest.mark.slow
@given(
    labels=st.lists(st.integers(0, 9), min_size=1, max_size=60),
    clients=st.integers(1, 6),
    concentration=st.floats(1e-3, 1e3),
    seed=st.integers(0, 2**32),
)
@settings(deadline=None, max_examples=100)
def test_every_example_goes_to_exactly_one_client_and_no_client_is_empty(
    labels: list[int], clients: int, concentration: float, seed: int
) -> None:
    try:
        shards = partition(torch.tensor(labels), clients, concentration, seed)
    except DataError:
        assert clients > 1
        return
    assert len(shards) == clients
    assert all(shards)
    assert sorted(index for shard in shards for index in shard) == list(range(len(labels)))


@given(seed=st.integers(0, 2**62))
@settings(deadline=None, max_examples=20)
def test_the_seed_decides(seed: int) -> None:
    assert partition(LABELS, 4, 1.0, seed) == partition(LABELS, 4, 1.0, seed)
    assert partition(LABELS, 4, 1.0, seed) != partition(LABELS, 4, 1.0, seed + 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("examples", "clients", "concentration"), [(3, 4, 10.0), (1, 2, 1.0), (10, 10, 1e-3), (1000, 200, 1e-3)]
)
def test_an_impossible_setting_is_an_error_that_says_what_to_change(
    examples: int, clients: int, concentration: float
) -> None:
    with pytest.raises(DataError, match="fewer clients or a larger concentration") as caught:
        partition(LABELS[:examples], clients, concentration)
    assert str(clients) in str(caught.value)
    assert str(concentration) in str(caught.value)


@pytest.mark.parametrize("clients", [0, -1])
def test_a_partition_needs_a_client(clients: int) -> None:
    with pytest.raises(InvalidConfig, match=str(clients)):
        partition(LABELS, clients, 1.0)


@pytest.mark.parametrize("concentration", [0.0, -1.0, float("nan"), float("inf")])
def test_a_concentration_is_positive_and_finite(concentration: float) -> None:
    with pytest.raises(InvalidConfig, match=str(concentration)):
        partition(LABELS, 3, concentration)


def test_no_examples_at_all_cannot_be_split() -> None:
    with pytest.raises(DataError):
        partition(LABELS[:0], 2, 1.0)


def skew(concentration: float, seed: int) -> float:
    """Mean over clients and classes of |share − 1/n|: 0 for an even split."""
    shards = partition(LABELS, 4, concentration, seed)
    counts = torch.stack([LABELS[shard].bincount(minlength=10) for shard in shards])
    return (counts / 100 - 1 / 4).abs().mean().item()


def test_a_smaller_concentration_is_more_skewed() -> None:
    skews = [
        sum(skew(concentration, seed) for seed in range(10)) / 10 for concentration in (0.1, 1.0, 10.0, 1e4)
    ]
    assert skews == sorted(skews, reverse=True)
    assert skews[0] > 5 * skews[2]
    assert skews[3] < 0.01
