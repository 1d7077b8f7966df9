"""Small federations whose certificates can be saved: every kind of claim, rule and family of events."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import torch
from certifying import certify_boxes_directly
from problems import normal, uniform

from fedcert.certificate import Certificate
from fedcert.families.hull import certify_hulls
from fedcert.families.mean_box import certify as box
from fedcert.families.mean_box.certify import certify_boxes, certify_boxes_locally
from fedcert.families.mean_box.events import MeanBox
from fedcert.families.mean_box.tiles import split_boxes
from fedcert.families.paper_box.events import PaperBox
from fedcert.families.paper_box.family import PaperBoxFamily
from fedcert.federation.client import client
from fedcert.federation.server import server
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import AggregationRule, GaussianRule, LinearRule, TrimmedMean
from fedcert.verify import AnyOf, Safe
from fedcert.verify.interval import IntervalVerifier, MergedIntervalVerifier
from fedcert.verify.linear import LinearVerifier
from fedcert.wire.certificate_file import save_certificate
from fedcert.wire.message import Message

TIGHT = AnyOf((MergedIntervalVerifier(), LinearVerifier()))
EVENTS = MeanBox(steps=7)
CELLS = PaperBox(gammas=(1.0, 2.0), centers=40, limit=4)
PAPER_BOX = PaperBoxFamily(CELLS.gammas, CELLS.centers, CELLS.limit, seed=1)


@dataclass(frozen=True)
class Federation:
    """Clients' messages, the network and the properties."""

    messages: list[Message]
    safe: Safe

    @property
    def laws(self) -> list[DiagonalGaussian]:
        return [message.law for message in self.messages]

    def save(self, folder: Path, certificate: Certificate, rule: AggregationRule) -> Path:
        """Write messages and certificate as a run does; the path of the certificate."""
        for message in self.messages:
            message.save(folder / "messages" / f"{message.client}.safetensors")
        path = folder / "certificates" / "certificate.safetensors"
        save_certificate(path, certificate, self.safe.network, self.safe.properties, rule, self.messages)
        return path


def make_federation(
    seed: int = 0,
    widths: tuple[int, ...] = (2, 3, 2),
    scale: float = 0.02,
    equal_scales: bool = False,
    random: torch.Tensor | None = None,
) -> Federation:
    """Three clients with similar means; four properties that hold at the mean, some by little.

    Args:
        seed: of all randomness.
        widths: of the network.
        scale: of every parameter, about.
        equal_scales: whether all are equal.
        random: which parameters are not fixed; None for all.
    """
    generator = stream(seed, "saved")
    network = mlp(*widths)
    n_w = network.parameters
    shared = normal(generator, n_w)
    laws = [
        DiagonalGaussian(
            shared + 0.1 * normal(generator, n_w),
            torch.full((n_w,), scale).double() if equal_scales else scale * (0.5 + uniform(generator, n_w)),
        )
        for _ in range(3)
    ]
    if random is not None:
        laws = [DiagonalGaussian(law.loc, law.scale * random) for law in laws]
    mean = torch.stack([law.loc for law in laws]).mean(0)
    x = normal(generator, 4, widths[0])
    C = normal(generator, 4, 2, widths[-1])
    room = scale * torch.tensor([2.0, 6.0, 12.0, 40.0], dtype=torch.float64)[:, None] * C.abs().sum(-1)
    d = room - (C @ network(mean, x).unsqueeze(-1)).squeeze(-1)
    properties = Properties(Box.around(x, 0.01 * scale), C, d)
    messages = [client(f"client-{i}", law, 10 + i, generator, CELLS) for i, law in enumerate(laws)]
    return Federation(messages, Safe(network, properties, IntervalVerifier()))


def make_rules(federation: Federation) -> dict[str, AggregationRule]:
    """Every rule, for three clients."""
    mean = torch.stack([law.loc for law in federation.laws]).mean(0)
    signed = torch.tensor([[0.9], [0.5], [-0.4]], dtype=torch.float64)
    return {
        "fedavg": LinearRule.fedavg([1, 2, 1]),
        "pog": LinearRule.product_of_gaussians(federation.laws),
        "linear": LinearRule(signed, 0.001 * mean),
        "server-step": LinearRule.server_step(mean, 0.5, [1, 1, 1]),
        "median": TrimmedMean.median(3),
        "trimmed-mean": TrimmedMean(3, 1),
    }


def certify_all(federation: Federation, rule: AggregationRule, budget: int = 24) -> list[Certificate]:
    """The certificates of cells and of boxes; those of hulls come last.

    Args:
        federation: the clients and the properties.
        rule: the deployed rule.
        budget: the most products that are split for a property.
    """

    def split(laws, rule, safe, _):
        return split_boxes(laws, rule, safe, budget)

    with patch.object(box, "split_boxes", split):
        return list(_certify(federation, rule))


def _certify(federation: Federation, rule: AggregationRule) -> Iterator[Certificate]:
    tight = Safe(federation.safe.network, federation.safe.properties, TIGHT)
    laws = federation.laws
    yield from server(
        federation.messages, rule, federation.safe.network, federation.safe.properties, [PAPER_BOX]
    )
    yield certify_boxes_locally(laws, rule.name, tight, EVENTS)
    yield certify_boxes(laws, rule, tight, EVENTS)
    if isinstance(rule, GaussianRule):
        yield certify_boxes_directly(laws, rule, tight, EVENTS)
    cells = [message.verified_cells() for message in federation.messages]
    yield certify_hulls(cells, rule, federation.safe, 30, "paper-box")
