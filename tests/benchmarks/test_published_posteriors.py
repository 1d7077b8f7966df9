"""Released posteriors become networks and laws that compute what their authors' code computes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from published_clones import MEANS, STORED, lay_out, pairs
from published_posteriors import ADDED, batten, from_keras, wicker2020, wicker2021


def test_the_network_computes_what_keras_computes() -> None:
    network, means, deviations = from_keras(pairs(MEANS), pairs(STORED))
    x = np.random.default_rng(2).random((5, 4))
    keras = np.maximum(x @ MEANS[0] + MEANS[1], 0) @ MEANS[2] + MEANS[3]
    ours = network(torch.from_numpy(means), torch.from_numpy(x)).numpy()
    assert np.allclose(ours, keras, rtol=0, atol=1e-6)
    assert deviations[1 * 4 + 2] == STORED[0][2, 1]  # of the weight from input 2 to neuron 1
    assert deviations[12 + 2] == STORED[1][2]


@pytest.mark.parametrize(
    ("means", "deviations", "reason"),
    [
        (pairs(MEANS), pairs(STORED)[:1], "2 layers, deviations of 1"),
        ([], [], "0 layers"),
        ([(MEANS[0].T, MEANS[1])], [(STORED[0].T, STORED[1])], "a kernel"),
        ([pairs(MEANS)[0]] * 2, [pairs(STORED)[0]] * 2, "after 3 neurons"),
        (pairs(MEANS), pairs([STORED[0].T, *STORED[1:]]), "other shapes"),
        (pairs(MEANS), pairs([-STORED[0], *STORED[1:]]), "not negative"),
        (pairs(MEANS), pairs([STORED[0] * np.nan, *STORED[1:]]), "finite"),
        (pairs([MEANS[0] * np.inf, *MEANS[1:]]), pairs(STORED), "finite"),
    ],
)
def test_what_is_no_posterior_is_refused(means: Any, deviations: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        from_keras(means, deviations)


def test_each_repository_gives_the_same_posterior(tmp_path: Path) -> None:
    lay_out(tmp_path)
    network, means, deviations = from_keras(pairs(MEANS), pairs(STORED))
    (one,), (two,), (three,) = (
        list(read(tmp_path / read.__name__)) for read in (batten, wicker2020, wicker2021)
    )
    assert [own.name for own in (one, two, three)] == ["1×3", "1×3", "VOGN 1×3 λ=0.0 ε=0.05"]
    for own in (one, two, three):
        assert own.network.describe() == network.describe()
        assert np.array_equal(own.means, means)
    assert np.array_equal(one.deviations, deviations)
    assert np.array_equal(two.deviations, deviations)
    assert np.allclose(three.deviations, deviations + ADDED, rtol=0, atol=1e-15)


def test_variances_give_their_roots(tmp_path: Path) -> None:
    lay_out(tmp_path)
    for read in (batten, wicker2020):
        (own,) = read(tmp_path / read.__name__, variances=True)
        (verified,) = read(tmp_path / read.__name__)
        assert np.allclose(own.deviations, np.sqrt(verified.deviations), rtol=1e-6)


def test_a_clone_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="clone"):
        list(batten(tmp_path / "absent"))
