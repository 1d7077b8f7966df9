"""Where jobs run: in this process, in processes on this machine, or on a Ray cluster."""

from joblib import cpu_count

from fedcert.app.engines.here import Here
from fedcert.app.engines.processes import Processes
from fedcert.app.engines.protocol import Engine, Outcome
from fedcert.app.engines.ray import RayCluster
from fedcert.errors import InvalidConfig

__all__ = ["Engine", "Here", "Outcome", "Processes", "RayCluster", "choose_engine"]


def choose_engine(
    name: str, address: str | None = None, jobs: int | None = None, device: str = "cpu"
) -> Engine:
    """The engine with this name.

    Args:
        name: joblib or ray.
        address: the address of a running Ray cluster; None to start one.
        jobs: the number of parallel jobs; None for one per core.
        device: where jobs compute; on a cluster, each has a GPU to itself if it computes on one.
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
            return RayCluster(address, count, device.startswith("cuda"))
        case _:
            raise InvalidConfig(f"engine: joblib or ray (given {name!r})")


def engine_of_pieces(name: str | None, address: str | None, jobs: int | None, device: str = "cpu") -> Engine:
    """The engine of a single run: this process, unless the user asks for another.

    Args:
        name: joblib or ray; None for this process, or for joblib if jobs or address say more.
        address: as for `choose_engine`.
        jobs: as for `choose_engine`.
        device: as for `choose_engine`.
    """
    if name is None and address is None and jobs is None:
        return Here()
    return choose_engine(name or "joblib", address, jobs, device)
