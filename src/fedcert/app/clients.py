"""The clients of a run: which examples each has, and what each learns from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from fedcert.app.config import RunConfig, Scale
from fedcert.app.journal import Once, afresh
from fedcert.app.parts import POSTERIOR, Posterior
from fedcert.app.stopwatch import timed
from fedcert.data import Split, load
from fedcert.data.partition import dirichlet_partition
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import Network, mlp
from fedcert.progress import Tracker, silent
from fedcert.randomness import stream


@dataclass(frozen=True)
class Examples:
    """The examples that a run uses.

    Attributes:
        train: what is split among the clients.
        test: what properties are chosen from.
        classes: K.
        image_shape: how to draw an input.
    """

    train: Split
    test: Split
    classes: int
    image_shape: tuple[int, int]


@dataclass(frozen=True)
class Federation:
    """The clients before they train.

    Attributes:
        examples: those of the run.
        shards: each client's share of those for training.
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
        config: the data, and how many examples.
        track: shows progress.
    """
    data = load(config.dataset, config.data_dir, track)
    train, test = data.subset(config.train_examples, config.test_examples, stream(config.seed, "subset"))
    return Examples(train, test, data.classes, data.image_shape)


def form(config: RunConfig, examples: Examples) -> Federation:
    """The clients of a run with their examples, and the network that they will train.

    Args:
        config: the clients and the network.
        examples: those of the run.
    """
    partition = dirichlet_partition(
        examples.train.label, config.clients, config.concentration, stream(config.seed, "partition")
    )
    network = mlp(examples.train.x.shape[1], *config.hidden, examples.classes)
    initial = network.initialise(stream(config.seed, "initialisation"))
    return Federation(examples, [examples.train[shard] for shard in partition], network, initial)


def train_clients(
    config: RunConfig, federation: Federation, track: Tracker = silent, once: Once = afresh
) -> list[Posterior]:
    """Each client's posterior, trained from one shared initialisation, at the scale that it learns.

    Args:
        config: the training protocol.
        federation: the clients.
        track: shows progress.
        once: makes each posterior, or finds it made.
    """

    def train(i: int) -> Posterior:
        shard, generator = federation.shards[i], stream(config.seed, "training", i)
        learn = partial(config.training, federation.network, shard.x.float(), shard.label)
        return Posterior(*timed(partial(learn, federation.initial, generator)))

    clients = range(len(federation.shards))
    return [
        once(f"posteriors/client-{i}.safetensors", partial(train, i), POSTERIOR)
        for i in track(clients, "training clients", len(clients))
    ]


def scaled(law: DiagonalGaussian, scale: Scale) -> DiagonalGaussian:
    """The law at the scale that a run asks for."""
    return law if scale == "learned" else law.with_scale(scale)
