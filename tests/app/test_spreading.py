"""A run in pieces: the same numbers wherever they are done, and nothing done twice."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from small_proofs import clients, proofs

from fedcert.app.engines import Here, Outcome, Processes, RayCluster
from fedcert.app.engines.protocol import attempt
from fedcert.app.journal import Journal
from fedcert.app.proofs import Proofs
from fedcert.errors import InvalidMessage, PieceFailed
from fedcert_check import check

ASKED: dict[str, Any] = {
    "events": ("projected",),
    "compare": (),
    "softmax_margins": (1.0,),
    "estimates": ("mc-ibp",),
}


@pytest.fixture(autouse=True)
def pieces_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three inputs make three pieces."""
    monkeypatch.setattr("fedcert.app.spreading.PIECE", 1)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "run", {"run": "this one"}) as own:
        for message in clients():
            message.save(own.folder / "messages" / f"{message.client}.safetensors")
        yield own


def numbers(own: Proofs) -> list[Any]:
    """Every bound at one radius and margin, and the frequencies of samples."""
    made = [*own.at(0.01), *own.at_margins(0.01)]
    bounds = [(one.file, one.certificate.lower.tolist()) for one in made]
    return bounds + [(one.name, one.successes.tolist()) for one in own.estimates(0.01)]


class Counting:
    """Does jobs here, and remembers their numbers; those of one piece fail where asked for."""

    def workers(self) -> int:
        return 1

    def __init__(self, failing: int | None = None) -> None:
        self.done: list[int] = []
        self.failing = failing

    def __call__(self, work: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[Outcome[Any, Any]]:
        for job in jobs:
            self.done.append(job[0])
            failed = Outcome(job, 0.0, "Traceback\nMemoryError: too small")
            yield failed if job[0] == self.failing else attempt(work, job)


@pytest.mark.slow
def test_the_certificates_of_pieces_are_those_of_all_inputs_and_proved(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_pieces = numbers(proofs(journal.once, **ASKED))
    for path in (journal.folder / "certificates").glob("*.safetensors"):
        assert check(path).verdict, path.name
    monkeypatch.setattr("fedcert.app.spreading.PIECE", 100)
    assert in_pieces == numbers(proofs(**ASKED))


@pytest.mark.slow
def test_a_piece_that_fails_costs_only_itself(journal: Journal) -> None:
    def go(engine: Counting) -> list[Any]:
        return [one.certificate.lower.tolist() for one in proofs(journal.once, engine=engine).at(0.01)]

    broken, whole = Counting(failing=1), Counting()
    with pytest.raises(PieceFailed, match="inputs 1 to 1: MemoryError: too small"):
        go(broken)
    assert broken.done == [0, 1]
    found = go(whole)
    assert whole.done == [1, 2]
    assert found == [one.certificate.lower.tolist() for one in proofs().at(0.01)]


def test_an_error_in_this_process_is_raised_as_it_is() -> None:
    def refuse(job: object) -> None:
        raise InvalidMessage("not this one")

    with pytest.raises(InvalidMessage, match="not this one"):
        list(Here()(refuse, [1]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["joblib", "ray"])
def test_two_workers_one_of_them_killed_find_what_one_process_finds(
    name: str, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray", reason="needs the extra fedcert[ray]")
    engine = Processes(2) if name == "joblib" else RayCluster(None, 2)
    killed = journal.folder / "killed"

    def killing(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def do(job: Any) -> Any:
            if job[0] == 1 and not killed.exists():
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return work(job)

        return do

    class Dangerous:
        def workers(self) -> int:
            return 2

        def __call__(self, work: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[Outcome[Any, Any]]:
            return engine(killing(work), jobs)

    asked = {"events": ("projected",), "claims": ("direct",), "compare": ()}
    spread = [one.certificate for one in proofs(engine=Dangerous(), **asked).at(0.01)]
    assert killed.exists()
    alone = [one.certificate for one in proofs(**asked).at(0.01)]
    assert [own.lower.tolist() for own in spread] == [own.lower.tolist() for own in alone]
    assert [own.upper.tolist() for own in spread] == [own.upper.tolist() for own in alone]  # type: ignore[union-attr]


@pytest.mark.slow
def test_radii_are_searched_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedcert.federation.radius.STEPS", 1)
    apart = proofs(claims=("direct",), compare=()).radii(0.5).found
    monkeypatch.setattr("fedcert.app.spreading.PIECE", 100)
    together = proofs(claims=("direct",), compare=()).radii(0.5).found
    assert apart.radius.tolist() == together.radius.tolist()
    assert apart.certificate.lower.tolist() == together.certificate.lower.tolist()
