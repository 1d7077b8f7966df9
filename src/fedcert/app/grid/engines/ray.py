"""Jobs on a Ray cluster; the only place that imports ray."""

import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from fedcert.app.grid.engines.protocol import Outcome, Work, attempt
from fedcert.app.grid.job import Job
from fedcert.errors import InvalidConfig

MAX_RETRIES = 2  # maximum number of retries of a job whose worker died


@dataclass(frozen=True)
class RayCluster:
    """One job on each core of a cluster. A job whose worker dies is restarted on another worker.

    Attributes:
        address: the address of the cluster, or auto for a running local one; None starts one on this machine.
        count: the number of workers of a cluster that is started on this machine.
    """

    address: str | None = None
    count: int = 1

    def __post_init__(self) -> None:
        if find_spec("ray") is None:
            raise InvalidConfig("engine: ray is not installed: pip install 'fedcert[ray]'")

    def __call__(self, work: Work, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """The outcome of each job, in the order in which they finish.

        Args:
            work: what to do with a job.
            jobs: the jobs to do.
        """
        self._connect()
        import ray
        from ray.exceptions import RayError

        begin = ray.remote(num_cpus=1, max_retries=MAX_RETRIES)(attempt)
        under_way = {begin.remote(work, job): job for job in jobs}
        while under_way:
            ready, _ = ray.wait(list(under_way), num_returns=1)
            job = under_way.pop(ready[0])
            try:
                yield ray.get(ready[0])
            except RayError as error:
                yield Outcome(job, 0.0, f"its worker failed ({type(error).__name__}: {error})")

    def _connect(self) -> None:
        """Connect to the cluster, or start one that ends with this process."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # send no usage statistics
        import ray

        if ray.is_initialized():
            return
        try:
            ray.init(
                address=self.address or "local",
                num_cpus=None if self.address else self.count,
                include_dashboard=None if self.address else False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except (ConnectionError, ValueError) as error:
            reason = f"address: no Ray cluster at {self.address!r} ({error})"
            raise InvalidConfig(f"{reason}; one with tokens needs RAY_AUTH_MODE=token") from error
