"""The folder of a run while it is being made: a killed run resumes where it stopped.

A run is made in RUN/unfinished, where each part is written once, as soon as it is known. When all parts
are there the folder is renamed to RUN/complete, which decides that the run is done, and the parts are
moved into RUN, result.json last. Every step can be repeated, so it does not matter where one is killed.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from fedcert.app.jsonfile import read_json
from fedcert.errors import FedcertError, OutputExists, UnreadableFile
from fedcert.wire import atomic

UNFINISHED, COMPLETE = "unfinished", "complete"
IDENTITY, RESULT = "config.json", "result.json"
PROPERTIES = "properties.json"
PARTS = ("messages", "certificates", "properties.csv", PROPERTIES, "report.html", RESULT)
"""What a run leaves behind."""

T = TypeVar("T")


@dataclass(frozen=True)
class Format(Generic[T]):
    """How a part is written, atomically, and read back.

    Attributes:
        save: writes a part to a path.
        load: reads it.
    """

    save: Callable[[T, Path], None]
    load: Callable[[Path], T]


@runtime_checkable
class Once(Protocol):
    """Makes a part of a run, or finds it made."""

    def __call__(self, name: str, make: Callable[[], T], form: Format[T]) -> T:
        """The part of this name."""
        ...


def afresh(name: str, make: Callable[[], T], form: Format[T]) -> T:
    """Makes every part, keeps none."""
    return make()


def find_or_make(path: Path, make: Callable[[], T], form: Format[T]) -> T:
    """A part: read where it is there and sound, else made and written.

    Args:
        path: where it belongs.
        make: makes it; the same every time.
        form: how it is written and read.
    """
    if path.exists():
        with suppress(FedcertError):  # what cannot be read is made again
            return form.load(path)
    part = make()
    form.save(part, path)
    return part


class Journal:
    """RUN/unfinished, open to one process at a time; a context, in which the parts are made.

    Attributes:
        folder: where parts are written.
        resumed: whether an earlier process has begun the run.
    """

    def __init__(self, run: Path, identity: dict[str, Any], overwrite: bool = False) -> None:
        """Begin a run, or resume one of the same identity.

        Args:
            run: the run's folder.
            identity: what determines the numbers of the run; a part of its result.json.
            overwrite: whether an unfinished run of another identity is given up.
        """
        self.folder = run / UNFINISHED
        self._made = [place for place in (run, *run.absolute().parents) if not place.exists()]
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self.folder, os.O_RDONLY)
        try:
            self.resumed = self._claim(identity, overwrite)
        except BaseException:
            os.close(self._lock)
            raise

    def _claim(self, identity: dict[str, Any], overwrite: bool) -> bool:
        """Make the folder this process's own; whether there is a run to resume."""
        run = self.folder.parent
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the lock of a killed process is free
        except OSError as error:
            raise OutputExists(
                f"{run}: another fedcert is at work there: wait, or choose another --out"
            ) from error
        held = _read(self.folder / IDENTITY)
        if held not in (None, identity) and not overwrite:
            raise OutputExists(
                f"{run} holds an unfinished run of another configuration: finish it with its own options,"
                " choose another --out, or --overwrite"
            )
        for stray in self.folder.rglob(f"*{atomic.PARTIAL}"):
            stray.unlink()
        if held != identity:
            for part in self.folder.iterdir():
                remove(part)
            atomic.write(self.folder / IDENTITY, json.dumps(identity, indent=2) + "\n")
        return held == identity

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)

    def once(self, name: str, make: Callable[[], T], form: Format[T]) -> T:
        """The part of this name: read where it is there and sound, else made and written.

        Args:
            name: a path below the folder.
            make: makes the part; the same every time.
            form: how it is written and read.
        """
        return find_or_make(self.folder / name, make, form)

    def complete(self) -> None:
        """Declare that all parts are there, and move them into the run's folder."""
        self.folder.rename(self.folder.with_name(COMPLETE))
        atomic.sync_folder(self.folder.parent)
        publish(self.folder.parent)

    def discard(self) -> None:
        """Leave nothing behind that was not there before."""
        remove(self.folder)
        for place in self._made:
            with suppress(OSError):  # somebody else's file is in it
                place.rmdir()


def publish(run: Path) -> bool:
    """Move the parts of a complete run into its folder, over an earlier run; whether there was one.

    A part is either still in RUN/complete or already in its place, so this can be repeated at will.
    """
    complete = run / COMPLETE
    if not complete.is_dir():
        return False
    if (complete / RESULT).exists():
        (run / RESULT).unlink(missing_ok=True)  # a folder with a result.json holds one whole run
    for name in PARTS:
        if (complete / name).exists():
            remove(run / name)
            (complete / name).rename(run / name)
            atomic.sync_folder(run)
    remove(complete)
    return True


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _read(path: Path) -> object:
    """The content of a JSON file; None where there is none."""
    try:
        return read_json(path)
    except UnreadableFile:
        return None
