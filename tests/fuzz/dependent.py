"""Laws whose parameters depend on each other: against exact arithmetic, and on to the checker."""

from collections.abc import Iterator

import torch
from dependent_problems import STRUCTURES
from dependent_problems import law as structured
from flint import arb
from problems import normal, uniform

from fedcert.errors import FedcertError
from fedcert.families.cells import Cells
from fedcert.families.problem import Problem
from fedcert.families.projected.family import ProjectedFamily
from fedcert.laws import DenseGaussian, DiagonalGaussian, GaussianLaw
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.rules import LinearRule
from fedcert.wire.message import Message
from fuzz.balls import EXACT, above, accurate, balls, dot, precision, tail
from fuzz.checked import _judged
from fuzz.hostile import between, choice
from fuzz.verdicts import Verdict


def _law(generator: torch.Generator, n: int, unit: float) -> DenseGaussian:
    """Rows that are independent, dependent, nearly the same, or 0."""
    columns = choice(generator, 1, 2, n, 2 * n)
    own = normal(generator, n, columns)
    own = own.sign() * own.abs().clamp(min=1e-9)
    if choice(generator, True, False) and n > 1:
        own[1] = own[0] * (1 + 10 ** between(generator, -16, -1))
    if choice(generator, True, False, False):
        own[uniform(generator, n) < 0.3] = 0.0
    return DenseGaussian(unit * normal(generator, n), unit * own)


def pieces(generator: torch.Generator) -> Iterator[Verdict]:
    """Deviations of projections, of single inputs, and over all corners of a box of inputs."""
    m, k = choice(generator, 1, 2, 3), choice(generator, 1, 2, 3)
    unit = 10 ** choice(generator, 0.0, between(generator, -80, 80))
    size = 10 ** choice(generator, 0.0, between(generator, -150, 60))
    law = _law(generator, m * k + m, unit)
    layer = law.layers(mlp(k, m))[0]
    rows, h = size * normal(generator, 1, 1, m), size * normal(generator, 1, k)
    if choice(generator, True, False) and m > 1:
        rows[..., 1] = -rows[..., 0]
    noise, delta = layer.noise(rows), h.abs()
    at, single, steepest = noise.at(h).item(), noise.weight[0, 0], noise.steepest(delta).item()
    with precision(EXACT):
        B, x, F = balls(rows[0, 0]), balls(h[0]), balls(law.factor)
        columns = range(law.factor.shape[1])

        def column(j: int) -> list[arb]:
            """The normals behind (B W̃)_j."""
            return [sum((B[i] * F[i * k + j][q] for i in range(m)), arb(0)) for q in columns]

        N = [column(j) for j in range(k)]
        bias = [sum((B[i] * F[m * k + i][q] for i in range(m)), arb(0)) for q in columns]
        whole = [sum((x[j] * N[j][q] for j in range(k)), bias[q]) for q in columns]
        yield Verdict(above(at, dot(whole, whole).sqrt()), True, f"deviation {at}")
        for j, found in enumerate(single.tolist()):
            yield Verdict(above(found, dot(N[j], N[j]).sqrt()), True, f"deviation {found} of input {j}")
        for corner in range(2**k):
            signs = [1 if corner >> j & 1 else -1 for j in range(k)]
            moved = [sum((s * abs(x[j]) * N[j][q] for j, s in enumerate(signs)), arb(0)) for q in columns]
            yield Verdict(above(steepest, dot(moved, moved).sqrt()), True, f"steepest {steepest}")


