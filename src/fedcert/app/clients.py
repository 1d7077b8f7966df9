"""The clients of a run: which examples each client has, and what it learns from them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from fedcert.app.config import RunConfig
from fedcert.app.journal import Once, afresh
from fedcert.app.parts import POSTERIOR, Posterior
from fedcert.app.settings import Scale
from fedcert.app.stopwatch import timed
from fedcert.data import Split, load
from fedcert.data.partition import dirichlet_partition
from fedcert.errors import DataError, InvalidConfig
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.laws.registry import StatedLaw
from fedcert.model.features import Feature
from fedcert.model.network import Network
from fedcert.progress import Tracker, silent
from fedcert.randomness import stream
from fedcert.training.batched import Pupil, train_together
from fedcert.training.structured_laplace import StructuredLaplace


@dataclass(frozen=True)
class Examples:
    """The examples that a run uses.

    Attributes:
        train: the training examples, which are split among the clients.
        test: the test examples, on which accuracy is measured.
        pool: the examples that properties are chosen from as they come: the whole test set.
        classes: K, the number of classes.
        image_shape: rows and columns of an input drawn as an image; None for measurements.
        features: which measurement each input coordinate is; None for images.
        clients: the names of those whose examples these are; None where they are still to be shared out.
    """

    train: Split
    test: Split
    pool: Split
    classes: int
    image_shape: tuple[int, int] | None
    features: tuple[Feature, ...] | None = None
    clients: tuple[str, ...] | None = None

    def names(self, count: int) -> list[str]:
        """The names of so many clients.

        Args:
            count: how many there are.
        """
        return [f"client-{i}" for i in range(count)] if self.clients is None else list(self.clients)


@dataclass(frozen=True)
class Federation:
    """The clients before they train.

    Attributes:
        examples: the examples of the run.
        shards: each client's share of the training examples.
        network: f_θ.
        initial: the parameters that all clients start from.
    """

    examples: Examples
    shards: Sequence[Split]
    network: Network
    initial: Float[Tensor, "n_w"]

    @property
    def sizes(self) -> list[int]:
        """Each client's number of examples."""
        return [len(shard) for shard in self.shards]

    @property
    def histograms(self) -> Int64[Tensor, "clients K"]:
        """How many examples of each class each client holds."""
        return torch.stack([shard.label.bincount(minlength=self.examples.classes) for shard in self.shards])


def choose_examples(config: RunConfig, track: Tracker = silent) -> Examples:
    """The random subset of the data that a run uses.

    Args:
        config: names the data set and the numbers of examples.
        track: shows progress.
    """
    if config.table is None:
        data = load(config.dataset, config.data_dir, track).numbered()
    else:
        data = config.table.dataset(config.seed).numbered()
    train, test = data.subset(config.train_examples, config.test_examples, stream(config.seed, "subset"))
    if data.test is None:  # the examples that were set aside are the test set
        test = test.numbered()
    return Examples(
        train, test, data.test or test, data.classes, data.image_shape, data.features, data.clients
    )


def form(config: RunConfig, examples: Examples) -> Federation:
    """The clients of a run with their examples, and the network that they will train.

    Args:
        config: describes the clients and the network.
        examples: the examples of the run.
    """
    network = network_of(config, examples)
    initial = network.initialise(stream(config.seed, "initialisation"))
    shards = [examples.train[shard] for shard in _partition(config, examples)]
    return Federation(examples, shards, network, initial)


def network_of(config: RunConfig, examples: Examples) -> Network:
    """The network that all clients train.

    Args:
        config: names it.
        examples: the examples of the run.
    """
    return config.architecture.network(examples.test.x.shape[1], examples.classes, examples.image_shape)


def _partition(config: RunConfig, examples: Examples) -> list[Int64[Tensor, " m"]]:
    """Which training examples each client has: as the data say, or shared out at random."""
    if config.concentration is not None:
        return dirichlet_partition(
            examples.train.label, config.clients, config.concentration, stream(config.seed, "partition")
        )
    if examples.train.client is None or examples.clients is None:
        raise InvalidConfig(f"concentration: {config.dataset} does not say whose its examples are")
    if len(examples.clients) != config.clients:
        raise InvalidConfig(f"clients: {config.clients}, but {config.dataset} has {len(examples.clients)}")
    shards = [(examples.train.client == i).nonzero().squeeze(-1) for i in range(config.clients)]
    for name, shard in zip(examples.names(config.clients), shards, strict=True):
        if len(shard) == 0:
            raise DataError(f"train-examples: none of {config.train_examples} are of the client {name}")
    return shards


def train_clients(
    config: RunConfig, federation: Federation, track: Tracker = silent, once: Once = afresh
) -> list[Posterior]:
    """Each client's posterior, trained from one shared initialisation, at its learned scale.

    Args:
        config: holds the training protocol.
        federation: the clients.
        track: shows progress.
        once: makes each posterior, or reads it back if it was made before.
    """
    clients = range(len(federation.shards))
    apart = partial(train_client, config, federation)
    train = _together(config, federation, track) if config.train_together else apart
    return [
        once(f"posteriors/client-{i}.safetensors", partial(train, i), POSTERIOR)
        for i in track(clients, "training clients", len(clients))
    ]


def train_client(config: RunConfig, federation: Federation, client: int) -> Posterior:
    """One client's posterior, trained from the shared initialisation, at its learned scale.

    Args:
        config: holds the training protocol.
        federation: the clients.
        client: its place among the clients.
    """
    shard, generator = federation.shards[client], stream(config.seed, "training", client)
    learn = partial(config.trainer, federation.network, shard.x.float(), shard.label)
    return Posterior(*timed(partial(learn, federation.initial, generator)))


def _together(config: RunConfig, federation: Federation, track: Tracker) -> Callable[[int], Posterior]:
    """What each client learns when all are trained in one batch, as soon as one of them is asked for."""

    @cache
    def everyone() -> tuple[list[DiagonalGaussian], float]:
        pupils = [
            Pupil(shard.x.float(), shard.label, federation.initial, stream(config.seed, "training", i))
            for i, shard in enumerate(federation.shards)
        ]
        train = partial(train_together, config.training, federation.network, pupils, config.device, track)
        laws, seconds = timed(train)
        return laws, seconds / len(laws)

    def learned(client: int) -> Posterior:
        laws, seconds = everyone()
        return Posterior(laws[client], seconds)

    return learned


def scaled(law: StatedLaw, scale: Scale) -> StatedLaw:
    """The law at the scale that the configuration of a run sets; of a mixture, each component.

    Args:
        law: of a client.
        scale: one deviation for all parameters, or "learned".
    """
    if scale == "learned":
        return law
    components = tuple(own.with_scale(scale) for own in law.components if isinstance(own, DiagonalGaussian))
    if isinstance(law, GaussianMixture):
        return GaussianMixture(components, law.weights)
    return components[0]


def untrained(config: RunConfig, federation: Federation) -> list[StatedLaw]:
    """Laws of the kind that training will make, before anything has been learned.

    Args:
        config: of the run.
        federation: the clients.
    """
    loc, trainer = federation.initial.double(), config.trainer
    if isinstance(trainer, StructuredLaplace):
        return [trainer.untrained(federation.network, loc)] * len(federation.shards)
    law = DiagonalGaussian(loc, torch.full_like(loc, config.shared_prior or 1.0))
    if config.posterior != "ensemble":
        return [law] * len(federation.shards)
    weights = torch.ones(config.members, dtype=torch.float64)
    return [GaussianMixture((law,) * config.members, weights)] * len(federation.shards)
