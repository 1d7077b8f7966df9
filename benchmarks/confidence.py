"""Confidence bounds of networks in use: width and time for FedAvg, a median and mixtures, 5 clients on MNIST.

    python benchmarks/confidence.py --draws 200                          # on the processor
    python benchmarks/confidence.py --trained trained.pt --train-only    # where the data are
    python benchmarks/confidence.py --trained trained.pt --draws 10000 --device cuda

The properties are the first 50 test inputs as they come, whether or not they are classified correctly.
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from fedcert.confidence import bound
from fedcert.families.problem import Problem
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.model.network import mlp
from fedcert.model.properties import linf_robustness
from fedcert.rules import LinearRule, TrimmedMean
from fedcert.wire.confidence_file import save_confidence
from fedcert_check.confidence import check_confidence

INPUTS = 50
DATASET, CLIENTS, HIDDEN, CONCENTRATION = "mnist", 5, (128, 128, 128), 0.5
RULES = {"fedavg": LinearRule.fedavg([1] * CLIENTS), "median": TrimmedMean.median(CLIENTS)}


def train() -> dict[str, Tensor]:
    """Each client's posterior from two runs of training that start alike, and the first test inputs."""
    from fedcert.app.clients import choose_examples, form, train_clients
    from fedcert.app.config import RunConfig

    shared = {"dataset": DATASET, "clients": CLIENTS, "hidden": HIDDEN, "concentration": CONCENTRATION}
    configs = [RunConfig(**shared, seed=seed) for seed in (0, 1)]
    federation = form(configs[0], choose_examples(configs[0]))
    laws = [[own.law for own in train_clients(config, federation)] for config in configs]
    return {
        "loc": torch.stack([torch.stack([law.loc for law in run]) for run in laws]),
        "scale": torch.stack([torch.stack([law.scale for law in run]) for run in laws]),
        "x": federation.examples.pool.x[:INPUTS].clone(),
        "label": federation.examples.pool.label[:INPUTS].clone(),
    }


def problem(trained: dict[str, Tensor], kind: str, epsilon: float) -> Problem:
    """The federation under a rule; "mixture" takes both runs of each client, under FedAvg."""
    laws = [
        [DiagonalGaussian(loc, scale) for loc, scale in zip(*run, strict=True)]
        for run in zip(trained["loc"], trained["scale"], strict=True)
    ]
    both = tuple(GaussianMixture(pair, torch.ones(2).double()) for pair in zip(*laws, strict=True))
    network = mlp(784, *HIDDEN, 10)
    asked = linf_robustness(trained["x"], trained["label"], epsilon)
    own = both if kind == "mixture" else tuple(laws[0])
    return Problem(network, asked, own, RULES["fedavg" if kind == "mixture" else kind])


def row(asked: Problem, kind: str, epsilon: float, options: argparse.Namespace) -> str:
    """One line of the table."""
    start = time.perf_counter()
    found = bound(asked, options.draws, options.beta, device=options.device)
    seconds = time.perf_counter() - start
    width = (found.upper - found.lower).mean().item()
    shares = (f"{100 * value:.2f}" for value in (found.mean_lower, found.mean_upper, width, found.undecided))
    checked = "" if not options.check else f" {check(asked, found)} |"
    return f"| {kind} | {epsilon:g} | {' | '.join(shares)} | {seconds:.0f} |{checked}"


def check(asked: Problem, found: object) -> str:
    """Seconds that the checker takes, and what it says."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "bound.safetensors"
        save_confidence(path, found, asked)
        start = time.perf_counter()
        report = check_confidence(path)
        return f"{time.perf_counter() - start:.0f} ({'follows' if report.verdict else 'does not follow'})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--beta", type=float, default=0.05)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.001, 0.01])
    parser.add_argument("--kinds", nargs="+", default=["fedavg", "median", "mixture"])
    parser.add_argument("--trained", type=Path, help="file of the trained laws; made where it does not exist")
    parser.add_argument("--train-only", action="store_true")
    parser.add_argument("--check", action="store_true", help="also let the checker draw and judge again")
    options = parser.parse_args()
    known = options.trained is not None and options.trained.exists()
    trained = torch.load(options.trained) if known else train()
    if options.trained is not None and not known:
        torch.save(trained, options.trained)
    if options.train_only:
        return
    hidden = "x".join(map(str, HIDDEN))
    print(f"{DATASET}, {CLIENTS} clients, {hidden}, Dirichlet {CONCENTRATION}, {INPUTS} inputs as they come")
    print(f"{options.draws} draws, beta {options.beta:g}, {options.device}")
    print("| laws and rule | radius | lower % | upper % | mean width % | undecided % | s |")
    for epsilon in options.epsilon:
        for kind in options.kinds:
            print(row(problem(trained, kind, epsilon), kind, epsilon, options), flush=True)


if __name__ == "__main__":
    main()
