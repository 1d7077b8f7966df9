"""Convolutional networks: certified accuracy under Bayes by Backprop and last-layer Laplace laws.

    FEDCERT_DATA=... python benchmarks/convolutions.py --inputs 200 --out runs/convolutions
    FEDCERT_DATA=... python benchmarks/convolutions.py --dataset mnist --posterior last-layer-full --inputs 50
    python -m fedcert_check runs/convolutions/mnist-last-layer-full

Three clients, two convolutions and a hidden layer, FedAvg; last layers have a prior precision of 30 and the
likelihood of all examples. Each data set with each posterior is a run in a folder of its own, written as by
`fedcert run`: what is finished is read again, what was killed resumes, and `fedcert check` proves it. Shares
*of correct* are over those inputs that the mean model classifies correctly at their centre.
"""

import argparse
from pathlib import Path
from typing import Any

import torch
from common import percent

from fedcert.app.clients import choose_examples, network_of
from fedcert.app.config import RunConfig, make_config
from fedcert.app.journal import RESULT
from fedcert.app.output import carry_out
from fedcert.app.report.runs import FinishedRun, read_runs
from fedcert.app.run import run
from fedcert.app.summary import identity_of
from fedcert.wire.message import Message
from fedcert_check.percent import bounds

LAPLACE = {"posterior": "laplace", "prior_precision": 30.0}
POSTERIORS: dict[str, dict[str, Any]] = {
    "bbb": {"posterior": "bbb"},
    "last-layer-full": LAPLACE | {"structure": "last-layer-full"},
    "last-layer-kron": LAPLACE | {"structure": "last-layer-kron"},
}
SHARED = {"clients": 3, "claims": ["direct"]}
COLUMNS = (
    "data, posterior", "radius", "accuracy", "certified", "certified, of correct", "survival",
    "confidence bound", "s a property",
)  # fmt: skip


def finished(config: RunConfig, folder: Path) -> FinishedRun:
    """The run in a folder, made unless it is there."""
    identity = identity_of(config)
    if not (folder / RESULT).exists():
        carry_out(lambda once: run(config, once=once), folder, identity)
    (found,) = read_runs([folder], folder)
    if not identity.items() <= found.summary.items():
        raise SystemExit(f"{folder} holds a run with other settings: choose another --out")
    return found


def correct(config: RunConfig, folder: Path) -> torch.Tensor:
    """Which inputs the mean model classifies correctly."""
    examples = choose_examples(config)
    asked = examples.pool[torch.arange(config.properties)]
    laws = [Message.load(path).law for path in sorted((folder / "messages").glob("*.safetensors"))]
    mean = torch.stack([law.loc for law in laws]).mean(0)
    return network_of(config, examples)(mean, asked.x).argmax(-1) == asked.label


def lines(name: str, config: RunConfig, folder: Path) -> list[str]:
    """One row for each radius."""
    own_run, found = finished(config, folder), list[str]()
    summary, right = own_run.summary, correct(config, folder)
    for row in summary["summary"]:
        epsilon = row["epsilon"]
        own = [next(b for b in one["bounds"] if b["epsilon"] == epsilon) for one in own_run.properties]
        among = [[one[end] for one, ok in zip(own, right, strict=True) if ok] for end in ("lower", "upper")]
        survival = next(one["value"] for one in summary["estimates"] if one["epsilon"] == epsilon)
        drawn = [one for one in summary["confidence"] if one["epsilon"] == epsilon]
        columns = [
            name,
            f"{epsilon:.4g}",
            percent(summary["inputs"]["accuracy"] or 0.0),
            bounds(row["lower"], row["upper"]),
            bounds(*(sum(ends) / len(ends) for ends in among)) if right.any() else "–",
            percent(survival),
            bounds(drawn[0]["lower"], drawn[0]["upper"]) if drawn else "–",
            f"{row['seconds'] / row['properties']:.2f}",
        ]
        found.append(f"| {' | '.join(columns)} |")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dataset", nargs="+", default=["mnist", "fashion-mnist"])
    parser.add_argument("--posterior", nargs="+", choices=POSTERIORS, default=list(POSTERIORS))
    parser.add_argument("--network", default="cnn:16,8/64")
    parser.add_argument("--concentration", type=float, default=100.0, help="of the labels of each client")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.0, 0.001, 1 / 255])
    parser.add_argument("--inputs", type=int, default=200)
    parser.add_argument("--train-examples", type=int, default=60_000)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--draws", type=int, default=100, help="of a confidence bound; 0 for none")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path("runs/convolutions"))
    options = parser.parse_args()
    asked = {"network": options.network, "properties": options.inputs, "epsilon": options.epsilon}
    asked |= {"train_examples": options.train_examples, "device": options.device}
    asked |= {"confidence_draws": options.draws, "concentration": options.concentration}
    trained = {"epochs": options.epochs, "learning_rate": options.learning_rate}
    asked |= {"training": trained, "laplace": {**trained, "kl_coefficient": None}}
    print(f"{options.network}, the first {options.inputs} test inputs as they come; shares in %")
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for dataset in options.dataset:
        for posterior in options.posterior:
            config = make_config(SHARED | asked | POSTERIORS[posterior] | {"dataset": dataset})
            folder = options.out / f"{dataset}-{posterior}"
            print("\n".join(lines(f"{dataset}, {posterior}", config, folder)), flush=True)


if __name__ == "__main__":
    main()
