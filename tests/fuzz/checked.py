"""Honest certificates from the fast path to a file and on to the checker, which must prove every claim."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import torch
from problems import normal, uniform
from saved import certify_all, make_federation, make_rules
from torch import Tensor

from fedcert.certificate import Certificate
from fedcert.errors import FedcertError
from fedcert.families.cells import Cells
from fedcert.families.problem import Problem
from fedcert.families.projected import split
from fedcert.families.projected.direct import certify_projected_directly, certify_projected_locally
from fedcert.families.projected.tails import Cells as Counted
from fedcert.families.projected.tails import Limit, Product
from fedcert.families.projected.transported import certify_projected
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.rules import LinearRule, published
from fedcert.wire.certificate_file import save_certificate
from fedcert.wire.message import Message
from fedcert_check import check
from fuzz.hostile import between, choice
from fuzz.verdicts import Verdict

PROPERTIES = 4
SMALLEST_NORMAL = 2.0**-1022
PUBLISHED = (
    published.wasserstein,
    published.reverse_kl,
    published.forward_kl,
    published.averaged_variances,
)


def ordinary(generator: torch.Generator) -> Iterator[Verdict]:
    """Projected certificates of federations as they are trained, at all scales and depths."""
    network = mlp(choice(generator, 1, 2, 3), *_hidden(generator), choice(generator, 1, 2, 3))
    units = [1.0] * len(network.unflatten(torch.zeros(network.parameters).double())[::2])
    yield from _projected(generator, network, units, 1.0, 1.0)


def extreme(generator: torch.Generator) -> Iterator[Verdict]:
    """The same with layers, inputs and constraints in units that have nothing to do with each other."""
    network = mlp(choice(generator, 1, 2), *_hidden(generator)[:2], choice(generator, 1, 2))
    layers = len(network.unflatten(torch.zeros(network.parameters).double())[::2])
    units = [
        10 ** choice(generator, between(generator, -2, 2), between(generator, -32, 28)) for _ in range(layers)
    ]
    inputs = 10 ** choice(generator, between(generator, -2, 2), between(generator, -320, 150))
    constraints = 10 ** choice(generator, between(generator, -2, 2), between(generator, -320, 150))
    yield from _projected(generator, network, units, inputs, constraints)


def fixed(generator: torch.Generator) -> Iterator[Verdict]:
    """Projected certificates of networks that are random only in part: layers, biases, single parameters."""
    network = mlp(choice(generator, 1, 2, 3), *_hidden(generator), choice(generator, 1, 2, 3))
    units = [1.0] * len(network.unflatten(torch.zeros(network.parameters).double())[::2])
    yield from _projected(generator, network, units, 1.0, 1.0, patterns=True)


def fixed_families(generator: torch.Generator) -> Iterator[Verdict]:
    """Certificates of cells and boxes of such networks."""
    widths = choice(generator, (2, 3, 2), (1, 2), (2, 2, 2, 2))
    pattern = random_parameters(generator, mlp(*widths))
    yield from _families(generator, widths, pattern)


def random_parameters(generator: torch.Generator, network: Network) -> Tensor:
    """Which parameters are random: those of some tensors, or each for itself, or none."""
    tensors = [t for layer in network.unflatten(torch.zeros(network.parameters).double())[::2] for t in layer]
    if choice(generator, True, True, False):
        chosen = [torch.full((t.numel(),), choice(generator, True, False)) for t in tensors]
        return torch.cat(chosen)
    return uniform(generator, network.parameters) < choice(generator, 0.0, 0.1, 0.5, 0.9)


def _hidden(generator: torch.Generator) -> list[int]:
    return [choice(generator, 1, 2, 4) for _ in range(choice(generator, 0, 1, 1, 2, 3))]


def _projected(
    generator: torch.Generator,
    network: Network,
    units: Sequence[float],
    inputs: float,
    constraints: float,
    patterns: bool = False,
) -> Iterator[Verdict]:
    """One certificate of several properties, in the given units; with patterns, fixed parameters."""
    try:
        laws, rule = _federation(generator, network, units, patterns)
        messages = [Message(f"client-{i}", law, Cells.none(law.dimension), 1) for i, law in enumerate(laws)]
        properties = _properties(generator, network, rule.pushforward(laws), inputs, constraints)
    except FedcertError:  # beyond what laws, messages and properties may be
        yield Verdict(True, False)
        return
    with patch.object(split, "GOOD_ENOUGH", choice(generator, 1e-3, 1.0, 1.0)):  # mostly without a search
        certificate = _certified(generator, laws, rule, network, properties)
    yield from _judged(certificate, network, properties, rule, messages)


def _federation(
    generator: torch.Generator, network: Network, units: Sequence[float], patterns: bool
) -> tuple[list[DiagonalGaussian], LinearRule]:
    """Clients with means in the layers' units, and scales from tiny to wide."""
    sizes = [
        W.numel() + b.numel() for W, b in network.unflatten(torch.zeros(network.parameters).double())[::2]
    ]
    unit = torch.cat([torch.full((n,), u, dtype=torch.float64) for n, u in zip(sizes, units, strict=True)])
    shared, clients = 2 * network.initialise(generator).double(), choice(generator, 1, 2, 3)
    scale = 10 ** between(generator, *choice(generator, (-3.0, -0.5), (-12.0, 1.0)))
    laws = [
        DiagonalGaussian(
            _normal_floats(unit * (shared + scale * normal(generator, len(unit)))),
            unit * scale * (0.3 + uniform(generator, len(unit))),
        )
        for _ in range(clients)
    ]
    if patterns:
        shared_pattern, alike = random_parameters(generator, network), choice(generator, True, True, False)
        laws = [
            DiagonalGaussian(
                law.loc,
                law.scale * (shared_pattern if alike else random_parameters(generator, network)).double(),
            )
            for law in laws
        ]
    rules: list[LinearRule] = [
        LinearRule.fedavg([1 + i for i in range(clients)]),
        LinearRule.product_of_gaussians(laws),
        LinearRule(normal(generator, clients, 1)),
        *(law(laws, torch.full((clients, 1), 1 / clients, dtype=torch.float64)) for law in PUBLISHED),
    ]
    return laws, choice(generator, *rules)


