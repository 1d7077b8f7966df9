"""Work in pieces: the same results and the same precision in every process."""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from flint import ctx
from saved import certify_all, make_federation, make_rules
from worker_tasks import precision, refuse

from fedcert_check import InvalidCertificate, check
from fedcert_check.balls import PRECISION
from fedcert_check.parallel import PIECES_PER_PROCESS, mapped, over_properties, pieces
from fedcert_check.progress import silent


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_work_is_done_in_order_at_the_checkers_precision(jobs: int) -> None:
    before = ctx.prec
    found = mapped(precision, range(5), jobs, silent, "work")
    assert [(item, bits) for item, bits, _ in found] == [(item, PRECISION) for item in range(5)]
    assert all((process == os.getpid()) == (jobs == 1) for _, _, process in found)
    assert ctx.prec == before


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_is_told_item_by_item(jobs: int) -> None:
    seen = []

    def track(items: Iterable, description: str, total: int | None = None) -> Iterable:
        seen.append((description, total))
        for item in items:
            seen.append(None)
            yield item

    mapped(precision, range(3), jobs, track, "work")
    assert seen == [("work", 3), None, None, None]


@pytest.mark.slow
def test_processes_are_not_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork copies the locks that other threads hold, and nobody releases the copies."""
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("a process was forked"))
    assert len(mapped(precision, range(2), 2, silent, "work")) == 2
    assert not multiprocessing.active_children()


class Asked:
    """A document of which only the number of properties counts."""

    def __init__(self, properties: int) -> None:
        self.properties = range(properties)


def squares(some: Sequence[int]) -> list[int]:
    return [p * p for p in some]


@pytest.mark.parametrize("count", [1, 7, 100])
def test_every_property_is_proved_once_and_in_order(count: int) -> None:
    split = getattr(over_properties, "__wrapped__", over_properties)  # the runtime checks want a document
    assert split(squares, Asked(count), 1, silent) == [p * p for p in range(count)]


@pytest.mark.parametrize(("count", "jobs"), [(1, 4), (7, 2), (100, 3)])
def test_pieces_cover_all_properties(count: int, jobs: int) -> None:
    found = pieces(count, jobs)
    assert [p for piece in found for p in piece] == list(range(count))
    assert len(found) <= PIECES_PER_PROCESS * jobs


@pytest.mark.slow
def test_two_processes_prove_what_one_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("fedcert_check.cost.MIN_SECONDS_PER_PROCESS", 1e-9)  # even for so little work
    federation = make_federation(widths=(2, 2))
    rule = make_rules(federation)["fedavg"]
    for number, certificate in enumerate(certify_all(federation, rule, 20)):
        path = federation.save(tmp_path / str(number), certificate, rule)
        assert check(path, jobs=1).proved == check(path, jobs=2).proved


def test_a_process_that_the_system_ends_is_said_to_have_run_out_of_memory() -> None:
    with pytest.raises(MemoryError, match="ended a worker process"):
        mapped(os._exit, [1, 1], 2, silent, "work")  # as where there is no memory for it


@pytest.mark.slow
def test_an_error_of_a_process_is_the_callers() -> None:
    with pytest.raises(InvalidCertificate, match="item 0"):
        mapped(refuse, range(3), 2, silent, "work")


@pytest.mark.slow
def test_a_script_that_starts_itself_again_is_told_how_not_to(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os\n"
        "from fedcert_check.parallel import mapped\n"
        "from fedcert_check.progress import silent\n"
        "mapped(abs, [1, 2], 2, silent, 'work')\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert done.returncode == 1
    assert "ChildProcessError: no worker process could start" in done.stderr.splitlines()[-1]
