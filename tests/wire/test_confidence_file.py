"""Files of confidence bounds: what is written, and what is refused."""

from pathlib import Path

import pytest
from confidence_cases import random_problem

from fedcert.confidence import bound
from fedcert.errors import ShapeMismatch
from fedcert.rules import LinearRule
from fedcert.wire.confidence_file import save_confidence


def test_equal_bounds_make_equal_files(tmp_path: Path) -> None:
    problem = random_problem(0)
    for name in ("one", "two"):
        save_confidence(tmp_path / name, bound(problem, 10), problem)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_bound_is_saved_with_the_problem_that_it_was_made_for(tmp_path: Path) -> None:
    problem = random_problem(0)
    other = problem.under(LinearRule.fedavg([3, 1, 1]))
    with pytest.raises(ShapeMismatch, match="another problem"):
        save_confidence(tmp_path / "file", bound(problem, 10), other)
    with pytest.raises(ShapeMismatch, match="other messages"):
        save_confidence(tmp_path / "file", bound(problem, 10, messages=["a", "b", "c"]), problem)
