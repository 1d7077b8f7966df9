import joblib
import pytest

from fedcert.errors import InvalidConfig
from fedcert.experiments.grid.engines import Processes, RayCluster, choose_engine


def test_every_core_is_used_unless_told_otherwise() -> None:
    assert choose_engine("joblib") == Processes(joblib.cpu_count())
    assert choose_engine("joblib", jobs=3) == Processes(3)
    assert choose_engine("ray", jobs=3) == RayCluster(None, 3)


@pytest.mark.parametrize(
    ("name", "address", "jobs", "problem"),
    [
        ("dask", None, None, "engine"),
        ("joblib", "auto", None, "address"),
        ("ray", "auto", 2, "jobs"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(
    name: str, address: str | None, jobs: int | None, problem: str
) -> None:
    with pytest.raises(InvalidConfig, match=problem):
        choose_engine(name, address, jobs)
