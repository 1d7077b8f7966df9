import pytest
import torch
from torch import Tensor

from fedcert.randomness import stream


def numbers(seed: int, *names: str | int) -> Tensor:
    return torch.rand(2000, generator=stream(seed, *names))


def test_the_same_seed_and_names_give_the_same_numbers() -> None:
    assert torch.equal(numbers(3, "cells", 1), numbers(3, "cells", 1))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((0, "cells"), (1, "cells")),
        ((0, "cells"), (0, "direct")),
        ((0, "cells", 0), (0, "cells", 1)),
        ((0, "cells", 0), (0, "cells")),
        ((0, "cells", 1), (0, "cells", "1")),
        ((0, "a", "b"), (0, "b", "a")),
        ((0, "a", "b"), (0, "ab")),
        ((1, 23), (12, 3)),
        ((2**64,), (0,)),
    ],
)
def test_other_seeds_or_names_give_uncorrelated_numbers(
    one: tuple[int, str | int], other: tuple[int, str | int]
) -> None:
    correlation = torch.corrcoef(torch.stack([numbers(*one), numbers(*other)]))[0, 1]
    assert abs(correlation) < 0.15  # 6.7 deviations of independent numbers


def test_the_global_generator_is_neither_read_nor_moved() -> None:
    state = torch.get_rng_state()
    before = numbers(0, "cells")
    assert torch.equal(torch.get_rng_state(), state)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        assert torch.equal(numbers(0, "cells"), before)
