"""Where jobs run: in processes on this machine, or on a Ray cluster."""

from joblib import cpu_count

from fedcert.app.grid.engines.processes import Processes
from fedcert.app.grid.engines.protocol import Engine, Outcome, Work
from fedcert.app.grid.engines.ray import RayCluster
from fedcert.errors import InvalidConfig

__all__ = ["Engine", "Outcome", "Processes", "RayCluster", "Work", "choose_engine"]


def choose_engine(name: str, address: str | None = None, jobs: int | None = None) -> Engine:
    """The engine with this name.

    Args:
        name: joblib or ray.
        address: the address of a running Ray cluster; None to start one.
        jobs: the number of parallel jobs; None for one per core.
    """
    count = jobs or cpu_count()
    match name:
        case "joblib" if address is None:
            return Processes(count)
        case "joblib":
            raise InvalidConfig("address: only --engine ray uses a cluster")
        case "ray" if address is not None and jobs is not None:
            raise InvalidConfig("jobs: a cluster at an --address has its own number of workers")
        case "ray":
            return RayCluster(address, count)
        case _:
            raise InvalidConfig(f"engine: joblib or ray (given {name!r})")
