import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from folders import tree

from fedcert.app.journal import PARTS, RESULT, Format, Journal, publish
from fedcert.errors import InvalidMessage, OutputExists
from fedcert.wire import atomic

IDENTITY: dict[str, Any] = {"fedcert": "1", "config": {"seed": 0, "hidden": [8, 8]}}


def load(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if not text.endswith("!"):
        raise InvalidMessage(f"{path}: not all of it")
    return text


TEXT = Format[str](lambda text, path: atomic.write(path, text), load)


def parts(version: str) -> dict[str, str]:
    names = ["posteriors/a", "posteriors/b", "messages/a", "messages/b", "certificates/direct", *PARTS[2:]]
    return {name: f"{name} of {version}!" for name in names}


def carry_out(folder: Path, version: str, overwrite: bool = False) -> list[str]:
    """A run of small parts; the names of those that had to be made."""
    made = []

    def make(name: str, text: str) -> Callable[[], str]:
        return lambda: made.append(name) or text  # type: ignore[func-returns-value]

    if not publish(folder) or load(folder / RESULT) != f"{RESULT} of {version}!":
        with Journal(folder, IDENTITY | {"version": version}, overwrite) as journal:
            for name, text in parts(version).items():
                assert journal.once(name, make(name, text), TEXT) == text
            journal.complete()
    return made


def finished(version: str) -> dict[str, bytes | None]:
    kept = {name: text.encode() for name, text in parts(version).items() if not name.startswith("posteriors")}
    return {"messages": None, "certificates": None, **kept}


def test_a_run_leaves_its_parts_and_no_others(tmp_path: Path) -> None:
    assert carry_out(tmp_path / "deep" / "run", "1") == list(parts("1"))
    assert tree(tmp_path / "deep" / "run") == finished("1")


def test_a_part_is_made_once_and_found_by_the_next_process(tmp_path: Path) -> None:
    with Journal(tmp_path, IDENTITY) as journal:
        assert not journal.resumed
        assert journal.once("messages/a", lambda: "first!", TEXT) == "first!"
    with Journal(tmp_path, IDENTITY) as journal:
        assert journal.resumed
        assert journal.once("messages/a", lambda: "second!", TEXT) == "first!"


def test_a_part_that_cannot_be_read_is_made_again(tmp_path: Path) -> None:
    with Journal(tmp_path, IDENTITY) as journal:
        journal.once("part", lambda: "whole!", TEXT)
        (journal.folder / "part").write_text("who", encoding="utf-8")
        assert journal.once("part", lambda: "whole!", TEXT) == "whole!"
        assert load(journal.folder / "part") == "whole!"


def test_an_unfinished_run_of_another_identity_is_refused_unless_it_may_be_replaced(tmp_path: Path) -> None:
    with Journal(tmp_path, IDENTITY) as journal:
        journal.once("part", lambda: "old!", TEXT)
    before = tree(tmp_path)
    other = IDENTITY | {"config": {"seed": 1}}
    with pytest.raises(OutputExists, match=r"another configuration.*--overwrite"):
        Journal(tmp_path, other)
    assert tree(tmp_path) == before
    with Journal(tmp_path, other, overwrite=True) as journal:
        assert not journal.resumed
        assert journal.once("part", lambda: "new!", TEXT) == "new!"


def test_overwrite_does_not_give_up_a_run_of_the_same_identity(tmp_path: Path) -> None:
    for resumed in (False, True):
        with Journal(tmp_path, IDENTITY, overwrite=True) as journal:
            assert journal.resumed == resumed


def test_two_processes_do_not_work_in_one_folder(tmp_path: Path) -> None:
    with Journal(tmp_path, IDENTITY), pytest.raises(OutputExists, match="another fedcert"):
        Journal(tmp_path, IDENTITY)
    with Journal(tmp_path, IDENTITY) as journal:
        assert journal.resumed


def test_what_a_killed_process_left_half_written_is_removed(tmp_path: Path) -> None:
    with Journal(tmp_path, IDENTITY) as journal:
        (journal.folder / "messages").mkdir()
        (journal.folder / "messages" / f".a.123{atomic.PARTIAL}").touch()
    with Journal(tmp_path, IDENTITY):
        assert set(tree(tmp_path)) == {"unfinished", "unfinished/config.json", "unfinished/messages"}


@pytest.mark.parametrize("before", ["", "old", "old/mine"])
def test_a_discarded_run_leaves_what_was_there_before(tmp_path: Path, before: str) -> None:
    (tmp_path / before).mkdir(parents=True, exist_ok=True)
    existing = tree(tmp_path)
    with Journal(tmp_path / "old" / "new" / "run", IDENTITY) as journal:
        journal.once("messages/a", lambda: "part!", TEXT)
        journal.discard()
    assert tree(tmp_path) == existing


class Killed(BaseException):
    """The process is no more."""


STEPS = ("rename", "replace", "unlink", "rmdir", "mkdir")


class Life:
    """Counts the steps on the disk; after the last one the process can do none, not even clean up."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.steps = 10**9
        for name in STEPS:
            patch.setattr(os, name, self.step(getattr(os, name)))
        patch.setattr(os, "fsync", self.step(lambda handle: None))  # a step that need not be waited for
        reading, writing = io.open, self.step(io.open)
        patch.setattr(
            io, "open", lambda path, mode, *a: (writing if "w" in mode else reading)(path, mode, *a)
        )

    def step(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def act(*arguments: Any, **options: Any) -> Any:
            self.steps -= 1
            if self.steps < 0:
                raise Killed
            return real(*arguments, **options)

        return act


@pytest.mark.slow
@pytest.mark.parametrize("start", ["nothing", "an earlier run"])
def test_a_run_killed_at_any_step_goes_on_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    life = Life(monkeypatch)
    for steps in range(1000):
        life.steps = 10**9
        folder = tmp_path / str(steps)
        folder.mkdir()
        (folder / "notes.txt").write_text("mine", encoding="utf-8")
        if start == "an earlier run":
            carry_out(folder, "1")
        life.steps = steps
        try:
            carry_out(folder, "2", overwrite=True)
            break
        except Killed:
            life.steps = 10**9
        if (folder / RESULT).exists():
            holds = "1" if "1" in load(folder / RESULT) else "2"
            assert tree(folder).items() >= finished(holds).items()
        carry_out(folder, "2", overwrite=True)
        assert tree(folder) == finished("2") | {"notes.txt": b"mine"}
    assert 60 < steps < 999
