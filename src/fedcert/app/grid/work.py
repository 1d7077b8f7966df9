"""The work of one job, in whichever process or on whichever machine it runs.

Every job computes in one thread, so that its numbers do not depend on how many run beside it.
"""

from functools import lru_cache, partial

import torch

from fedcert.app.clients import Examples, Federation, choose_examples, form, train_clients
from fedcert.app.config import RunConfig
from fedcert.app.grid.folder import GridFolder
from fedcert.app.grid.job import Job
from fedcert.app.journal import Once, afresh
from fedcert.app.output import carry_out, identity_of
from fedcert.app.run import RunResult, certify_clients
from fedcert.app.stopwatch import Stopwatch


def train(folder: GridFolder, job: Job) -> None:
    """Train the clients that a job needs, unless an earlier process has.

    Args:
        folder: of the grid.
        job: the job.
    """
    folder.require()
    torch.set_num_threads(1)
    train_clients(job.config, _federation(job.config), once=partial(folder.once, job))


def certify(folder: GridFolder, keep_certificates: bool, job: Job) -> None:
    """Carry out a job, whose clients are trained.

    Args:
        folder: of the grid.
        keep_certificates: whether messages and certificates are kept as files, to be checked.
        job: the job.
    """
    folder.require()
    torch.set_num_threads(1)

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
    asked = {"dataset", "data_dir", "train_examples", "test_examples", "seed"}
    return form(config, _examples(RunConfig(**config.model_dump(include=asked))))


@lru_cache(maxsize=3)
def _examples(config: RunConfig) -> Examples:
    """The examples of a run; the next job in this process often needs the same."""
    return choose_examples(config)
