"""One run: clients train, each sends one message, the server certifies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from fedcert.certificate import Certificate, Estimate
from fedcert.certify.box import certify_boxes, certify_boxes_directly, certify_boxes_locally
from fedcert.certify.projected import EVENTS as PROJECTED
from fedcert.certify.projected import certify_projected_directly, certify_projected_locally
from fedcert.certify.projected_transported import certify_projected
from fedcert.data import Split, load
from fedcert.data.partition import dirichlet_partition
from fedcert.estimates import aggregated_sampling, attack_survival, mc_ibp
from fedcert.events.cells import Cells
from fedcert.events.mean_box import MeanBox
from fedcert.events.paper_box import PaperBox
from fedcert.experiments.config import RunConfig
from fedcert.experiments.stopwatch import Stopwatch, timed
from fedcert.federation import RuleName, client, deployed_rule, direct, server
from fedcert.laws import DiagonalGaussian
from fedcert.message import Message
from fedcert.networks import Network, mlp
from fedcert.progress import Tracker, silent
from fedcert.properties import Properties, correctly_classified, linf_robustness
from fedcert.randomness import stream
from fedcert.rules import AggregationRule, GaussianRule, LinearRule, WeightedAverage
from fedcert.verifiers import AnyOf, Safe
from fedcert.verifiers.interval import IntervalVerifier, MergedIntervalVerifier
from fedcert.verifiers.linear import LinearVerifier

Rules = dict[RuleName, AggregationRule]
COMPARED: tuple[RuleName, ...] = ("fedavg", "pog")  # direct claims and MC–IBP are made for both


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
        network: f_θ.
        properties: what the certificates speak about.
        rules: the deployed rule and those compared with it.
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
    network: Network
    properties: Properties
    rules: Rules


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
        initial = network.initialise(stream(config.seed, "initialisation"))
        laws = train_clients(config, network, shards, initial, track)
    rules = make_rules(config, laws, [len(shard) for shard in shards], initial)
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
        network,
        properties,
        rules,
    )


def train_clients(
    config: RunConfig,
    network: Network,
    shards: Sequence[Split],
    initial: Float[Tensor, "n_w"],
    track: Tracker = silent,
) -> list[DiagonalGaussian]:
    """Each client's posterior, trained from one shared initialisation.

    Args:
        config: the training protocol and the posterior scale.
        network: f_θ.
        shards: each client's examples.
        initial: the parameters that all clients start from.
        track: shows progress.
    """
    laws = []
    for i, shard in enumerate(track(shards, "training clients", len(shards))):
        generator = stream(config.seed, "training", i)
        law = config.training(network, shard.x.float(), shard.label, initial, generator)
        law = law if config.scale == "learned" else law.with_scale(config.scale)
        laws.append(law.to(config.device))
    return laws


def make_rules(
    config: RunConfig,
    laws: Sequence[DiagonalGaussian],
    sizes: Sequence[int],
    initial: Float[Tensor, "n_w"],
) -> Rules:
    """The deployed rule, and the two that are always compared; explicit weights are the deployed rule's."""
    rules: Rules = {}
    for name in dict.fromkeys((config.rule, *COMPARED)):
        own = name == config.rule or isinstance(config.weights, str)
        weights = config.weights if own else "uniform"
        rules[name] = deployed_rule(
            name, laws, sizes, weights, config.trim, initial.double(), config.server_rate
        )
    return rules


def evaluate(
    config: RunConfig,
    network: Network,
    rules: Rules,
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
    """What each client sends; cells only where some events are made from them."""
    messages = []
    for i, (law, shard) in enumerate(zip(laws, shards, strict=True)):
        name, generator = f"client-{i}", stream(config.seed, "cells", i)
        if PaperBox.name in config.events:
            screen = safe if config.screen else None
            messages.append(client(name, law, len(shard), generator, paper_box(config), screen, track))
        else:
            messages.append(Message(name, law, Cells.none(law.dimension), len(shard)))
    return messages


def certify(
    config: RunConfig, messages: Sequence[Message], rules: Rules, safe: Safe, track: Tracker = silent
) -> Iterator[Certificate]:
    """Every certificate of the run, family by family.

    Local and transported claims are made for the deployed rule, direct ones for every rule that has a
    closed-form law. All direct certificates draw the same random centres, so that rules with equal laws
    have equal certificates.
    """
    deployed = rules[config.rule]
    laws = [message.law for message in messages]
    others = [rule for name, rule in rules.items() if name != config.rule and isinstance(rule, GaussianRule)]
    with_law = [deployed, *others] if isinstance(deployed, GaussianRule) else others
    if PaperBox.name in config.events:
        events = paper_box(config)
        centers = stream(config.seed, "direct")
        yield from server(messages, deployed, safe, centers, events, config.budget, track)
        for rule in others:
            yield direct(laws, rule, safe, stream(config.seed, "direct"), events, track)
    if MeanBox.name in config.events:
        tight = Safe(safe.network, safe.properties, AnyOf((MergedIntervalVerifier(), LinearVerifier())))
        yield certify_boxes_locally(laws, deployed.name, tight, MeanBox(), track)
        yield certify_boxes(laws, deployed, tight, MeanBox(), track=track)
        for rule in with_law:
            yield certify_boxes_directly(laws, rule, tight, MeanBox(), track)
    if PROJECTED in config.events:
        network, properties = safe.network, safe.properties
        yield certify_projected_locally(laws, deployed.name, network, properties, track)
        if isinstance(deployed, LinearRule | WeightedAverage):
            yield certify_projected(laws, deployed, network, properties, track=track)
        for rule in with_law:
            yield certify_projected_directly(laws, rule, network, properties, track=track)


def sample(
    config: RunConfig,
    laws: Sequence[DiagonalGaussian],
    rules: Rules,
    safe: Safe,
    track: Tracker = silent,
) -> Iterator[Estimate]:
    """MC–IBP and attack survival under the law of every rule that has one, and joint client draws."""
    for name, rule in rules.items():
        if isinstance(rule, GaussianRule):
            law = rule.pushforward(laws)
            yield mc_ibp(law, safe, name, config.mc_samples, stream(config.seed, "mc-ibp"), track)
            yield attack_survival(
                law,
                safe.network,
                safe.properties,
                name,
                config.attack_samples,
                stream(config.seed, "attack-survival"),
                track=track,
            )
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
