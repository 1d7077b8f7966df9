"""The inputs of a run in pieces, which an engine spreads over processes or machines.

How inputs are cut does not depend on the engine, so that neither do the numbers: one process proves piece by
piece, too. A piece that is done is kept, so that a run that was killed resumes there.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath
from typing import Generic, TypeVar

from fedcert.app.asked import Asked
from fedcert.app.engines import Engine, Here
from fedcert.app.journal import Format, Once, find
from fedcert.errors import PieceFailed
from fedcert.progress import Tracker, silent

PIECE = 100
"""Inputs in a piece."""
K = TypeVar("K")
T = TypeVar("T")
Work = Callable[[Asked], list[T]]


@dataclass(frozen=True)
class Task(Generic[K, T]):
    """Work on inputs, of whose results each has a file.

    Attributes:
        description: of the work, for the user.
        files: where each result is kept in the folder of the run.
        work: what finds some of the results, in their order; it can be pickled.
        form: how a result is written and read, given the inputs that it is about.
        join: makes one result of those of all pieces.
        whole: whether the inputs have to stay together.
    """

    description: str
    files: Mapping[K, str]
    work: Callable[[Sequence[K]], Work[T]]
    form: Callable[[Asked], Format[T]]
    join: Callable[[Sequence[T]], T]
    whole: bool = False


@dataclass(frozen=True)
class Spread:
    """Work on all inputs of a run, a piece at a time.

    Attributes:
        asked: of all inputs.
        engine: does the pieces.
        once: makes a part of the run, or reads it back if it was made before.
        track: shows progress.
    """

    asked: Asked
    engine: Engine
    once: Once
    track: Tracker = silent

    def __call__(self, task: Task[K, T]) -> Iterator[tuple[K, T]]:
        """The results of a task, in the order of its files; what was made before is read.

        Args:
            task: what to do.
        """
        form = task.form(self.asked)
        known = {key: find(self.once, file, form) for key, file in task.files.items()}
        results = {key: result for key, result in known.items() if result is not None}
        wanted = [key for key in known if key not in results]
        for key, result in (self._made(task, wanted) if wanted else {}).items():
            results[key] = self.once(task.files[key], partial(_same, result), form)
        for key in task.files:
            yield key, results[key]

    def _made(self, task: Task[K, T], wanted: Sequence[K]) -> dict[K, T]:
        """Some results of a task, joined from those of its pieces."""
        count = len(self.asked)
        size = count if task.whole else PIECE
        pieces = [slice(start, min(start + size, count)) for start in range(0, count, size)]
        keep = [task.files[key] for key in wanted] if len(pieces) > 1 else []
        found = {i: own for i, piece in enumerate(pieces) if (own := self._found(task, keep, piece))}
        left = [(i, piece) for i, piece in enumerate(pieces) if i not in found]
        for (i, piece), results in self._done(task, wanted, left):
            found[i] = results
            self._keep(task, keep, piece, results)
        return {
            key: task.join([found[i][place] for i in range(len(pieces))]) for place, key in enumerate(wanted)
        }

    def _keep(self, task: Task[K, T], files: Sequence[str], piece: slice, results: list[T]) -> None:
        """Write the results of a piece to their files, if it has any."""
        if files:
            form = task.form(self.asked[piece])
            for file, result in zip(files, results, strict=True):
                self.once(piece_file(file, piece), partial(_same, result), form)

    def _found(self, task: Task[K, T], files: Sequence[str], piece: slice) -> list[T] | None:
        """The results of a piece that was done before."""
        if not files:
            return None
        form = task.form(self.asked[piece])
        found = [find(self.once, piece_file(file, piece), form) for file in files]
        results = [result for result in found if result is not None]
        return results if len(results) == len(files) else None

    def _done(
        self, task: Task[K, T], wanted: Sequence[K], left: Sequence[tuple[int, slice]]
    ) -> Iterator[tuple[tuple[int, slice], list[T]]]:
        """The results of the pieces that are left, in the order in which they are done."""
        here = isinstance(self.engine, Here)
        asked = replace(self.asked, track=self.track if here else silent)
        outcomes = self.engine(OnPiece(asked, task.work(wanted)), left)
        if len(left) > 1 or not here:
            outcomes = iter(self.track(outcomes, task.description, len(left)))
        for outcome in outcomes:
            if outcome.result is None:
                _, piece = outcome.job
                reason = (outcome.error or "").strip().splitlines()[-1]
                raise PieceFailed(
                    f"{task.description}: inputs {piece.start} to {piece.stop - 1}: {reason}; the same"
                    " command resumes, and tries them again"
                )
            yield outcome.job, outcome.result


@dataclass(frozen=True)
class OnPiece(Generic[T]):
    """The work on one piece, wherever it is done.

    Attributes:
        asked: of all inputs.
        work: what to do with the inputs of a piece.
    """

    asked: Asked
    work: Work[T]

    def __call__(self, job: tuple[int, slice]) -> list[T]:
        """What is found of a piece.

        Args:
            job: its number, and the piece.
        """
        return self.work(self.asked[job[1]])


def _same(result: T) -> T:
    return result


def piece_file(file: str, piece: slice) -> str:
    """Where an unfinished run keeps the result of a piece.

    Args:
        file: of the result of all inputs.
        piece: of the inputs.

    >>> piece_file("certificates/direct.safetensors", slice(100, 200))
    'pieces/certificates/direct/100.safetensors'
    """
    path = PurePosixPath(file)
    return f"pieces/{path.parent}/{path.stem}/{piece.start}{path.suffix}"
