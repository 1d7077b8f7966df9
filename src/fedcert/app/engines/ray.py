"""Jobs on a Ray cluster; the only place that imports ray."""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from fedcert.app.engines.protocol import J, Outcome, T, attempt_in_one_thread
from fedcert.errors import InvalidConfig

MAX_RETRIES = 2  # maximum number of retries of a job whose worker died


@dataclass(frozen=True)
class RayCluster:
    """One job on each core of a cluster. A job whose worker dies is restarted on another worker.

    Attributes:
        address: the address of the cluster, or auto for a running local one; None starts one on this machine.
        count: the number of workers of a cluster that is started on this machine.
        on_gpu: whether each job needs a GPU, which it then has to itself.
    """

    address: str | None = None
    count: int = 1
    on_gpu: bool = False

    def __post_init__(self) -> None:
        if find_spec("ray") is None:
            raise InvalidConfig("engine: ray is not installed: pip install 'fedcert[ray]'")

    def workers(self) -> int:
        """The number of cores, or of GPUs where jobs need one."""
        return int(self._resources().get("GPU" if self.on_gpu else "CPU", 1))

    def __call__(self, work: Callable[[J], T], jobs: Sequence[J]) -> Iterator[Outcome[J, T]]:
        """The outcome of each job, in the order in which they finish.

        Args:
            work: what to do with a job; it is sent to each node once.
            jobs: the jobs to do.
        """
        if self.on_gpu and not self._resources().get("GPU"):
            raise InvalidConfig("device: no GPU in the Ray cluster, and a job would wait for one for ever")
        self._connect()
        import ray
        from ray.exceptions import RayError

        begin: Any = ray.remote(num_cpus=1, num_gpus=int(self.on_gpu), max_retries=MAX_RETRIES)(
            attempt_in_one_thread
        )
        sent = ray.put(work)
        under_way = {begin.remote(sent, job): job for job in jobs}
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

        if not ray.is_initialized():
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

    def _resources(self) -> dict[str, float]:
        """What the cluster has."""
        self._connect()
        import ray

        resources: Any = ray.cluster_resources
        return dict(resources())
