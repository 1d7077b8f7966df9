import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedcert.federation.philox import random_words, ten_rounds

word = st.integers(0, 2**64 - 1)


@settings(max_examples=50, deadline=None)
@given(st.tuples(word, word), st.integers(0, 2**63 - 1), st.integers(1, 2**62))
def test_ten_rounds_give_the_words_of_numpy(key: tuple[int, int], stream: int, first: int) -> None:
    bits = np.random.Philox(
        key=np.array(key, dtype=np.uint64), counter=np.array([first - 1, stream, 0, 0], dtype=np.uint64)
    )
    expected = torch.from_numpy(bits.random_raw(12).view(np.int64)).view(3, 4)
    assert torch.equal(random_words(key, stream, first, 3), expected)
    rounds = ten_rounds(key, stream, torch.arange(first, first + 3))
    assert torch.equal(torch.stack(rounds, -1), expected)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gives_the_same_words() -> None:
    here, there = (random_words((2**63 + 5, 7), 3, 11, 1000, device) for device in ("cpu", "cuda"))
    assert torch.equal(here, there.cpu())
