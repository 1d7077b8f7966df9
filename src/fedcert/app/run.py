"""One run: clients train, each sends one message, the server certifies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from jaxtyping import Bool, Float, Int64
from torch import Tensor

from fedcert.app.claims import Rules, certify, chosen_families, deployed_by, sample
from fedcert.app.clients import Federation, choose_examples, form, scaled, train_clients
from fedcert.app.config import RunConfig
from fedcert.app.journal import Format, Once, afresh
from fedcert.app.parts import (
    ESTIMATE,
    MESSAGE,
    CertificateFile,
    Posterior,
)
from fedcert.app.stopwatch import Stopwatch, timed
from fedcert.certificate import Certificate, Estimate
from fedcert.data import Split
from fedcert.families.cells import Cells
from fedcert.families.protocol import CellFamily
from fedcert.laws import diagonal_components
from fedcert.laws.registry import StatedLaw
from fedcert.model.network import Network
from fedcert.model.properties import correctly_classified, linf_robustness
from fedcert.progress import Tracker, silent
from fedcert.rules import RuleContext, build_rule
from fedcert.verify import Safe
from fedcert.verify.attack import ProjectedGradient
from fedcert.verify.interval import IntervalVerifier
from fedcert.wire.certificate_file import certificate_file
from fedcert.wire.message import Message

COMPARED: tuple[str, ...] = ("fedavg", "pog")  # direct claims and MC–IBP are made for both


@dataclass(frozen=True)
class RunResult:
    """All that a run found out.

    Attributes:
        config: what was run.
        accuracy: test accuracy of the posterior-mean model that each rule deploys.
        certificates: the proven bounds, each with the seconds it took.
        estimates: the Monte Carlo diagnostics.
        timings: seconds for each stage, in the process that finished the run; training by whoever trained.
        messages: what the clients sent.
        inputs: the test inputs and labels of the properties.
        image_shape: how to draw an input.
        attacked: for which properties an attack breaks the posterior-mean model of the deployed rule.
        histograms: how many examples of each class each client holds; None where only they know.
        refused: message files that were refused, with the reasons.
    """

    config: RunConfig
    accuracy: dict[str, float]
    certificates: list[tuple[Certificate, float]]
    estimates: list[Estimate]
    timings: dict[str, float]
    messages: list[Message]
    inputs: Split
    image_shape: tuple[int, int]
    attacked: Bool[Tensor, "P"]
    histograms: Int64[Tensor, "clients K"] | None
    refused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Posed:
    """What is to be certified for given posteriors.

    Attributes:
        rules: the deployed rule and those that it is compared with.
        accuracy: test accuracy of the posterior-mean model that each rule deploys.
        inputs: the test inputs and labels of the properties.
        safe: the network, the properties and the paper's verifier.
    """

    rules: Rules
    accuracy: dict[str, float]
    inputs: Split
    safe: Safe


def run(config: RunConfig, track: Tracker = silent, once: Once = afresh) -> RunResult:
    """Carry out a run.

    Args:
        config: what to run; the same configuration gives the same numbers.
        track: shows progress.
        once: makes each part of the run, or finds it made by a process that was killed.
    """
    watch = Stopwatch()
    with watch.stage("data"):
        federation = form(config, choose_examples(config, track))
    posteriors = train_clients(config, federation, track, once)
    return certify_clients(config, federation, posteriors, watch, track, once)


def certify_clients(
    config: RunConfig,
    federation: Federation,
    posteriors: Sequence[Posterior],
    watch: Stopwatch,
    track: Tracker = silent,
    once: Once = afresh,
) -> RunResult:
    """What a run does once its clients are trained.

    Args:
        config: what to run.
        federation: the clients.
        posteriors: what they have learned.
        watch: takes the time.
        track: shows progress.
        once: makes each part, or finds it made.
    """
    watch.seconds["training"] = sum(posterior.seconds for posterior in posteriors)
    with watch.stage("properties"):
        laws = [scaled(posterior.law, config.scale).to(config.device) for posterior in posteriors]
        test = federation.examples.test
        posed = pose(config, federation.network, laws, federation.sizes, federation.initial, test)
    with watch.stage("messages"):
        messages = send_messages(config, laws, federation.sizes, posed.safe, track, once)
    shape = federation.examples.image_shape
    return conclude(config, shape, messages, posed, watch, track, once, federation.histograms)


def make_rules(
    config: RunConfig,
    laws: Sequence[StatedLaw],
    sizes: Sequence[int],
    initial: Float[Tensor, "n_w"],
) -> Rules:
    """The deployed rule, and the two that are always compared; explicit weights are the deployed rule's."""
    rules: Rules = {}
    gaussians = [diagonal_components(law)[0] for law in laws]
    for name in dict.fromkeys((config.rule, *COMPARED)):
        own = name == config.rule or isinstance(config.weights, str)
        weights = config.weights if own else "uniform"
        context = RuleContext(gaussians, sizes, weights, config.trim, initial.double(), config.server_rate)
        rules[name] = build_rule(name, context)
    return rules


