"""The folder of a run while it is being made: a killed run resumes where it stopped.

A run is made in RUN/unfinished, where each part is written once, as soon as it is known. When all parts
are there, the folder is renamed to RUN/complete, which marks the run as done, and the parts are moved
into RUN, result.json last. Every step can be repeated, so the process may be killed at any point.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Never, Protocol, TypeVar, runtime_checkable

from fedcert.app.jsonfile import read_json
from fedcert.errors import FedcertError, OutputExists, UnreadableFile
from fedcert.wire import atomic

UNFINISHED, COMPLETE = "unfinished", "complete"
IDENTITY, RESULT = "config.json", "result.json"
PROPERTIES = "properties.json"
PARTS = ("messages", "certificates", "confidence", "properties.csv", PROPERTIES, "report.html", RESULT)
"""What a run leaves behind."""

T = TypeVar("T")


@dataclass(frozen=True)
class Format(Generic[T]):
    """How a part is written, atomically, and read back.

    Attributes:
        save: writes a part to a path.
        load: reads a part from a path.
    """

    save: Callable[[T, Path], None]
    load: Callable[[Path], T]


@runtime_checkable
class Once(Protocol):
    """Makes a part of a run, or reads it back if it was made before."""

    def __call__(self, name: str, make: Callable[[], T], form: Format[T]) -> T:
        """The part with this name."""
        ...


def afresh(name: str, make: Callable[[], T], form: Format[T]) -> T:
    """Make the part, without writing it to a file."""
    return make()


class _Absent(Exception):
    """A part that is not there."""


def _absent() -> Never:
    raise _Absent


def find(once: Once, name: str, form: Format[T]) -> T | None:
    """The part with this name, if it was made before; otherwise None.

    Args:
        once: makes parts, or reads them back.
        name: the part's path, relative to the folder.
        form: how the part is read.
    """
    try:
        return once(name, _absent, form)
    except _Absent:
        return None


def find_or_make(path: Path, make: Callable[[], T], form: Format[T]) -> T:
    """The part at a path: read if the file exists and is sound, otherwise made and written.

    Args:
        path: the part's file.
        make: makes the part; the same every time.
        form: how the part is written and read.
    """
    if path.exists():
        with suppress(FedcertError):  # a file that cannot be read is made again
            return form.load(path)
    part = make()
    form.save(part, path)
    return part


class Journal:
    """RUN/unfinished, open to one process at a time; a context manager, inside which the parts are made.

    Attributes:
        folder: the folder that parts are written to.
        resumed: whether an earlier process began the run.
    """

    def __init__(self, run: Path, identity: dict[str, Any], overwrite: bool = False) -> None:
        """Begin a run, or resume one of the same identity.

        Args:
            run: the run's folder.
            identity: what determines the numbers of the run; a part of its result.json.
            overwrite: whether an unfinished run of another identity may be discarded.
        """
        self.folder = run / UNFINISHED
        self._made = [place for place in (run, *run.absolute().parents) if not place.exists()]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.folder, os.O_RDONLY)
        except OSError as error:
            raise atomic.cannot_write(self.folder, error) from error
        try:
            self.resumed = self._claim(identity, overwrite)
        except BaseException:
            os.close(self._lock)
            raise

    def _claim(self, identity: dict[str, Any], overwrite: bool) -> bool:
        """Claim the folder for this process; returns whether there is a run to resume."""
        run = self.folder.parent
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # freed when its process is killed
        except OSError as error:
            raise OutputExists(
                f"{run}: another fedcert process is using this folder: wait, or choose another --out"
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
        """The part with this name: read if its file exists and is sound, otherwise made and written.

        Args:
            name: the part's path, relative to the folder.
            make: makes the part; the same every time.
            form: how the part is written and read.
        """
        return find_or_make(self.folder / name, make, form)

    def complete(self) -> None:
        """Mark the run as complete, and move its parts into the run's folder."""
        self.folder.rename(self.folder.with_name(COMPLETE))
        atomic.sync_folder(self.folder.parent)
        publish(self.folder.parent)

    def discard(self) -> None:
        """Remove everything that this journal created."""
        remove(self.folder)
        for place in self._made:
            with suppress(OSError):  # it holds files that are not ours
                place.rmdir()


def publish(run: Path) -> bool:
    """Move the parts of a complete run into its folder, replacing an earlier run.

    Each part is either still in RUN/complete or already in its place, so this can be repeated at will.
    Returns whether there was a complete run.
    """
    complete = run / COMPLETE
    if not complete.is_dir():
        return False
    if (complete / RESULT).exists():
        (run / RESULT).unlink(missing_ok=True)  # a folder with a result.json holds one complete run
    for name in PARTS:
        if (complete / name).exists():
            remove(run / name)
            (complete / name).rename(run / name)
            atomic.sync_folder(run)
    remove(complete)
    return True


def remove(path: Path) -> None:
    """Remove a file or a folder, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _read(path: Path) -> object:
    """The content of a JSON file; None if it cannot be read."""
    try:
        return read_json(path)
    except UnreadableFile:
        return None
