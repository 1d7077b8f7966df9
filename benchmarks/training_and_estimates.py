"""Shortcuts against the plain way, as ratios of processor time (of seconds on a GPU) in one run.

Training: all clients of a federation in one batch against one after the other. Estimates: MC–IBP by points
against boxes with outward rounding; attack survival with attacks on undecided pairs alone, against attacks on
every network for all properties that intervals leave open. MNIST, Dirichlet 0.5, inputs as they come.

    FEDCERT_DATA=... python benchmarks/training_and_estimates.py [--hidden 64] [--clients 5] [--device cuda]
"""

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor

from fedcert.app.clients import choose_examples, form, train_clients
from fedcert.app.config import RunConfig
from fedcert.app.posing import pose
from fedcert.federation.estimates import attack_survival, mc_ibp
from fedcert.federation.joint import Sampled
from fedcert.federation.numbered import draws_of
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import LinearRule
from fedcert.verify import BATCH_ELEMENTS
from fedcert.verify.attack import ProjectedGradient
from fedcert.verify.interval import IntervalVerifier
from fedcert.verify.points import accepts

RADII = (0.001, 0.01)
PROVEN, ATTACKED = 300, 1000  # networks that are drawn


def plain_mc_ibp(law: Sampled, network: Network, properties: Properties) -> Tensor:
    """How many drawn networks the verifier of boxes accepts, rounding charged."""
    size = max(1, BATCH_ELEMENTS // law.dimension)
    draws, verify = draws_of(law, stream(0, "mc-ibp")), IntervalVerifier()
    batches = [draws(first, min(size, PROVEN - first)).double() for first in range(0, PROVEN, size)]
    return sum(verify(network, Box.point(theta), properties).sum(0) for theta in batches)


def plain_survival(law: Sampled, network: Network, properties: Properties) -> Tensor:
    """How many drawn networks withstand an attack on every property that intervals leave open."""
    size = max(1, BATCH_ELEMENTS // max(law.dimension, len(properties) * network.inputs))
    draws, survived = draws_of(law, stream(0, "attack-survival")), torch.zeros(len(properties))
    for first in range(0, ATTACKED, size):
        theta = draws(first, min(size, ATTACKED - first))
        survives = accepts(network, theta, properties)
        left = ~survives.all(0)
        if left.any():
            survives[:, left] |= ProjectedGradient()(network, theta, properties[left])[1] >= 0
        survived = survived.to(survives.device) + survives.sum(0)
    return survived


def measured(work: Callable[[], Tensor], device: str) -> tuple[Tensor, float]:
    """The result, and the least of three times: processor seconds, or seconds on another device."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    work()
    times = []
    for _ in range(3):
        start = clock()
        result = work().cpu()
        times.append(clock() - start)
    return result, min(times)


def row(name: str, plain: Callable[[], Tensor], short: Callable[[], Tensor], device: str) -> None:
    """Print both times, their ratio, and how far the results are apart."""
    (expected, before), (found, after) = (measured(work, device) for work in (plain, short))
    apart = (expected.double() - found.double()).abs().max().item()
    print(f"| {name} | {before:.2f} | {after:.2f} | {before / after:.1f} | {apart:.1e} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hidden", default="64")
    parser.add_argument("--clients", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    device = arguments.device
    torch.set_num_threads(1)
    hidden = tuple(map(int, arguments.hidden.split(",")))
    config = RunConfig(
        dataset="mnist", clients=arguments.clients, concentration=0.5, hidden=hidden, properties=50
    )
    federation = form(config, choose_examples(config))

    def trained(together: bool) -> Tensor:
        own = config.model_copy(update={"train_together": together, "device": device})
        return torch.stack([posterior.law.loc for posterior in train_clients(own, federation)])

    print(f"{hidden}, {device}")
    print("| work | plain, s | short, s | ratio | largest difference |\n|---|---|---|---|---|")
    row("training", lambda: trained(False), lambda: trained(True), device)
    laws = [posterior.law.to(device) for posterior in train_clients(config, federation)]
    network, initial = federation.network, federation.initial
    posed = pose(config, network, laws, federation.sizes, initial, federation.examples)
    rule = posed.rules["fedavg"]
    assert isinstance(rule, LinearRule)
    law = rule.pushforward(laws)
    for radius in RADII:
        asked = posed.inputs.properties_within(radius, 0.0, network.outputs, device)
        estimates(law, network, asked, device, f"radius {radius}")


def estimates(law: Sampled, network: Network, asked: Properties, device: str, where: str) -> None:
    """The rows of the estimates at one radius."""
    parts = law, network, asked
    row(
        f"MC–IBP, {where}",
        lambda: plain_mc_ibp(*parts) / PROVEN,
        lambda: mc_ibp(*parts, "fedavg", PROVEN, stream(0, "mc-ibp")).successes / PROVEN,
        device,
    )
    row(
        f"attack survival, {where}",
        lambda: plain_survival(*parts) / ATTACKED,
        lambda: (
            attack_survival(*parts, "fedavg", ATTACKED, stream(0, "attack-survival")).successes / ATTACKED
        ),
        device,
    )


if __name__ == "__main__":
    main()
