from small_grids import Here, tiny

from fedcert.app.engines import Engine, Processes, RayCluster
from fedcert.app.engines.protocol import attempt
from fedcert.app.grid.job import Job
from fedcert.errors import DataError


def test_the_outcome_of_a_job() -> None:
    def raise_data_error(job: Job) -> None:
        raise DataError("no data: get some")

    def raise_anything(job: Job) -> None:
        raise RuntimeError("surprise")

    fine, refused, broken = (
        attempt(work, tiny()) for work in (lambda job: None, raise_data_error, raise_anything)
    )
    assert (fine.job, fine.error) == (tiny(), None)
    assert refused.error == "no data: get some"
    assert broken.error is not None
    assert "raise_anything" in broken.error
    assert broken.error.splitlines()[-1] == "RuntimeError: surprise"


def test_engines_follow_the_protocol() -> None:
    assert isinstance(Here(), Engine)
    assert isinstance(Processes(1), Engine)
    assert issubclass(RayCluster, Engine)
