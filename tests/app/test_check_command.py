"""`fedcert check` with workers elsewhere; what a test sends to them is defined inside it."""

import os
import signal
from pathlib import Path

import pytest

from fedcert.app.check_command import elsewhere
from fedcert.errors import InvalidConfig, PieceFailed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["joblib", "ray"])
def test_a_piece_whose_worker_is_killed_is_begun_again(name: str, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="needs the extra fedcert[ray]")

    def halved(number: int) -> int:
        if number == 4 and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number // 2

    workers, count = elsewhere(name, None, 2)
    assert count == 2
    assert sorted(workers(halved, [2, 4, 6])) == [(0, 1), (1, 2), (2, 3)]
    assert (tmp_path / "killed").exists()


@pytest.mark.slow
def test_a_piece_that_fails_is_named() -> None:
    def fail(number: int) -> int:
        raise ZeroDivisionError("by accident")

    workers, _ = elsewhere("joblib", None, 1)
    with pytest.raises(PieceFailed, match=r"piece 1 of 1(.|\n)*by accident"):
        list(workers(fail, [1]))


def test_an_engine_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="joblib or ray"):
        elsewhere("abacus", None, None)
