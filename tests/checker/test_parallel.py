"""Work in pieces: the same results and the same precision in every process."""

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from flint import ctx
from interrupts import interrupted
from saved import certify_all, make_federation, make_rules
from worker_tasks import precision, refuse

from fedcert_check import InvalidCertificate, check
from fedcert_check.balls import PRECISION
from fedcert_check.parallel import PIECES_PER_PROCESS, _elsewhere, mapped, over_properties, pieces, proving_on
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
    others = set(multiprocessing.active_children())  # of tests before this one
    assert len(mapped(precision, range(2), 2, silent, "work")) == 2
    assert set(multiprocessing.active_children()) <= others


INTERRUPTED = """
from pathlib import Path
from typing import Any
from worker_tasks import linger
from fedcert_check.parallel import mapped
from fedcert_check.progress import silent
if __name__ == "__main__":
    try:
        Path("starting").touch()
        mapped(linger, ["mark"] * 4, 2, silent, "work")
    except KeyboardInterrupt:
        raise SystemExit(130)
"""


@pytest.mark.slow
@pytest.mark.parametrize("terminal", [True, False], ids=["from a terminal", "to the first process"])
@pytest.mark.parametrize("workers", [0, 1, 2])
def test_an_interrupt_ends_the_workers_at_once_and_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool, workers: int
) -> None:
    """Also while workers start, when half of them would be forgotten."""
    (tmp_path / "script.py").write_text(INTERRUPTED, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, [Path(__file__).parents[1], *sys.path])))

    def marks() -> list[Path]:
        return list(tmp_path.glob("mark-*"))

    def ready() -> bool:
        return (tmp_path / "starting").exists() and len(marks()) >= workers

    began = time.monotonic()
    assert interrupted(["script.py"], ready, tmp_path, terminal) == (130, [])
    assert time.monotonic() - began < 60
    time.sleep(0.2)
    alive = [Path("/proc") / mark.name.partition("-")[2] / "cmdline" for mark in marks()]
    assert not [path for path in alive if path.exists() and path.read_bytes()]  # a zombie has none


class Asked:
    """A document of which only the properties that are asked for count."""

    def __init__(self, *properties: int) -> None:
        self.asked = properties


def squares(some: Sequence[int]) -> list[int]:
    return [p * p for p in some]


@pytest.mark.parametrize("count", [1, 7, 100])
def test_every_property_is_proved_once_and_in_order(count: int) -> None:
    split = getattr(over_properties, "__wrapped__", over_properties)  # the runtime checks want a document
    assert split(squares, Asked(*range(count)), 1, silent) == [p * p for p in range(count)]
    assert split(squares, Asked(2, 30, 31), 1, silent) == [4, 900, 961]


@pytest.mark.parametrize(("count", "jobs"), [(1, 4), (7, 2), (100, 3)])
def test_pieces_cover_all_properties(count: int, jobs: int) -> None:
    found = pieces(count, jobs)
    assert [p for piece in found for p in piece] == list(range(count))
    assert len(found) <= PIECES_PER_PROCESS * jobs


@pytest.mark.slow
@pytest.mark.usefixtures("without_annotations")
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
    assert "ChildProcessError: no worker process could start" in done.stderr  # warnings may follow


def backwards(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Workers elsewhere, which are done with the last piece first."""
    for place in reversed(range(len(items))):
        yield place, function(items[place])


def halved(number: int) -> int:
    if number % 2:
        raise InvalidCertificate(f"{number} is odd")
    return number // 2


def test_pieces_are_sent_to_workers_elsewhere_and_put_in_order() -> None:
    with proving_on(backwards):
        assert mapped(halved, [2, 4, 6], 3, silent, "halving") == [1, 2, 3]
    assert _elsewhere.get() is None


def test_what_a_worker_elsewhere_refuses_is_refused_here() -> None:
    with proving_on(backwards), pytest.raises(InvalidCertificate, match="3 is odd"):
        mapped(halved, [2, 3, 4], 3, silent, "halving")
