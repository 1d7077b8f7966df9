"""Bayes by Backprop for many clients at once: one batched product where the trainer makes one for each.

Every client draws its permutations and its noise from its own generator, in the order in which it would draw
them alone (`BayesByBackprop`), so that the laws differ by rounding alone. Rounding is amplified by
training: means agree to about 1e-4 after a few hundred steps, not to the last bit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy, softplus

from fedcert.errors import DataError
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import Network
from fedcert.progress import Tracker, silent
from fedcert.training.adam import Adam
from fedcert.training.bayes_by_backprop import BayesByBackprop

Step = tuple[Int[Tensor, "_"], Float[Tensor, "n_w"]]


@dataclass(frozen=True, eq=False)
class Pupil:
    """A client that is to learn.

    Attributes:
        x: its inputs.
        label: their classes.
        initial: the initial μ.
        generator: its source of randomness.
    """

    x: Float[Tensor, "n p"]
    label: Int[Tensor, "n"]
    initial: Float[Tensor, "n_w"]
    generator: torch.Generator

    def steps(self, method: BayesByBackprop) -> Iterator[Step]:
        """The examples and the noise of every step, in the order in which the trainer draws them.

        Args:
            method: the protocol of training.
        """
        for _ in range(method.epochs):
            for batch in torch.randperm(len(self.x), generator=self.generator).split(method.batch_size):
                yield batch, torch.randn(len(self.initial), generator=self.generator)

    def count(self, method: BayesByBackprop) -> int:
        """The number of steps.

        Args:
            method: the protocol of training.
        """
        return method.epochs * -(-len(self.x) // method.batch_size)


def train_together(
    method: BayesByBackprop,
    network: Network,
    pupils: Sequence[Pupil],
    device: torch.device | str = "cpu",
    track: Tracker = silent,
) -> list[DiagonalGaussian]:
    """The posterior of every client.

    Step t of all clients is one step on the sum of their losses. Clients with fewer steps drop out when
    they are done; batches that are not full are padded, and what pads them has weight 0.

    Args:
        method: the protocol of training.
        network: f_θ.
        pupils: the clients.
        device: where to compute; the draws are made on a processor.
        track: shows progress.
    """
    if any(len(pupil.x) == 0 for pupil in pupils):
        raise DataError("a client without examples cannot train")
    counts = [pupil.count(method) for pupil in pupils]
    order = sorted(range(len(pupils)), key=lambda i: -counts[i])  # those that are done first stand last
    longest = [pupils[i] for i in order]
    examples = _Examples.of(longest, method.batch_size, device)
    mean = torch.stack([pupil.initial.detach() for pupil in longest]).to(device).requires_grad_()
    rho = torch.full_like(mean, method.initial_rho).requires_grad_()
    optimiser, draws = Adam([mean, rho], method.learning_rate), [pupil.steps(method) for pupil in longest]
    done: list[tuple[Tensor, Tensor]] = []
    for t in track(range(max(counts, default=0)), "training clients together", max(counts, default=0)):
        if (active := sum(count > t for count in counts)) < len(mean):
            done = _finished(mean, rho, active) + done
            optimiser.keep(active)
            mean, rho = optimiser.parameters
        drawn = [next(own) for own in draws[:active]]
        loss = partial(_loss, network, *examples.take([batch for batch, _ in drawn]))
        noise = torch.stack([own for _, own in drawn]).to(mean.device)
        optimiser.descend(method.gradients(loss, mean, rho, noise))
    done = _finished(mean, rho, 0) + done
    laws = [DiagonalGaussian(loc.cpu().double(), scale.cpu().double()) for loc, scale in done]
    return [laws[order.index(i)] for i in range(len(pupils))]


@dataclass(frozen=True, eq=False)
class _Examples:
    """The examples of all clients, one client after the other, on the device."""

    x: Float[Tensor, "n p"]
    label: Int[Tensor, "n"]
    first: Sequence[int]
    batch_size: int

    @classmethod
    def of(cls, pupils: Sequence[Pupil], batch_size: int, device: torch.device | str) -> "_Examples":
        x, label = (
            torch.cat(parts).to(device) for parts in zip(*((p.x, p.label) for p in pupils), strict=True)
        )
        ends = torch.tensor([len(pupil.x) for pupil in pupils]).cumsum(0).tolist()
        return cls(x, label, [0, *ends[:-1]], batch_size)

    def take(self, batches: Sequence[Int[Tensor, "_"]]) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs, labels and weights, of shapes (clients, examples, …); a client's weights add up to 1."""
        widest = max(len(batch) for batch in batches)
        places, weights = (
            torch.zeros(len(batches), widest, dtype=torch.int64),
            torch.zeros(len(batches), widest),
        )
        for i, batch in enumerate(batches):
            places[i, : len(batch)] = batch + self.first[i]
            weights[i, : len(batch)] = 1 / len(batch)
        places = places.to(self.x.device)
        return self.x[places], self.label[places], weights.to(self.x.device)


def _loss(
    network: Network,
    x: Float[Tensor, "C n p"],
    label: Int[Tensor, "C n"],
    weights: Float[Tensor, "C n"],
    theta: Float[Tensor, "C n_w"],
) -> Float[Tensor, ""]:
    """The sum of the clients' cross entropies, at one posterior sample each."""
    losses = cross_entropy(network(theta, x).flatten(0, 1), label.flatten(), reduction="none")
    return (losses * weights.flatten()).sum()


def _finished(mean: Tensor, rho: Tensor, first: int) -> list[tuple[Tensor, Tensor]]:
    """Mean and scale of the clients that are done: those from the first on."""
    with torch.no_grad():
        return list(zip(mean[first:].clone(), softplus(rho[first:]), strict=True))
