"""`fedcert check`: the checker's command, whose proofs may also be spread over a Ray cluster."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer

from fedcert.app import options
from fedcert.app.report.again import page_again
from fedcert.app.showing import PROGRAM
from fedcert_check import cli

if TYPE_CHECKING:
    from fedcert_check.parallel import Workers


def check(
    certificate: cli.Certificate,
    messages: cli.Messages = None,
    jobs: cli.Jobs = None,
    max_memory: cli.MaxMemory = cli.DEFAULT_MEMORY,
    max_work: cli.MaxWork = cli.DEFAULT_WORK,
    sample: cli.SampleSize = None,
    seed: cli.Seed = None,
    as_json: cli.AsJson = False,
    engine: options.CheckEngine = None,
    address: options.Address = None,
    digest: cli.Digest = None,
    version: cli.Version = False,
) -> None:
    """Prove saved certificates again, in ball arithmetic, and hold the files of a run against them.

    Exit code 0: all is proved (or, of a sample, not refuted); 1: a certificate is not proved, or the run
    claims what does not follow from its certificates; 2: something is unreadable, unknown or too costly.
    """
    from fedcert_check.parallel import proving_on

    workers, count = (None, jobs) if engine is None and address is None else elsewhere(engine, address, jobs)
    asked = (PROGRAM, certificate, messages, count, (max_memory, max_work), (sample, seed), as_json)
    with proving_on(workers):
        code = cli.run_check(*asked, page_again)
    raise typer.Exit(code)


def elsewhere(name: str | None, address: str | None, jobs: int | None) -> tuple["Workers", int]:
    """Workers of an engine, for the checker, and how many there are.

    Args:
        name: joblib or ray; None for ray, which alone has an address.
        address: of a running Ray cluster; None to start one.
        jobs: the number of workers; None for one per core.
    """
    from fedcert.app.engines import choose_engine
    from fedcert.errors import PieceFailed

    engine = choose_engine(name or "ray", address, jobs)

    def workers(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterable[tuple[int, Any]]:
        places = list(range(len(items)))
        for outcome in engine(lambda place: function(items[place]), places):
            if outcome.error is not None:
                raise PieceFailed(f"piece {outcome.job + 1} of {len(items)} of a proof: {outcome.error}")
            yield outcome.job, outcome.result

    return workers, engine.workers()
