"""The work of one job, in whichever process or on whichever machine it runs."""

from functools import lru_cache, partial

from fedcert.app.clients import Examples, Federation, choose_examples, form, train_clients
from fedcert.app.config import RunConfig
from fedcert.app.grid.folder import GridFolder
from fedcert.app.grid.job import Job
from fedcert.app.journal import Once, afresh
from fedcert.app.output import carry_out
from fedcert.app.run import RunResult, certify_clients
from fedcert.app.stopwatch import Stopwatch
from fedcert.app.summary import identity_of


def train(folder: GridFolder, job: Job) -> None:
    """Train the clients that a job needs, unless an earlier process has trained them.

    Args:
        folder: the grid's folder.
        job: the job.
    """
    folder.require()
    train_clients(job.config, _federation(job.config), once=partial(folder.once, job))


def certify(folder: GridFolder, keep_certificates: bool, job: Job) -> None:
    """Carry out a job whose clients are trained.

    Args:
        folder: the grid's folder.
        keep_certificates: whether messages and certificates are kept as files that can be checked.
        job: the job.
    """
    folder.require()

    def work(once: Once) -> RunResult:
        watch = Stopwatch()
        with watch.stage("data"):
            federation = _federation(job.config)
            posteriors = train_clients(job.config, federation, once=partial(folder.once, job))
        return certify_clients(
            job.config, federation, posteriors, watch, once=once if keep_certificates else afresh
        )

    carry_out(work, folder.job(job), identity_of(job.config), overwrite=True)


def _federation(config: RunConfig) -> Federation:
    asked = {"dataset", "data_dir", "table", "train_examples", "test_examples", "seed"}
    return form(config, _examples(RunConfig(**config.model_dump(include=asked))))


@lru_cache(maxsize=3)
def _examples(config: RunConfig) -> Examples:
    """The examples of a run; cached, since the next job in this process often needs the same ones."""
    return choose_examples(config)