def half_spaces(generator: torch.Generator) -> Iterator[Verdict]:
    """One layer and one constraint at a point: probabilities in closed form, from below and from above."""
    inputs, clients = choice(generator, 1, 2, 3), choice(generator, 1, 2, 3)
    unit = 10 ** choice(generator, 0.0, between(generator, -40, 40))
    laws = [_law(generator, inputs + 1, unit) for _ in range(clients)]
    weights = normal(generator, clients, 1)
    rule = LinearRule(weights.sign() * weights.abs().clamp(min=0.05))
    x, C = normal(generator, 1, inputs), normal(generator, 1, 1, 1)
    c = C[0, 0, 0] * torch.cat([x[0], torch.ones(1).double()])
    parts = zip(weights[:, 0], laws, strict=True)
    spread = sum(
        ((w * law.factor.mT @ c).square().sum() for w, law in parts), torch.zeros(()).double()
    ).sqrt()
    mean = c @ rule([law.loc for law in laws])
    d = (choice(generator, 1.0, 3.0, 7.0) * normal(generator, 1)[0] * spread - mean).view(1, 1)
    found = ProjectedFamily().prove(
        Problem(mlp(inputs, 1), Properties(Box.point(x), C, d), tuple(laws), rule),
        kind := choice(generator, "direct", "transported"),
    )
    truth = accurate(lambda: _half_space(laws, rule, c, d.item()))
    low, high = found.lower.item(), 1.0 if found.upper is None else found.upper.item()
    sound = not (truth < arb(low) or truth > arb(high))
    yield Verdict(bool(sound), low > 0 or high < 1, f"{kind}: [{low}, {high}], but {truth}")


def _half_space(laws: list[DenseGaussian], rule: LinearRule, c: torch.Tensor, d: float) -> arb:
    mean, variance, own = arb(d), arb(0), balls(c)
    for w, law in zip(rule.weights[:, 0].tolist(), laws, strict=True):
        mean = mean + arb(w) * dot(own, balls(law.loc))
        columns = [arb(w) * dot(own, balls(column)) for column in law.factor.mT]
        variance = variance + dot(columns, columns)
    if variance == 0:
        return arb(1 if mean >= 0 else 0)
    return tail(-mean / variance.sqrt())


def checked(generator: torch.Generator) -> Iterator[Verdict]:
    """Certificates of every kind and structure, which the checker must prove."""
    hidden = [choice(generator, 1, 2, 4) for _ in range(choice(generator, 0, 1, 1, 2))]
    network = mlp(choice(generator, 1, 2, 3), *hidden, choice(generator, 1, 2, 3))
    try:
        laws, rule = _federation(generator, network)
        messages = [Message(f"client-{i}", law, Cells.none(law.dimension), 1) for i, law in enumerate(laws)]
        properties = _properties(generator, network, rule.pushforward(laws))
    except FedcertError:  # beyond what laws, messages and properties may be
        yield Verdict(True, False)
        return
    kind = choice(generator, "local", "direct", "direct", "transported")
    certificate = ProjectedFamily().prove(Problem(network, properties, tuple(laws), rule), kind)
    yield from _judged(certificate, network, properties, rule, messages)


def _federation(generator: torch.Generator, network: Network) -> tuple[list[GaussianLaw], LinearRule]:
    shared, clients = 2 * network.initialise(generator).double(), choice(generator, 1, 2, 3)
    scale, structure = 10 ** between(generator, -3.0, -0.5), choice(generator, *STRUCTURES)
    laws: list[GaussianLaw] = []
    for _ in range(clients):
        loc = shared + scale * normal(generator, len(shared))
        laws.append(structured(generator, network, structure, loc, scale))
    if clients > 1 and choice(generator, True, False):
        laws[0] = DiagonalGaussian(laws[0].loc, scale * (0.3 + uniform(generator, len(shared))))
    rules = [LinearRule.fedavg([1 + i for i in range(clients)]), LinearRule(normal(generator, clients, 1))]
    return laws, choice(generator, *rules)


def _properties(generator: torch.Generator, network: Network, law: GaussianLaw) -> Properties:
    """Offsets within some deviations of sampled margins."""
    x = normal(generator, 3, network.inputs)
    C = normal(generator, 3, choice(generator, 1, 2), network.outputs)
    margins = torch.einsum("prk,spk->spr", C, network(law.sample(64, generator), x))
    near = choice(generator, 3.0, 6.5) * normal(generator, *margins.shape[1:]).abs()
    return Properties(
        Box.around(x, choice(generator, 0.0, 1e-6, 1e-3, 0.05)), C, near * margins.std(0) - margins.mean(0)
    )
