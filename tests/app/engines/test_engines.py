import joblib
import pytest

from fedcert.app.engines import Processes, RayCluster, choose_engine
from fedcert.errors import InvalidConfig


def test_every_core_is_used_unless_told_otherwise() -> None:
    assert choose_engine("joblib") == Processes(joblib.cpu_count())
    assert choose_engine("joblib", jobs=3) == Processes(3)


def test_ray_starts_its_own_cluster_unless_told_where_one_is() -> None:
    pytest.importorskip("ray", reason="needs the extra fedcert[ray]")
    assert choose_engine("ray", jobs=3) == RayCluster(None, 3)
    assert choose_engine("ray", "auto").address == "auto"  # type: ignore[attr-defined]


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