def _normal_floats(values: Tensor) -> Tensor:
    """A message has no denormal numbers."""
    return torch.where(values.abs() < SMALLEST_NORMAL, 0.0, values)


def _properties(
    generator: torch.Generator, network: Network, law: DiagonalGaussian, inputs: float, constraints: float
) -> Properties:
    """Regions and constraints in their units, offsets within some deviations of sampled margins."""
    x = inputs * normal(generator, PROPERTIES, network.inputs)
    C = constraints * normal(generator, PROPERTIES, choice(generator, 1, 2, 3), network.outputs)
    values = network(law.sample(64, generator), x)
    margins = torch.einsum("prk,spk->spr", C, values)
    near = choice(generator, 0.5, 3.0, 6.5) * normal(generator, *margins.shape[1:]).abs()
    d = near * margins.std(0) - margins.mean(0)
    if not bool(law.scale.all()):  # where nothing is random: well inside, well outside, or at the edge
        d = d + choice(generator, 0.0, 0.3, -0.3) * constraints * (margins.std(0) == 0)
    radius = choice(generator, 0.0, 0.0, 1e-6, 1e-3, 0.05) * inputs
    return Properties(Box.around(x, radius), C, d)


def _certified(
    generator: torch.Generator,
    laws: Sequence[DiagonalGaussian],
    rule: LinearRule,
    network: Network,
    properties: Properties,
) -> Certificate:
    """A certificate of one of the three kinds."""
    match choice(generator, "local", "direct", "direct", "transported"):
        case "local":
            return certify_projected_locally(Problem(network, properties, tuple(laws), rule))
        case "direct":
            return certify_projected_directly(Problem(network, properties, tuple(laws), rule))
        case _:
            way = choice(generator, Limit(), Product(), Counted(8), Counted(16), Counted(64), Counted())
            return certify_projected(Problem(network, properties, tuple(laws), rule), way)


def families(generator: torch.Generator) -> Iterator[Verdict]:
    """Certificates of cells, hulls, boxes, lattices and tiles, for every rule."""
    yield from _families(generator, choice(generator, (2, 3, 2), (1, 2), (2, 2, 2, 2)), None)


def _families(
    generator: torch.Generator, widths: tuple[int, ...], pattern: Tensor | None
) -> Iterator[Verdict]:
    """All of them for one rule; some parameters are fixed where a pattern says which are random."""
    seed = int(torch.randint(2**31, (1,), generator=generator))
    scale = choice(generator, 1e-4, 1e-3, 0.02, 0.2)
    few = len(widths) == 2  # parameters: a lattice for each different share would take its time
    made = make_federation(seed, widths, scale, few or choice(generator, True, False), pattern)
    rule = choice(generator, *make_rules(made).values())
    for certificate in certify_all(made, rule):
        yield from _judged(certificate, made.safe.network, made.safe.properties, rule, made.messages)


def _judged(certificate: Certificate, network, properties, rule, messages) -> Iterator[Verdict]:
    """One verdict a property: unsound where the checker proves the contrary, else proved or not."""
    with TemporaryDirectory() as folder:
        for message in messages:
            message.save(Path(folder) / "messages" / f"{message.client}.safetensors")
        path = Path(folder) / "certificates" / "certificate.safetensors"
        save_certificate(path, certificate, network, properties, rule, messages)
        report = check(path)
    for p, own in enumerate(report.proved):
        low = certificate.lower[p].item()
        high = 1.0 if certificate.upper is None else certificate.upper[p].item()
        claims, proved = low > 0 or high < 1, p not in report.failures
        what = f"{certificate.claim} {p}: claimed [{low}, {high}], proved [{own.lower}, {own.upper}]"
        sound = not claims or (low <= own.upper and high >= own.lower)
        yield Verdict(sound, claims, what, proved)
