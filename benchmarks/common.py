"""What the benchmarks of certificates share: trained federations, and one row of figures for each."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from fedcert.app.clients import choose_examples, form, train_clients
from fedcert.app.config import RunConfig
from fedcert.app.posing import pose
from fedcert.certificate import Estimate
from fedcert.federation.estimates import attack_survival
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.randomness import stream
from fedcert.rules import LinearRule


@dataclass(frozen=True)
class Setting:
    """A federation to train: as in `fedcert run`, with seed 0."""

    dataset: str
    clients: int
    hidden: tuple[int, ...]
    concentration: float

    def __str__(self) -> str:
        hidden = ",".join(map(str, self.hidden))
        return f"{self.dataset} | {self.clients} | {hidden} | {self.concentration:g}"


HEADER = "data | clients | hidden | concentration"
SETTINGS = [
    Setting("mnist", 2, (64,), 1.0),
    Setting("mnist", 5, (64, 64), 10.0),
    Setting("mnist", 3, (128,), 0.5),
    Setting("mnist", 5, (128, 128, 128), 0.5),
]


def both_datasets(settings: list[Setting]) -> Iterator[Setting]:
    """The settings on MNIST, then on Fashion-MNIST."""
    for dataset in ("mnist", "fashion-mnist"):
        for setting in settings:
            yield replace(setting, dataset=dataset)


@dataclass(frozen=True)
class Trained:
    """A trained federation under FedAvg with uniform weights, and its properties."""

    network: Network
    laws: list[DiagonalGaussian]
    rule: LinearRule
    properties: Properties

    def scaled(self, scale: float) -> "Trained":
        """The same means with one posterior scale for all parameters."""
        return replace(self, laws=[law.with_scale(scale) for law in self.laws])

    @property
    def deployed(self) -> DiagonalGaussian:
        """The law of the deployed model."""
        return self.rule.pushforward(self.laws)

    def survival(self, samples: int = 1000) -> Estimate:
        """The share of sampled deployed networks on which an attack fails."""
        generator = stream(0, "attack-survival")
        return attack_survival(self.deployed, self.network, self.properties, "fedavg", samples, generator)


def train(setting: Setting, epsilon: float = 1e-3, properties: int = 50) -> Trained:
    """Train the clients of a setting, keep their learned scales, choose correctly classified inputs."""
    config = RunConfig(
        dataset=setting.dataset,
        clients=setting.clients,
        hidden=setting.hidden,
        concentration=setting.concentration,
        test_examples=2_000,
        inputs="correct",
        properties=properties,
    )
    federation = form(config, choose_examples(config))
    laws = [posterior.law for posterior in train_clients(config, federation)]
    posed = pose(config, federation.network, laws, federation.sizes, federation.initial, federation.examples)
    rule = posed.rules["fedavg"]
    assert isinstance(rule, LinearRule)
    robust = posed.inputs.properties_within(epsilon, 0.0, federation.examples.classes)
    return Trained(federation.network, laws, rule, robust)


def percent(value: float) -> str:
    return f"{100 * value:.2f}"


def mean(values: torch.Tensor) -> float:
    return values.mean().item()
