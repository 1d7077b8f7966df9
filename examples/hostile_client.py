"""One client of seven is hostile: its posterior sits far away. Which rule keeps its certificate?

Six honest clients train on the embedded digits; the seventh sends a confident posterior around random
parameters of fifty times the size. The deployed rule is FedAvg, a trimmed mean or a median of all seven. For
each, the script bounds the probability that the deployed model is robust, for 20 test inputs that the honest
clients' mean classifies correctly: boxes around the posterior means are transported. It draws the answer.

    python examples/hostile_client.py [picture.png]
"""

import sys
from pathlib import Path

import torch
from matplotlib.figure import Figure

from fedcert.data import load
from fedcert.data.partition import dirichlet_partition
from fedcert.families.mean_box.certify import certify_boxes
from fedcert.families.mean_box.events import MeanBox
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import correctly_classified, linf_robustness
from fedcert.randomness import stream
from fedcert.rules import LinearRule, TrimmedMean
from fedcert.training.bayes_by_backprop import BayesByBackprop
from fedcert.verify import AnyOf, Safe
from fedcert.verify.interval import MergedIntervalVerifier
from fedcert.verify.linear import LinearVerifier
from fedcert_check.percent import percent_down

HONEST, SCALE, PROPERTIES = 6, 1e-5, 20


def main(picture: Path) -> None:
    """Train, deploy under each rule, certify and draw."""
    data = load("digits")
    train, test = data.subset(2000, 500, stream(0, "subset"))
    network = mlp(64, 32, 10)
    initial = network.initialise(stream(0, "initial"))
    honest = [
        BayesByBackprop(epochs=60)(
            network, train[shard].x.float(), train[shard].label, initial, stream(0, "training", i)
        ).with_scale(SCALE)
        for i, shard in enumerate(dirichlet_partition(train.label, HONEST, 10.0, stream(0, "partition")))
    ]
    noise = torch.randn(network.parameters, generator=stream(0, "hostile"), dtype=torch.float64)
    hostile = DiagonalGaussian(50 * noise, torch.full_like(noise, SCALE))
    laws = [*honest, hostile]

    clients = HONEST + 1
    rules = {
        "FedAvg": LinearRule.fedavg([1] * clients),
        "trimmed mean": TrimmedMean(clients, 1),
        "median": TrimmedMean.median(clients),
    }
    honest_mean = LinearRule.fedavg([1] * HONEST)([law.loc for law in honest])
    chosen = correctly_classified(network, honest_mean, test.x, test.label, PROPERTIES)
    properties = linf_robustness(test.x[chosen], test.label[chosen], epsilon=1e-3)
    safe = Safe(network, properties, AnyOf((MergedIntervalVerifier(), LinearVerifier())))

    accuracy, certified = {}, {}
    for name, rule in rules.items():
        mean = rule([law.loc for law in laws])
        accuracy[name] = (network(mean, test.x).argmax(-1) == test.label).double().mean().item()
        certified[name] = certify_boxes(laws, rule, safe, MeanBox()).mean_lower
        shown = f"accuracy {100 * accuracy[name]:5.1f} %   certified, of selected inputs"
        print(f"{name:13} {shown} {percent_down(certified[name]):>7}")
    draw(accuracy, certified, picture)
    print(f"picture: {picture}")


def draw(accuracy: dict[str, float], certified: dict[str, float], picture: Path) -> None:
    """Accuracy and certified probability of each rule, side by side; the latter rounded down."""
    figure = Figure(figsize=(6, 3.2), layout="constrained")
    axes = figure.subplots()
    for shift, (label, values, colour) in enumerate([
        ("accuracy of the mean model", accuracy, "#d9d9d9"),
        (f"certified share of {PROPERTIES} selected inputs", certified, "#0072b2"),
    ]):
        places = [k + 0.38 * (shift - 0.5) for k in range(len(values))]
        bars = axes.bar(places, [100 * v for v in values.values()], width=0.36, label=label, color=colour)
        shown = [
            percent_down(v).removesuffix(" %") if values is certified else f"{100 * v:.1f}"
            for v in values.values()
        ]
        axes.bar_label(bars, shown, padding=2)
    axes.set_xticks(range(len(accuracy)), list(accuracy))
    axes.set_ylim(0, 112)
    axes.set_ylabel("%")
    axes.set_title(f"{HONEST} honest clients and a hostile one")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, dpi=150)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".png"))
