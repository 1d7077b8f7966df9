"""The question of a run, once the posteriors are known: rules, accuracy and the inputs of the properties."""

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from fedcert.app.accuracy import accuracy_by_client, mean_accuracy
from fedcert.app.claims import Rules
from fedcert.app.clients import Examples
from fedcert.app.config import RunConfig
from fedcert.app.given import GivenInputs
from fedcert.app.inputs import Inputs, choose_inputs
from fedcert.federation.mean_models import mean_models
from fedcert.laws.registry import StatedLaw
from fedcert.model.network import Network
from fedcert.rules import RuleContext, build_rule


@dataclass(frozen=True)
class Posed:
    """The question to be certified for given posteriors.

    Attributes:
        network: f_θ.
        rules: the deployed rule and the rules that it is compared with.
        accuracy: test accuracy of the posterior-mean model that each rule deploys; none without labels.
        inputs: the inputs of the properties.
        accuracy_on_inputs: accuracy of the posterior-mean model of the deployed rule on these inputs; None
            without labels.
        accuracy_by_client: name, number of test examples and accuracy of that model on them.
    """

    network: Network
    rules: Rules
    accuracy: dict[str, float]
    inputs: Inputs | GivenInputs
    accuracy_on_inputs: float | None
    accuracy_by_client: list[tuple[str, int, float]]


def make_rules(
    config: RunConfig,
    laws: Sequence[StatedLaw],
    sizes: Sequence[int],
    initial: Float[Tensor, "n_w"] | None,
) -> Rules:
    """The deployed rule and those compared with it; explicit weights apply to the deployed rule."""
    rules: Rules = {}
    for name in dict.fromkeys((config.rule, *config.compare)):
        own = name == config.rule or isinstance(config.weights, str)
        weights = config.weights if own else "uniform"
        start, rate = None if initial is None else initial.double(), config.server_rate
        context = RuleContext(laws, sizes, weights, config.trim, start, rate, config.shared_prior)
        rules[name] = build_rule(name, context)
    return rules


def pose(
    config: RunConfig,
    network: Network,
    laws: Sequence[StatedLaw],
    sizes: Sequence[int],
    initial: Float[Tensor, "n_w"],
    examples: Examples,
) -> Posed:
    """The rules for these posteriors, how accurate their models are, and the inputs of the properties.

    Args:
        config: says which rule is deployed and which inputs become properties.
        network: f_θ.
        laws: the clients' posteriors.
        sizes: the clients' numbers of examples.
        initial: the parameters that all clients started from.
        examples: the test examples.
    """
    rules = make_rules(config, laws, sizes, initial)
    means = {name: mean_models(rule, laws) for name, rule in rules.items()}
    accuracy = {name: mean_accuracy(network, own, examples.test) for name, own in means.items()}
    inputs = choose_inputs(config, examples, network, means[config.rule].likeliest)
    on_inputs = mean_accuracy(network, means[config.rule], inputs.examples)
    by_client = accuracy_by_client(network, means[config.rule], examples)
    return Posed(network, rules, accuracy, inputs, on_inputs, by_client)


def pose_given(
    config: RunConfig,
    network: Network,
    laws: Sequence[StatedLaw],
    sizes: Sequence[int],
    inputs: GivenInputs,
) -> Posed:
    """The same for inputs that a user gave: accuracy is measured on them, if they have labels.

    Args:
        config: says which rule is deployed.
        network: f_θ.
        laws: the clients' posteriors.
        sizes: the clients' numbers of examples.
        inputs: what the user gave.
    """
    rules, examples = make_rules(config, laws, sizes, None), inputs.examples
    accuracy: dict[str, float] = {}
    if examples is not None:
        means = {name: mean_models(rule, laws) for name, rule in rules.items()}
        accuracy = {name: mean_accuracy(network, own, examples) for name, own in means.items()}
    return Posed(network, rules, accuracy, inputs, accuracy.get(config.rule), [])
