from pathlib import Path

import pytest

from fedcert.app.grid.job import Job
from fedcert.app.grid.preset import parse_grid
from fedcert.app.grid.selection import chosen, only, shard
from fedcert.errors import DataError, InvalidConfig

OVER = {"scale": [1e-5, "learned"], "clients": [2, 3, 5], "hidden": [[8], [8, 8]], "seed": [0, 1]}
JOBS = parse_grid({"study": [{"over": OVER}]}).jobs()


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("clients=2", 8),
        ("clients=2,5", 16),
        ("clients=2,hidden=8x8", 4),
        ("scale=0.00001,seed=1", 6),
        ("scale=learned", 12),
        (" clients = 3 , seed = 0 ", 4),
        ("train-examples=12000", 24),
    ],
)
def test_only_those_that_match(condition: str, count: int) -> None:
    assert len(only(JOBS, condition)) == count


@pytest.mark.parametrize("condition", ["", "3", "colour=red", "clients=4", "clients"])
def test_a_condition_that_nothing_meets_is_refused(condition: str) -> None:
    with pytest.raises(InvalidConfig, match="only"):
        only(JOBS, condition)


@pytest.mark.parametrize("n", [1, 2, 5, 12, 40])
def test_shards_are_a_partition(n: int) -> None:
    parts = [shard(JOBS, f"{i}/{n}") for i in range(1, n + 1)]
    assert sorted(job.name for part in parts for job in part) == sorted(job.name for job in JOBS)


def test_jobs_that_share_clients_are_in_one_shard() -> None:
    parts = [{job.training for job in shard(JOBS, f"{i}/5")} for i in range(1, 6)]
    assert sum(len(part) for part in parts) == len({job.training for job in JOBS})


def test_shards_are_of_similar_effort() -> None:
    efforts = [sum(job.effort for job in shard(JOBS, f"{i}/3")) for i in (1, 2, 3)]
    assert max(efforts) < 1.5 * min(efforts)


@pytest.mark.parametrize("part", ["", "0/3", "4/3", "1/0", "1", "a/b", "1/2/3", "-1/2"])
def test_a_shard_that_is_none_is_refused(part: str) -> None:
    with pytest.raises(InvalidConfig, match="shard"):
        shard(JOBS, part)


def test_the_data_are_found_before_the_work_begins(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no complete set of files"):
        chosen([Job.of({"dataset": "mnist"})], data_dir=tmp_path)


def test_embedded_data_need_no_folder() -> None:
    assert [job.config.data_dir for job in chosen(JOBS, "clients=2,seed=0", "1/4")] == [None, None]
