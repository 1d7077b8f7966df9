"""Where jobs run: in processes of this machine, or on a Ray cluster."""

from joblib import cpu_count

from fedcert.app.grid.engines.processes import Processes
from fedcert.app.grid.engines.protocol import Engine, Outcome, Work
from fedcert.app.grid.engines.ray import RayCluster
from fedcert.errors import InvalidConfig

__all__ = ["Engine", "Outcome", "Processes", "RayCluster", "Work", "choose_engine"]


def choose_engine(name: str, address: str | None = None, jobs: int | None = None) -> Engine:
    """The engine of this name.

    Args:
        name: joblib or ray.
        address: of a Ray cluster that runs already.
        jobs: how many at a time; as many as there are cores where None.
    """
    count = jobs or cpu_count()
    match name:
        case "joblib" if address is None:
            return Processes(count)
        case "joblib":
            raise InvalidConfig("address: only --engine ray has a cluster")
        case "ray" if address is not None and jobs is not None:
            raise InvalidConfig("jobs: a cluster at an --address has as many workers as it has")
        case "ray":
            return RayCluster(address, count)
        case _:
            raise InvalidConfig(f"engine: joblib or ray (given {name!r})")
