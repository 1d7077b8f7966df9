"""One run: clients train, each sends one message, the server certifies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from fedcert.app.asked import Asked
from fedcert.app.claims import chosen_families, deployed_by, require_claims
from fedcert.app.clients import Examples, Federation, choose_examples, form, scaled, train_clients, untrained
from fedcert.app.config import RunConfig
from fedcert.app.engines import Engine, Here
from fedcert.app.given import GivenInputs
from fedcert.app.inputs import Inputs, count_of
from fedcert.app.journal import Once, afresh
from fedcert.app.parts import MESSAGE, CertificateFiles, Posterior
from fedcert.app.posing import Posed, make_rules, pose
from fedcert.app.proofs import Drawn, Proofs, Proven, ProvenRadii
from fedcert.app.spreading import Spread
from fedcert.app.stopwatch import Stopwatch
from fedcert.certificate import Estimate
from fedcert.families.cells import Cells
from fedcert.families.problem import Problem
from fedcert.families.protocol import CellFamily
from fedcert.federation.mean_models import mean_models
from fedcert.laws import is_diagonal
from fedcert.laws.registry import StatedLaw
from fedcert.model.robustness import Origin, Robustness
from fedcert.progress import Tracker, silent
from fedcert.verify import Safe
from fedcert.verify.attack import ProjectedGradient
from fedcert.verify.interval import IntervalVerifier
from fedcert.wire.message import Message


@dataclass(frozen=True)
class RunResult:
    """Everything that a run produces.

    Attributes:
        config: the configuration of the run.
        accuracy: test accuracy of the posterior-mean model that each rule deploys.
        inputs: the inputs of the properties.
        subject: what the properties say, at the first radius.
        accuracy_on_inputs: accuracy of the posterior-mean model of the deployed rule on these inputs; None
            without labels.
        accuracy_by_client: where the data say whose each test example is, name, number of test examples and
            accuracy of that model on them.
        proven: the proven bounds at every radius.
        proven_at_margins: proven bounds for other margins, from which softmax decisions follow.
        radii: the certified radius of each input, for each threshold.
        drawn: the confidence bounds.
        estimates: the Monte Carlo diagnostics, each with its radius.
        timings: seconds for each stage, in the process that finished the run; training by whoever trained.
        messages: the messages that the clients sent.
        examples: the examples of the run; None where a user gave the inputs.
        attacked: for each radius, for which properties an attack breaks the posterior-mean model of the
            deployed rule.
        histograms: how many examples of each class each client holds; None if only the clients know.
        refused: message files that were refused, with the reasons.
    """

    config: RunConfig
    accuracy: dict[str, float]
    inputs: Inputs | GivenInputs
    subject: Robustness
    accuracy_on_inputs: float | None
    accuracy_by_client: list[tuple[str, int, float]]
    proven: list[Proven]
    proven_at_margins: list[Proven]
    radii: list[ProvenRadii]
    drawn: list[Drawn]
    estimates: list[tuple[float, Estimate]]
    timings: dict[str, float]
    messages: list[Message]
    examples: Examples | None
    attacked: dict[float, Bool[Tensor, "P"]]
    histograms: Int64[Tensor, "clients K"] | None
    refused: Mapping[str, str] = field(default_factory=dict)


def run(
    config: RunConfig, track: Tracker = silent, once: Once = afresh, engine: Engine | None = None
) -> RunResult:
    """Carry out a run.

    Args:
        config: what to run; the same configuration gives the same numbers.
        track: shows progress.
        once: makes each part of the run, or reads it back if a process that was killed had made it.
        engine: certifies and samples, piece by piece of the inputs; this process where None.
    """
    watch = Stopwatch()
    with watch.stage("data"):
        federation = form(config, choose_examples(config, track))
        require_provable(config, federation)
    posteriors = train_clients(config, federation, track, once)
    return certify_clients(config, federation, posteriors, watch, track, once, engine)


def require_provable(config: RunConfig, federation: Federation) -> None:
    """Refuse, before hours of training, a run that cannot end: what it asks for is known from the start.

    Args:
        config: what to run.
        federation: the clients before they train.
    """
    count_of(config, federation.examples)
    pool, laws = federation.examples.pool, untrained(config, federation)
    rule = make_rules(config, laws, federation.sizes, federation.initial)[config.rule]
    asked = Inputs(pool[torch.tensor([0])], Origin()).properties_within(0.0, 0.0, federation.network.outputs)
    require_claims(config, Problem(federation.network, asked, tuple(laws), rule))


def certify_clients(
    config: RunConfig,
    federation: Federation,
    posteriors: Sequence[Posterior],
    watch: Stopwatch,
    track: Tracker = silent,
    once: Once = afresh,
    engine: Engine | None = None,
) -> RunResult:
    """What a run does once its clients are trained.

    Args:
        config: what to run.
        federation: the clients.
        posteriors: what they have learned.
        watch: measures the time per stage.
        track: shows progress.
        once: makes each part, or reads it back if it was made before.
        engine: certifies and samples, piece by piece of the inputs; this process where None.
    """
    watch.seconds["training"] = sum(posterior.seconds for posterior in posteriors)
    with watch.stage("properties"):
        laws = [scaled(posterior.law, config.scale).to(config.device) for posterior in posteriors]
        posed = pose(
            config, federation.network, laws, federation.sizes, federation.initial, federation.examples
        )
    with watch.stage("messages"):
        names = federation.examples.names(len(laws))
        messages = send_messages(config, laws, federation.sizes, names, posed, track, once)
    examples, histograms = federation.examples, federation.histograms
    return conclude(config, examples, messages, posed, watch, track, once, histograms, engine=engine)


def send_messages(
    config: RunConfig,
    laws: Sequence[StatedLaw],
    sizes: Sequence[int],
    names: Sequence[str],
    posed: Posed,
    track: Tracker = silent,
    once: Once = afresh,
) -> list[Message]:
    """The message of each client; it holds cells only if some family of events is made from them.

    Cells are screened for the first radius, whatever other radii are certified with them.
    """
    asked = posed.inputs.properties_within(config.epsilon[0], config.margin, posed.network.outputs)
    safe = Safe(posed.network, asked.to(config.device), IntervalVerifier())
    boxed = all(len(law.components) == 1 and is_diagonal(law) for law in laws)  # others have no cells
    chosen = chosen_families(config) if boxed else []
    makers = [family for family in chosen if isinstance(family, CellFamily)]

    def send(i: int) -> Message:
        name, law, size = names[i], laws[i], sizes[i]
        if not makers:
            return Message(name, law, Cells.none(law.dimension).to(law.loc.device), size)
        return Message(name, law, makers[0].client_cells(law, i, safe, track), size, makers[0].name)

    sent = [once(f"messages/{name}.safetensors", partial(send, i), MESSAGE) for i, name in enumerate(names)]
    return [message.to(config.device) for message in sent]


def conclude(
    config: RunConfig,
    examples: Examples | None,
    messages: list[Message],
    posed: Posed,
    watch: Stopwatch,
    track: Tracker = silent,
    once: Once = afresh,
    histograms: Int64[Tensor, "clients K"] | None = None,
    refused: Mapping[str, str] | None = None,
    engine: Engine | None = None,
) -> RunResult:
    """What the server does with the messages: it certifies, then samples.

    Args:
        config: the configuration of the run.
        examples: the examples of the run; None where a user gave the inputs.
        messages: the messages that the clients sent.
        posed: the rules and the inputs.
        watch: measures the time of each stage.
        track: shows progress.
        once: makes each certificate and estimate, or reads it back if it was made before.
        histograms: how many examples of each class each client holds; None if unknown.
        refused: message files that were refused, with the reasons.
        engine: certifies and samples, piece by piece of the inputs; this process where None.
    """
    at_first = posed.inputs.properties_within(
        config.epsilon[0], config.margin, posed.network.outputs, config.device
    )
    if at_first.subject is None:
        raise AssertionError("the properties of a run say what they mean")
    deployments = deployed_by(messages, posed.rules, posed.network, at_first)
    files = CertificateFiles(posed.network, {rule.name: rule for rule in posed.rules.values()}, messages)
    require_claims(config, deployments[config.rule])
    asked = Asked(config, deployments, posed.inputs)
    proofs = Proofs(Spread(asked, engine or Here(), once, track), files)
    with watch.stage("certification"):
        proven = [one for epsilon in config.epsilon for one in proofs.at(epsilon)]
        at_margins = [one for epsilon in config.epsilon for one in proofs.at_margins(epsilon)]
        radii = [proofs.radii(threshold) for threshold in config.radius]
    drawn: list[Drawn] = []
    if config.confidence_draws:
        with watch.stage("confidence"):
            drawn = [proofs.drawn(epsilon) for epsilon in config.epsilon]
    with watch.stage("estimates"):
        estimates = [(epsilon, one) for epsilon in config.epsilon for one in proofs.estimates(epsilon)]
        models = mean_models(posed.rules[config.rule], [message.law for message in messages])
        mean = models.likeliest.unsqueeze(0)
        attacked = {
            epsilon: ~ProjectedGradient().survives(posed.network, mean, asked.properties(epsilon))[0]
            for epsilon in config.epsilon
        }
    return RunResult(
        config,
        posed.accuracy,
        posed.inputs,
        at_first.subject.to("cpu"),
        posed.accuracy_on_inputs,
        posed.accuracy_by_client,
        proven,
        at_margins,
        radii,
        drawn,
        estimates,
        watch.seconds,
        messages,
        examples,
        attacked,
        histograms,
        refused or {},
    )
