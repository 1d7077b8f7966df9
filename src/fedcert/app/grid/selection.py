"""Selection of the jobs of a grid to be done: those that match a condition, or one shard of them."""

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from fedcert.app.grid.job import Job
from fedcert.data import folder_of
from fedcert.errors import InvalidConfig


def chosen(
    jobs: Sequence[Job], condition: str | None = None, part: str | None = None, data_dir: Path | None = None
) -> list[Job]:
    """The jobs to be done here, with the folder of their data set, which other machines may not know.

    Args:
        jobs: the jobs of the grid.
        condition: see `only`; None for all jobs.
        part: see `shard`; None for all jobs.
        data_dir: the folder of the IDX files; see `fedcert.data.folder_of`.
    """
    jobs = jobs if condition is None else only(jobs, condition)
    jobs = jobs if part is None else shard(jobs, part)
    folders = {
        name: folder_of(name, data_dir)
        for name in {job.config.dataset for job in jobs if not job.config.table}
    }
    return [Job(job.config.model_copy(update={"data_dir": folders.get(job.config.dataset)})) for job in jobs]


def only(jobs: Sequence[Job], condition: str) -> list[Job]:
    """The jobs whose settings have the given values.

    >>> [job.config.clients for job in only([Job.of({"clients": n}) for n in (2, 3, 5)], "clients=2,5")]
    [2, 5]

    Args:
        jobs: the jobs to choose from.
        condition: such as dataset=mnist,clients=2,3,hidden=64x64: a value without a key is one more value
            of the key before it.
    """
    wanted = _wanted(condition)
    chosen = [job for job in jobs if all(_text(job, key) in values for key, values in wanted.items())]
    if jobs and not chosen:
        known = {key: sorted({_text(job, key) for job in jobs}) for key in wanted}
        choices = "; ".join(f"{key} is one of {', '.join(values)}" for key, values in known.items())
        raise InvalidConfig(f"only: no job has {condition}: {choices}")
    return chosen


def shard(jobs: Sequence[Job], part: str) -> list[Job]:
    """One of several parts of about equal effort; jobs that share posteriors are in the same part.

    Args:
        jobs: the jobs to divide.
        part: such as 2/8, the second of eight.
    """
    if not (match := re.fullmatch(r"(\d+)/(\d+)", part)):
        raise InvalidConfig(f"shard: give i/n, such as 2/8 for the second of eight (given {part!r})")
    i, n = map(int, match.groups())
    if not 1 <= i <= n:
        raise InvalidConfig(f"shard: give i/n with 1 ≤ i ≤ n (given {part!r})")
    federations = defaultdict(list)
    for job in jobs:
        federations[job.training].append(job)
    heaviest_first = sorted(federations.values(), key=lambda shared: -sum(job.effort for job in shared))
    return [job for shared in heaviest_first[i - 1 :: n] for job in shared]


def _wanted(condition: str) -> dict[str, list[str]]:
    wanted: dict[str, list[str]] = {}
    key = None
    for item in condition.split(","):
        name, equals, value = item.rpartition("=")
        key = name.strip().replace("-", "_") if equals else key
        if key is None:
            raise InvalidConfig(
                f"only: give key=value,… such as dataset=mnist,clients=2 (given {condition!r})"
            )
        wanted.setdefault(key, []).append(_canonical(value.strip()))
    return wanted


def _text(job: Job, key: str) -> str:
    """The value of a setting as a user would write it."""
    if key not in type(job.config).model_fields:
        known = ", ".join(type(job.config).model_fields)
        raise InvalidConfig(f"only: no setting {key!r}; must be one of {known}")
    value = getattr(job.config, key)
    return _canonical("x".join(map(str, value)) if isinstance(value, tuple) else str(value))


def _canonical(text: str) -> str:
    """The same text for equal numbers, such as 1e-5, 0.00001 and 1.0e-05."""
    try:
        return f"{float(text):g}"
    except ValueError:
        return text
