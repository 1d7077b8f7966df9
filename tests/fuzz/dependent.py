"""Laws whose parameters depend on each other: against exact arithmetic, and on to the checker."""

from collections.abc import Iterator, Sequence

import torch
from dependent_problems import Structure
from dependent_problems import law as structured
from flint import arb
from problems import normal, uniform

from fedcert.errors import FedcertError
from fedcert.families.cells import Cells
from fedcert.families.problem import Problem
from fedcert.families.projected.family import ProjectedFamily
from fedcert.laws import BlockGaussian, DenseGaussian, DiagonalGaussian, GaussianLaw
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.rules import LinearRule, StatedGaussian
from fedcert.rules.dense_product import dense_product
from fedcert.wire.message import Message
from fuzz.balls import EXACT, above, accurate, balls, dot, precision, tail
from fuzz.checked import _judged
from fuzz.hostile import between, choice
from fuzz.rescaled import rescaled
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
    """One neuron and one constraint at a point: probabilities in closed form, from below and from above."""
    network, unit = (
        mlp(choice(generator, 1, 2, 3), 1),
        10 ** choice(generator, 0.0, between(generator, -40, 40)),
    )
    laws = [_law(generator, network.parameters, unit) for _ in range(choice(generator, 1, 2, 3))]
    yield from _half_spaces(generator, network, laws)


def kronecker_half_spaces(generator: torch.Generator) -> Iterator[Verdict]:
    """Some neurons, of Kronecker-factored weights and dense biases."""
    network = mlp(choice(generator, 1, 2, 3), choice(generator, 1, 2, 3))
    unit = 10 ** choice(generator, 0.0, between(generator, -20, 20))
    loc = unit * normal(generator, network.parameters)
    laws = [
        rescaled(generator, structured(generator, network, "kronecker", loc, unit))
        for _ in range(choice(generator, 1, 2, 3))
    ]
    yield from _half_spaces(generator, network, laws)


def _half_spaces(
    generator: torch.Generator, network: Network, laws: Sequence[DenseGaussian | BlockGaussian]
) -> Iterator[Verdict]:
    weights = normal(generator, len(laws), 1)
    rule = LinearRule(weights.sign() * weights.abs().clamp(min=0.05))
    yield from _one_half_space(generator, network, laws, rule)


def product_half_spaces(generator: torch.Generator) -> Iterator[Verdict]:
    """Products of densities, whose law the rule states."""
    network = mlp(choice(generator, 1, 2, 3), choice(generator, 1, 2))
    unit = 10 ** choice(generator, 0.0, between(generator, -20, 20))
    laws = _densities(generator, network, unit)
    yield from _one_half_space(generator, network, laws, _product(generator, laws, unit))


def _densities(generator: torch.Generator, network: Network, unit: float) -> list[DenseGaussian]:
    """Laws whose covariances can be inverted."""
    loc, structure = unit * normal(generator, network.parameters), choice(generator, "joined", "layers")
    return [
        structured(generator, network, structure, loc + unit * normal(generator, len(loc)), unit)
        for _ in range(choice(generator, 1, 2, 3))
    ]


def _product(generator: torch.Generator, laws: Sequence[GaussianLaw], unit: float) -> StatedGaussian:
    weights = uniform(generator, len(laws), 1) + 0.1
    options = [("pog", {}), ("reverse-kl", {"weights": weights / weights.sum()})]
    name, settings = choice(generator, *options, ("prior-corrected", {"prior_scale": 10 * unit}))
    return dense_product(laws, name, **settings)


def _one_half_space(
    generator: torch.Generator,
    network: Network,
    laws: Sequence[DenseGaussian | BlockGaussian],
    rule: LinearRule | StatedGaussian,
) -> Iterator[Verdict]:
    x, C = normal(generator, 1, network.inputs), normal(generator, 1, 1, network.outputs)
    margin = torch.einsum("k,spk->s", C[0, 0], network(rule.pushforward(laws).sample(64, generator), x))
    d = choice(generator, 1.0, 3.0, 7.0) * normal(generator, 1)[0] * margin.std() - margin.mean()
    found = ProjectedFamily().prove(
        Problem(network, Properties(Box.point(x), C, d.view(1, 1)), tuple(laws), rule),
        kind := choice(generator, "direct", "transported") if isinstance(rule, LinearRule) else "direct",
    )
    parts = list(zip(rule.weights[:, 0].tolist(), laws, strict=True)) if isinstance(rule, LinearRule) else []
    if isinstance(rule, StatedGaussian):
        parts = [(1.0, DenseGaussian(rule.loc, rule.factor))]
    truth = accurate(lambda: _half_space(parts, balls(C[0, 0]), balls(x[0]), d.item()))
    low, high = found.lower.item(), 1.0 if found.upper is None else found.upper.item()
    sound = not (truth < arb(low) or truth > arb(high))
    yield Verdict(bool(sound), low > 0 or high < 1, f"{kind}: [{low}, {high}], but {truth}")


