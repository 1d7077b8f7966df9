"""Accuracy against the deviation that training starts from, which the paper does not state.

    FEDCERT_DATA=... python -m reproduction.initial_deviation

Each row is a mean over the three concentrations of one of the paper's rows, with its accuracy beside.
"""

from collections.abc import Sequence
from math import log1p
from statistics import fmean

import torch

from fedcert.app.accuracy import accuracy_of
from fedcert.app.clients import Examples, choose_examples, form, train_clients
from fedcert.app.config import RunConfig, make_config
from fedcert.app.posing import make_rules
from reproduction.paper import GROUPS, Group, table2

RHOS = (-5.0, -4.0, -3.0, -2.0)
ROWS: tuple[tuple[str, int, Group], ...] = (
    ("mnist", 2, "IID"),
    ("mnist", 5, "IID"),
    ("mnist", 5, "Non-IID"),
    ("fashion-mnist", 5, "IID"),
)


def configuration(dataset: str, clients: int, concentration: float, rho: float) -> RunConfig:
    """A federation of the paper's, trained from another start."""
    return make_config({
        "dataset": dataset,
        "clients": clients,
        "concentration": concentration,
        "training": {"initial_rho": rho},
        "test_examples": 2_000,
        "properties": 1,
    })


def accuracy(config: RunConfig, examples: Examples) -> float:
    """Test accuracy of the posterior-mean model under FedAvg, in %."""
    federation = form(config, examples)
    laws = [posterior.law for posterior in train_clients(config, federation)]
    rule = make_rules(config, laws, federation.sizes, federation.initial)["fedavg"]
    return 100 * accuracy_of(federation.network, rule([law.loc for law in laws]), examples.test)


def row(dataset: str, clients: int, group: Group, examples: Examples) -> Sequence[str]:
    """Our accuracies, each a mean over a group of concentrations, and the paper's."""
    ours = [
        fmean(accuracy(configuration(dataset, clients, a, rho), examples) for a in GROUPS[group])
        for rho in RHOS
    ]
    place = "1×64", dataset, clients, group
    printed = next(
        each.entries["fedavg", "acc"]
        for each in table2()
        if (each.architecture, each.dataset, each.clients, each.group) == place
    )
    shown = [f"{value:.1f}" for value in ours]
    return [dataset, str(clients), group, *shown, f"{printed.mean:.1f} ± {printed.deviation:.1f}"]


def main() -> None:
    """Print the table, row by row."""
    torch.set_num_threads(1)
    deviations = [f"{log1p(torch.tensor(rho).exp().item()):.4f}" for rho in RHOS]
    print("| data | clients | group |", " | ".join(f"deviation {d}" for d in deviations), "| paper |")
    print("|" + "---|" * (4 + len(RHOS)))
    examples = {
        name: choose_examples(configuration(name, 2, 1.0, -5.0)) for name in ("mnist", "fashion-mnist")
    }
    for dataset, clients, group in ROWS:
        print("|", " | ".join(row(dataset, clients, group, examples[dataset])), "|", flush=True)


if __name__ == "__main__":
    main()