def evaluate(
    config: RunConfig,
    network: Network,
    rules: Rules,
    laws: Sequence[StatedLaw],
    test: Split,
) -> tuple[dict[str, float], Split]:
    """Accuracy of the posterior-mean model of each rule, and the inputs that become properties."""
    test = test.to(config.device)
    means = {name: rule([law.loc for law in laws]) for name, rule in rules.items()}
    accuracy = {
        name: (network(mean, test.x).argmax(-1) == test.label).double().mean().item()
        for name, mean in means.items()
    }
    chosen = correctly_classified(network, means[config.rule], test.x, test.label, config.properties)
    return accuracy, test[chosen]


def pose(
    config: RunConfig,
    network: Network,
    laws: Sequence[StatedLaw],
    sizes: Sequence[int],
    initial: Float[Tensor, "n_w"],
    test: Split,
) -> Posed:
    """The rules for these posteriors, and the properties of the model that is deployed.

    Args:
        config: the rule and the properties.
        network: f_θ.
        laws: the clients' posteriors.
        sizes: their numbers of examples.
        initial: the parameters that all clients started from.
        test: what properties are chosen from.
    """
    rules = make_rules(config, laws, sizes, initial)
    accuracy, inputs = evaluate(config, network, rules, laws, test)
    properties = linf_robustness(inputs.x, inputs.label, config.epsilon, config.margin, network.outputs)
    return Posed(rules, accuracy, inputs, Safe(network, properties, IntervalVerifier()))


def send_messages(
    config: RunConfig,
    laws: Sequence[StatedLaw],
    sizes: Sequence[int],
    safe: Safe,
    track: Tracker = silent,
    once: Once = afresh,
) -> list[Message]:
    """What each client sends; cells only where some events are made from them."""
    makers = [family for family in chosen_families(config) if isinstance(family, CellFamily)]

    def send(i: int) -> Message:
        name, law, size = f"client-{i}", laws[i], sizes[i]
        if not makers:
            return Message(name, law, Cells.none(law.dimension).to(law.loc.device), size)
        return Message(name, law, makers[0].client_cells(law, i, safe, track), size, makers[0].name)

    sent = [once(f"messages/client-{i}.safetensors", partial(send, i), MESSAGE) for i in range(len(laws))]
    return [message.to(config.device) for message in sent]


def conclude(
    config: RunConfig,
    image_shape: tuple[int, int],
    messages: list[Message],
    posed: Posed,
    watch: Stopwatch,
    track: Tracker = silent,
    once: Once = afresh,
    histograms: Int64[Tensor, "clients K"] | None = None,
    refused: Mapping[str, str] | None = None,
) -> RunResult:
    """What the server does with the messages: it certifies, then samples.

    Args:
        config: what to run.
        image_shape: how to draw an input.
        messages: what the clients sent.
        posed: the rules and the properties.
        watch: takes the time.
        track: shows progress.
        once: makes each certificate and estimate, or finds it made.
        histograms: the clients' classes, where known.
        refused: message files that were refused.
    """
    with watch.stage("certification"):
        deployments = deployed_by(messages, posed.rules, posed.safe.network, posed.safe.properties)
        file = CertificateFile(posed.safe, {rule.name: rule for rule in posed.rules.values()}, messages)
        form = Format(file.save, file.load)
        certificates = [
            once(certificate_file(claim), partial(timed, prove), form)
            for claim, prove in certify(config, deployments, track)
            if claim.kind in config.claims
        ]
    with watch.stage("estimates"):
        estimates = [
            once(f"estimates/{name}-{rule}.json", draw, ESTIMATE)
            for name, rule, draw in sample(config, deployments, posed.safe, track)
        ]
        mean = posed.rules[config.rule]([message.law.loc for message in messages])
        survived = ProjectedGradient().survives(posed.safe.network, mean.unsqueeze(0), posed.safe.properties)
    return RunResult(
        config,
        posed.accuracy,
        certificates,
        estimates,
        watch.seconds,
        messages,
        posed.inputs,
        image_shape,
        ~survived[0],
        histograms,
        refused or {},
    )