def _half_space(
    weighed: Sequence[tuple[float, DenseGaussian | BlockGaussian]], C: list[arb], x: list[arb], d: float
) -> arb:
    """Pr(C (W x + b) + d ≥ 0) for the sum of draws with weights."""
    mean, variance = arb(d), arb(0)
    coefficients = [own * h for own in C for h in x] + C
    for w, law in weighed:
        mean = mean + arb(w) * dot(coefficients, balls(law.loc))
        seen = [arb(w) * own for own in _seen(law, C, x)]
        variance = variance + dot(seen, seen)
    if variance == 0:
        return arb(1 if mean >= 0 else 0)
    return tail(-mean / variance.sqrt())


def _seen(law: DenseGaussian | BlockGaussian, C: list[arb], x: list[arb]) -> list[arb]:
    """What C (W x + b) sees of each of the normals behind a law: (UᵀC)_a D_ab (Vᵀx)_b, and so on."""
    if isinstance(law, DenseGaussian):
        coefficients = [own * h for own in C for h in x] + C
        return [dot(coefficients, balls(column)) for column in law.factor.mT]
    kronecker, biases = law.blocks
    left = [dot(C, balls(column)) for column in kronecker.left.mT]
    right = [dot(x, balls(column)) for column in kronecker.right.mT]
    scale = balls(kronecker.scale)
    weights = [a * scale[i][j] * b for i, a in enumerate(left) for j, b in enumerate(right)]
    return weights + [dot(C, balls(column)) for column in biases.factor.mT]


def checked_dense(generator: torch.Generator) -> Iterator[Verdict]:
    """Certificates of laws by a factor, of every kind, which the checker must prove."""
    yield from _checked(generator, "joined", "layers")


def checked_kronecker(generator: torch.Generator) -> Iterator[Verdict]:
    """The same of Kronecker-factored laws of all layers."""
    yield from _checked(generator, "kronecker")


def checked_last_layers(generator: torch.Generator) -> Iterator[Verdict]:
    """The same of laws whose last layer alone has dependent parameters, and of sums of blocks."""
    yield from _checked(generator, "last", "head", "mixed")


def checked_products(generator: torch.Generator) -> Iterator[Verdict]:
    """The same of products of densities, which the checker compares with the clients' laws, too."""
    hidden = [choice(generator, 1, 2, 4) for _ in range(choice(generator, 0, 1))]
    network = mlp(choice(generator, 1, 2, 3), *hidden, choice(generator, 1, 2, 3))
    unit = 10 ** between(generator, -3.0, -0.5)
    laws = _densities(generator, network, unit)
    rule = _product(generator, laws, unit)
    messages = [Message(f"client-{i}", law, Cells.none(law.dimension), 1) for i, law in enumerate(laws)]
    properties = _properties(generator, network, rule.law)
    certificate = ProjectedFamily().prove(Problem(network, properties, tuple(laws), rule), "direct")
    yield from _judged(certificate, network, properties, rule, messages)


def _checked(generator: torch.Generator, *structures: Structure) -> Iterator[Verdict]:
    hidden = [choice(generator, 1, 2, 4) for _ in range(choice(generator, 0, 1, 1, 2))]
    network = mlp(choice(generator, 1, 2, 3), *hidden, choice(generator, 1, 2, 3))
    try:
        laws, rule = _federation(generator, network, choice(generator, *structures))
        messages = [Message(f"client-{i}", law, Cells.none(law.dimension), 1) for i, law in enumerate(laws)]
        properties = _properties(generator, network, rule.pushforward(laws))
    except FedcertError:  # beyond what laws, messages and properties may be
        yield Verdict(True, False)
        return
    kind = choice(generator, "local", "direct", "direct", "transported")
    certificate = ProjectedFamily().prove(Problem(network, properties, tuple(laws), rule), kind)
    yield from _judged(certificate, network, properties, rule, messages)


def _federation(
    generator: torch.Generator, network: Network, structure: Structure
) -> tuple[list[GaussianLaw], LinearRule]:
    shared, clients = 2 * network.initialise(generator).double(), choice(generator, 1, 2, 3)
    scale = 10 ** between(generator, -3.0, -0.5)
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
