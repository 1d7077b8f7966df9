"""Two clients of a network with two inputs, three inputs, and all that a server proves of them."""

from typing import Any

import torch

from fedcert.app.asked import Asked
from fedcert.app.claims import deployed_by
from fedcert.app.config import RunConfig
from fedcert.app.engines import Engine, Here
from fedcert.app.inputs import Inputs
from fedcert.app.journal import Once, afresh
from fedcert.app.parts import CertificateFiles
from fedcert.app.proofs import Proofs
from fedcert.app.spreading import Spread
from fedcert.data import Split
from fedcert.families.cells import Cells
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.robustness import Origin
from fedcert.rules import RuleContext, build_rule
from fedcert.wire.message import Message

HERE, NETWORK = Here(), mlp(2, 2)
INPUTS = Inputs(
    Split(torch.tensor([[0.75, 0.25], [0.4, 0.6], [0.5, 0.5]]).double(), torch.tensor([0, 1, 0])),
    Origin("digits", "first", 10),
)
SETTINGS: dict[str, Any] = {
    "events": ("projected",),
    "claims": ("local", "transported", "direct"),
    "compare": ("pog",),
    "attack_samples": 3,
    "mc_samples": 3,
    "aggregate_samples": 3,
    "centers": 3,
}


def clients() -> list[Message]:
    """Two clients that prefer the class of the larger coordinate, more or less surely; they send no cells."""
    loc = torch.tensor([3, 0, 0, 3, 0, 0]).double()
    laws = [DiagonalGaussian(loc + 0.1 * i, torch.full_like(loc, 0.1 + 0.1 * i)) for i in range(2)]
    return [Message(f"client-{i}", law, Cells.none(6), 10, "paper-box") for i, law in enumerate(laws)]


def proofs(
    once: Once = afresh,
    rule: str = "fedavg",
    engine: Engine = HERE,
    **settings: Any,
) -> Proofs:
    config, messages = RunConfig(rule=rule, **SETTINGS | settings), clients()
    context = RuleContext([message.law for message in messages], None)
    rules = {name: build_rule(name, context) for name in dict.fromkeys((rule, *config.compare))}
    at_first = INPUTS.properties_within(0.5, config.margin, classes=2)
    files = CertificateFiles(NETWORK, rules, messages)
    asked = Asked(config, deployed_by(messages, rules, NETWORK, at_first), INPUTS)
    return Proofs(Spread(asked, engine, once), files)


def everything(own: Proofs) -> list[tuple[str, list[float], list[float], float]]:
    """Every bound and radius of a run at one radius, with its file and its seconds."""
    made = [*own.at(0.01), *own.at_margins(0.01)]
    parts = [
        (one.file, one.certificate.lower.tolist(), [one.epsilon, one.margin], one.seconds) for one in made
    ]
    radii = own.radii(0.5)
    parts.append((
        radii.file,
        radii.found.certificate.lower.tolist(),
        radii.found.radius.tolist(),
        radii.seconds,
    ))
    drawn = own.drawn(0.01)
    parts.append((drawn.file, drawn.bound.lower.tolist(), drawn.bound.proven.tolist(), drawn.seconds))
    return parts + [(one.name, one.successes.tolist(), [], 0.0) for one in own.estimates(0.01)]
