"""One run: clients train, each sends one message, the server certifies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor

from fedcert.certificate import Certificate, Estimate
from fedcert.data import Split, load
from fedcert.data.partition import dirichlet_partition
from fedcert.estimates import aggregated_sampling, mc_ibp
from fedcert.events.paper_box import PaperBox
from fedcert.experiments.config import RunConfig
from fedcert.experiments.stopwatch import Stopwatch, timed
from fedcert.federation import RuleName, client, deployed_rule, direct, server
from fedcert.laws import DiagonalGaussian
from fedcert.message import Message
from fedcert.networks import Network, mlp
from fedcert.progress import Tracker, silent
from fedcert.properties import correctly_classified, linf_robustness
from fedcert.randomness import stream
from fedcert.rules import WeightedAverage
from fedcert.verifiers import Safe
from fedcert.verifiers.interval import IntervalVerifier

RULES: tuple[RuleName, ...] = ("fedavg", "pog")


@dataclass(frozen=True)
class RunResult:
    """All that a run found out.

    Attributes:
        config: what was run.
        accuracy: test accuracy of the posterior-mean model that each rule deploys.
        certificates: the proven bounds, each with the seconds it took.
        estimates: the Monte Carlo diagnostics.
        timings: seconds for each stage.
        messages: what the clients sent.
        inputs: the test inputs and labels of the properties.
        image_shape: how to draw an input.
        histograms: how many examples of each class each client holds.
    """

    config: RunConfig
    accuracy: dict[RuleName, float]
    certificates: list[tuple[Certificate, float]]
    estimates: list[Estimate]
    timings: dict[str, float]
    messages: list[Message]
    inputs: Split
    image_shape: tuple[int, int]
    histograms: Int64[Tensor, "clients K"]


def run(config: RunConfig, track: Tracker = silent) -> RunResult:
    """Carry out a run.

    Args:
        config: what to run; the same configuration gives the same numbers.
        track: shows progress.
    """
    watch = Stopwatch()
    with watch.stage("data"):
        data = load(config.dataset, config.data_dir, track)
        train, test = data.subset(config.train_examples, config.test_examples, stream(config.seed, "subset"))
        partition = dirichlet_partition(
            train.label, config.clients, config.concentration, stream(config.seed, "partition")
        )
        shards = [train[shard] for shard in partition]
    network = mlp(train.x.shape[1], *config.hidden, data.classes)
    with watch.stage("training"):
        laws = train_clients(config, network, shards, track)
    rules = {
        name: deployed_rule(name, laws, [len(shard) for shard in shards], config.weights) for name in RULES
    }
    with watch.stage("properties"):
        accuracy, inputs = evaluate(config, network, rules, laws, test)
        properties = linf_robustness(inputs.x, inputs.label, config.epsilon, config.margin, data.classes)
        safe = Safe(network, properties, IntervalVerifier())
    with watch.stage("messages"):
        messages = send_messages(config, laws, shards, safe, track)
    with watch.stage("certification"):
        certificates = list(timed(certify(config, messages, rules, safe, track)))
    with watch.stage("estimates"):
        estimates = list(sample(config, laws, rules, safe, track))
    return RunResult(
        config,
        accuracy,
        certificates,
        estimates,
        watch.seconds,
        messages,
        inputs,
        data.image_shape,
        torch.stack([shard.label.bincount(minlength=data.classes) for shard in shards]),
    )


def train_clients(
    config: RunConfig, network: Network, shards: Sequence[Split], track: Tracker = silent
) -> list[DiagonalGaussian]:
    """Each client's posterior, trained from one shared initialisation.

    Args:
        config: the training protocol and the posterior scale.
        network: f_θ.
        shards: each client's examples.
        track: shows progress.
    """
    initial = network.initialise(stream(config.seed, "initialisation"))
    laws = []
    for i, shard in enumerate(track(shards, "training clients", len(shards))):
        generator = stream(config.seed, "training", i)
        law = config.training(network, shard.x.float(), shard.label, initial, generator)
        law = law if config.scale == "learned" else law.with_scale(config.scale)
        laws.append(law.to(config.device))
    return laws


def evaluate(
    config: RunConfig,
    network: Network,
    rules: dict[RuleName, WeightedAverage],
    laws: Sequence[DiagonalGaussian],
    test: Split,
) -> tuple[dict[RuleName, float], Split]:
    """Accuracy of the posterior-mean model of each rule, and the inputs that become properties."""
    test = test.to(config.device)
    means = {name: rule([law.loc for law in laws]) for name, rule in rules.items()}
    accuracy = {
        name: (network(mean, test.x).argmax(-1) == test.label).double().mean().item()
        for name, mean in means.items()
    }
    chosen = correctly_classified(network, means[config.rule], test.x, test.label, config.properties)
    return accuracy, test[chosen]


def send_messages(
    config: RunConfig,
    laws: Sequence[DiagonalGaussian],
    shards: Sequence[Split],
    safe: Safe,
    track: Tracker = silent,
) -> list[Message]:
    """What each client sends."""
    return [
        client(
            f"client-{i}",
            law,
            len(shard),
            stream(config.seed, "cells", i),
            paper_box(config),
            safe if config.screen else None,
            track,
        )
        for i, (law, shard) in enumerate(zip(laws, shards, strict=True))
    ]


def certify(
    config: RunConfig,
    messages: Sequence[Message],
    rules: dict[RuleName, WeightedAverage],
    safe: Safe,
    track: Tracker = silent,
) -> Iterator[Certificate]:
    """Local, transported and direct certificates of the deployed rule; direct ones of the others.

    The direct certificates of all rules draw the same random centres, so that rules with equal laws
    have equal certificates.
    """
    deployed = rules[config.rule]
    centers = stream(config.seed, "direct")
    events = paper_box(config)
    yield from server(messages, deployed, safe, centers, events, config.budget, track)
    for name, rule in rules.items():
        if name != config.rule:
            centers = stream(config.seed, "direct")
            laws = [message.law for message in messages]
            yield direct(laws, rule, safe, centers, events, track)


def sample(
    config: RunConfig,
    laws: Sequence[DiagonalGaussian],
    rules: dict[RuleName, WeightedAverage],
    safe: Safe,
    track: Tracker = silent,
) -> Iterator[Estimate]:
    """MC–IBP under the law of every rule, and joint client draws through the deployed one."""
    for name, rule in rules.items():
        generator = stream(config.seed, "mc-ibp")
        yield mc_ibp(rule.pushforward(laws), safe, name, config.mc_samples, generator, track)
    yield aggregated_sampling(
        laws,
        rules[config.rule],
        safe,
        config.aggregate_samples,
        stream(config.seed, "aggregated-sampling"),
        track,
    )


def paper_box(config: RunConfig) -> PaperBox:
    """The paper's events with the configured values."""
    return PaperBox(config.gamma, config.centers, config.cells)
