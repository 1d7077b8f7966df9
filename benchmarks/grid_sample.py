"""Processor time of some jobs of the paper's grid by stage and family, and their bounds beside older ones.

FEDCERT_DATA=... python benchmarks/grid_sample.py --only dataset=mnist,concentration=1 --out new --against old

`old` is made by the same command at another commit: check it out elsewhere, and name its src, checker/src and
root in PYTHONPATH. One process, one thread.
"""

import argparse
import time
from pathlib import Path

import torch

from fedcert.app import stopwatch
from fedcert.app.clients import train_clients
from fedcert.app.grid.job import Job
from fedcert.app.grid.preset import load_grid
from fedcert.app.grid.selection import chosen
from fedcert.app.grid.work import _federation
from fedcert.app.parts import Posterior
from fedcert.app.run import certify_clients
from fedcert.app.stopwatch import Stopwatch
from reproduction.paper import GRID

Posteriors = dict[str, list[Posterior]]


def main() -> None:
    """Print seconds, bounds that were lost, and the sum weighted by how many jobs of the grid are alike."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="dataset=mnist,concentration=1")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    stopwatch.time = _ProcessorTime  # type: ignore[attr-defined]
    all_jobs = load_grid(str(GRID)).jobs()
    jobs = chosen(all_jobs, given.only)
    whole: dict[str, float] = {}
    given.out.mkdir(parents=True, exist_ok=True)
    posteriors: Posteriors = {}
    for job in jobs:
        alike = sum(_kind(own) == _kind(job) for own in all_jobs) / sum(
            _kind(own) == _kind(job) for own in jobs
        )
        seconds, bounds = _measured(job, posteriors)
        torch.save(bounds, given.out / f"{job.name}.pt")
        for stage, own in seconds.items():
            whole[stage] = whole.get(stage, 0.0) + alike * own
        shown = ", ".join(f"{stage} {own:.2f}" for stage, own in seconds.items())
        lost = _lost(bounds, given.against / f"{job.name}.pt") if given.against else ""
        print(f"| {job.name} | {sum(seconds.values()):.1f} | {shown} | {lost} |", flush=True)
    stages = ", ".join(f"{stage} {own / 60:.1f}" for stage, own in whole.items())
    covered = sum(_kind(own) in set(map(_kind, jobs)) for own in all_jobs)
    print(f"{covered} of {len(all_jobs)} jobs are like these: {sum(whole.values()) / 60:.1f} min ({stages})")


class _ProcessorTime:
    """What the stopwatch reads instead of a clock on the wall, which other work would move on."""

    perf_counter = staticmethod(time.process_time)


def _kind(job: Job) -> tuple[object, ...]:
    """Jobs that take about as long: all but data set, concentration and training are the same."""
    config = job.config
    return (
        *(config.hidden, config.clients, config.scale, config.events, config.claims, config.screen),
        *(config.train_examples, config.aggregate_samples),
    )


def _measured(
    job: Job, posteriors: Posteriors
) -> tuple[dict[str, float], dict[str, tuple[torch.Tensor, ...]]]:
    """Seconds by stage, and the bounds of every claim."""
    watch = Stopwatch()
    with watch.stage("data"):
        federation = _federation(job.config)
    if job.training not in posteriors:
        posteriors[job.training] = train_clients(job.config, federation)
        watch.seconds["training"] = sum(own.seconds for own in posteriors[job.training])
    trained = watch.seconds.get("training", 0.0)
    result = certify_clients(job.config, federation, posteriors[job.training], watch)
    stages = {name: own for name, own in watch.seconds.items() if name != "certification"}
    stages["training"] = trained
    for own in result.proven:
        name = own.certificate.claim.events
        stages[name] = stages.get(name, 0.0) + own.seconds
    bounds = {
        f"{own.certificate.claim} {own.epsilon}": (own.certificate.lower, own.certificate.upper)
        for own in result.proven
    }
    return stages, bounds


def _lost(bounds: dict[str, tuple[torch.Tensor, ...]], file: Path) -> str:
    """The most that a lower bound has fallen by, and that an upper bound has risen by."""
    before = torch.load(file, weights_only=True)
    lower = max((before[claim][0] - own[0]).max().item() for claim, own in bounds.items())
    upper = max(
        [(own[1] - before[claim][1]).max().item() for claim, own in bounds.items() if own[1] is not None]
        or [0]
    )
    return f"{lower:.1e}, {upper:.1e}"


if __name__ == "__main__":
    main()
