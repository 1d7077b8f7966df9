"""Whole certificates on tiny networks, against probabilities in closed form or by integration."""

from collections.abc import Iterator, Sequence
from itertools import product

import torch
from flint import arb
from problems import normal, uniform
from torch import Tensor

from fedcert.certificate import clopper_pearson
from fedcert.families.cells import Cells
from fedcert.families.hull import certify_hulls
from fedcert.families.mean_box.certify import certify_boxes
from fedcert.families.mean_box.events import MeanBox
from fedcert.families.paper_box.direct import certify_direct
from fedcert.families.paper_box.transported import certify_transported
from fedcert.families.problem import Problem
from fedcert.families.projected.bound import violation
from fedcert.families.projected.chain import Federation, chained_violation
from fedcert.families.projected.choices import TRIALS
from fedcert.families.projected.direct import certify_projected_directly
from fedcert.families.projected.layers import random_layers
from fedcert.families.projected.split import STARTS, uniform_split
from fedcert.families.projected.tails import Cells as ProjectedCells
from fedcert.families.projected.tails import Limit, Product
from fedcert.families.projected.transported import certify_projected
from fedcert.laws import DiagonalGaussian, around
from fedcert.laws.diagonal_affine import DiagonalAffine
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box, overlap
from fedcert.rules import LinearRule
from fedcert.search import heaviest_first
from fedcert.verify import Safe
from fedcert.verify.interval import IntervalVerifier, MergedIntervalVerifier
from fedcert.verify.linear import LinearVerifier
from fuzz.balls import above, accurate, balls, below, dot, norm, precision, tail
from fuzz.hostile import between, choice
from fuzz.neuron import Neuron
from fuzz.verdicts import Verdict

VERIFIERS = (IntervalVerifier(), MergedIntervalVerifier(), LinearVerifier())
Clients = Sequence[DiagonalGaussian]


def federation(generator: torch.Generator, parameters: int) -> tuple[list[DiagonalGaussian], LinearRule]:
    """Clients of one magnitude and a linear rule, weights of both signs."""
    clients, size = choice(generator, 1, 2, 3), 10 ** between(generator, -30, 30)
    laws = [
        DiagonalGaussian(size * normal(generator, parameters), size * (0.05 + uniform(generator, parameters)))
        for _ in range(clients)
    ]
    weights = normal(generator, clients, choice(generator, 1, parameters))
    return laws, LinearRule(weights.sign() * weights.abs().clamp(min=0.05))


def half_spaces(
    generator: torch.Generator, laws: Clients, rule: LinearRule, inputs: int, radius: float
) -> Properties:
    """C (w·x + b) + d ≥ 0, offsets within a few deviations of where the probability is a half."""
    count, deployed = 6, rule.pushforward(laws)
    x, C = normal(generator, count, inputs), normal(generator, count, 1, 1)
    ends = torch.cat([x, torch.ones(count, 1)], -1)
    mean, deviation = ends @ deployed.loc, (ends.square() @ deployed.scale.square()).sqrt()
    sigmas = choice(generator, 1.0, 3.0, 7.0) * normal(generator, count)
    d = C[:, 0, 0].abs() * sigmas * deviation - C[:, 0, 0] * mean
    return Properties(Box.around(x, radius), C, d.unsqueeze(-1))


def half_space(laws: Clients, rule: LinearRule, x: Tensor, C: Tensor, d: Tensor) -> arb:
    """Pr(C (w·x + b) + d ≥ 0) for the deployed law of exact weights."""
    ends = [*x.tolist(), 1.0]
    weights = rule.weights.expand(-1, len(ends)).tolist()
    c, mean, variance = arb(C.item()), arb(d.item()), arb(0)
    for own, law in zip(weights, laws, strict=True):
        for w, e, mu, sigma in zip(own, ends, law.loc.tolist(), law.scale.tolist(), strict=True):
            mean += c * e * arb(w) * mu
            variance += (c * e * arb(w) * sigma) ** 2
    if variance == 0:
        return arb(1 if mean >= 0 else 0)
    return tail(-mean / variance.sqrt())


def least_half_space(laws: Clients, rule: LinearRule, properties: Properties, p: int) -> arb:
    """The least probability over the corners of a region: safety of all of it has no more."""
    low, high = properties.regions.lower[p], properties.regions.upper[p]
    corners = [
        torch.where(torch.tensor(sides), high, low) for sides in product([False, True], repeat=len(low))
    ]
    return min(
        (accurate(lambda x=x: half_space(laws, rule, x, properties.C[p], properties.d[p])) for x in corners),
        key=float,
    )


def grid(generator: torch.Generator, law: DiagonalGaussian, cuts: int) -> Cells:
    """Disjoint cells between random cuts of every coordinate."""
    edges = (law.loc + law.scale * (6 * uniform(generator, cuts, law.dimension) - 3).sort(0).values).mT
    sides = list(product(range(cuts - 1), repeat=law.dimension))
    lower, upper = (
        torch.stack([torch.stack([edges[d, k + step] for d, k in enumerate(side)]) for side in sides])
        for step in (0, 1)
    )
    boxes = Box(lower, upper)
    return Cells.shared(boxes, law.log_mass(boxes))


def cells(generator: torch.Generator) -> Iterator[Verdict]:
    """Transported, hull and direct certificates of grids of cells."""
    laws, rule = federation(generator, 2)
    properties = half_spaces(generator, laws, rule, 1, choice(generator, 0.0, 0.1))
    safe = Safe(mlp(1, 1), properties, choice(generator, *VERIFIERS))
    own = [grid(generator, law, choice(generator, 2, 4)) for law in laws]
    deployed = grid(generator, rule.pushforward(laws), 6)
    found = [
        certify_transported(own, rule, safe, heaviest_first, 40, "grid"),
        certify_hulls(own, rule, safe, 10, "grid"),
        certify_direct(deployed, safe, "linear", "grid"),
    ]
    yield from judged(laws, rule, properties, found)


def judged(laws: Clients, rule: LinearRule, properties: Properties, found: Sequence) -> Iterator[Verdict]:
    """One verdict for each certificate and property."""
    for p in range(len(properties)):
        truth = least_half_space(laws, rule, properties, p)
        for certificate in found:
            low = certificate.lower[p].item()
            high = 1.0 if certificate.upper is None else certificate.upper[p].item()
            sound = below(low, truth) and above(high, truth)
            yield Verdict(sound, low > 0, "" if sound else f"{certificate.claim} {p}: {low} {high}")


def boxes(generator: torch.Generator) -> Iterator[Verdict]:
    """Mean-centred boxes, lattices and splitting, transported and under the deployed law."""
    laws, rule = federation(generator, 2)
    properties = half_spaces(generator, laws, rule, 1, choice(generator, 0.0, 0.1))[:2]
    safe, events = Safe(mlp(1, 1), properties, choice(generator, *VERIFIERS)), MeanBox(steps=4)
    shapes = (choice(generator, "uniform", "layer", "parameter"),)
    deployed, identity = rule.pushforward(laws), LinearRule(torch.ones(1, 1).double())
    found = [
        certify_boxes(laws, rule, safe, events, budget=8, shapes=shapes),
        certify_boxes([deployed], identity, safe, events, "direct", budget=8, shapes=shapes),
    ]
    yield from judged(laws, rule, properties, found)


def fixed(generator: torch.Generator) -> Iterator[Verdict]:
    """Half-spaces of laws some of whose parameters are fixed: cells, boxes and projected events."""
    laws, rule = federation(generator, 2)
    random = uniform(generator, 2) < choice(generator, 0.0, 0.5, 0.5)
    own = [
        DiagonalGaussian(law.loc, law.scale * choice(generator, random, random, uniform(generator, 2) < 0.5))
        for law in laws
    ]
    properties = half_spaces(generator, laws, rule, 1, choice(generator, 0.0, 0.0, 0.1))[:2]
    safe, problem = Safe(mlp(1, 1), properties, choice(generator, *VERIFIERS)), (mlp(1, 1), properties)
    cells = [_halved(around(law, law.loc, 3.0), law) for law in own]
    found = [
        certify_hulls(cells, rule, safe, 10, "grid"),
        certify_boxes(own, rule, safe, MeanBox(steps=4), budget=8, shapes=("uniform",)),
        certify_projected_directly(Problem(*problem, tuple(own), rule)),
        certify_projected(Problem(*problem, tuple(own), rule)),
    ]
    yield from judged(own, rule, properties, found)


def _halved(box: Box, law: DiagonalGaussian) -> Cells:
    """A box cut in two at the means, fixed or not: cells that touch where a fixed parameter is."""
    parts = [(box.lower, law.loc), (law.loc, box.upper), (box.lower, box.upper)]
    pieces = [
        Box(torch.stack([first[0], second[0]]), torch.stack([first[1], second[1]]))
        for first, second in product(
            [tuple(end[0] for end in part) for part in parts],
            [tuple(end[1] for end in part) for part in parts],
        )
    ][:-1]
    kept: list[Box] = []
    for piece in pieces:
        if not any(bool(overlap(piece, other)) for other in kept):
            kept.append(piece)
    boxes = Box.stack(kept)
    return Cells.shared(boxes, law.log_mass(boxes))


def one_layer(generator: torch.Generator) -> Iterator[Verdict]:
    """Projected certificates of one layer: half-spaces; regions of some radius for the lower bounds."""
    inputs = choice(generator, 1, 2)
    laws, rule = federation(generator, inputs + 1)
    properties = half_spaces(generator, laws, rule, inputs, choice(generator, 0.0, 0.0, 0.1))
    network = mlp(inputs, 1)
    found = [
        certify_projected_directly(Problem(network, properties, tuple(laws), rule)),
        certify_projected(Problem(network, properties, tuple(laws), rule)),
    ]
    yield from judged(laws, rule, properties, found)


def hidden(generator: torch.Generator) -> Iterator[Verdict]:
    """Projected bounds with one hidden neuron, at a point, against an integral."""
    network = mlp(choice(generator, 1, 2), 1, choice(generator, 1, 2))
    scale = choice(generator, 0.03, 0.3) * (0.3 + uniform(generator, network.parameters))
    law = DiagonalGaussian(normal(generator, network.parameters), scale)
    yield from one_neuron(generator, network, law, (1.0, 1.0))


def extreme(generator: torch.Generator) -> Iterator[Verdict]:
    """The same with magnitudes that have nothing to do with each other."""
    scale = torch.tensor(
        [choice(generator, 1e-99, 1e-40, 1.0, 1e40, 1e99) for _ in range(4)], dtype=torch.float64
    )
    loc = scale * 10 ** (6 * uniform(generator, 4) - 3) * normal(generator, 4)
    law = DiagonalGaussian(loc.clamp(-1e99, 1e99), scale)
    sizes = choice(generator, 1e-170, 1e-90, 1.0, 1e50), choice(generator, 1e-250, 1e-170, 1e-90, 1.0)
    yield from one_neuron(generator, mlp(1, 1, 1), law, sizes)


def one_neuron(
    generator: torch.Generator, network: Network, law: DiagonalGaussian, sizes: tuple[float, float]
) -> Iterator[Verdict]:
    """Violations of two properties at points and with constraints of two sizes."""
    count = 2
    x = sizes[0] * normal(generator, count, network.inputs)
    C = sizes[1] * normal(generator, count, 1, network.outputs)
    layers = random_layers(network, law)
    forms = [form_at(layers, x[p], C[p, 0]) for p in range(count)]
    rough = [form.rough() for form in forms]
    d = torch.tensor(
        [5 * uniform(generator, 1).item() * deviation - mean for mean, deviation in rough],
        dtype=torch.float64,
    )
    properties = Properties(Box.point(x), C, d.unsqueeze(-1))
    split = uniform_split(layers, properties, choice(generator, *STARTS))
    found = violation(layers, properties, split).probability.tolist()
    for p, form in enumerate(forms):
        truth = form.shifted(d[p].item()).tail()
        sound = above(found[p], truth)
        yield Verdict(sound, found[p] < 1, "" if sound else f"one neuron: {found[p]}, not {truth}")


def exceeded(generator: torch.Generator) -> Iterator[Verdict]:
    """Lines that may be exceeded above one random neuron behind a fixed one, against an integral."""
    network = mlp(choice(generator, 1, 2), 1, 1, choice(generator, 1, 2))
    scale = choice(generator, 0.03, 0.3, 1.0) * (0.3 + uniform(generator, network.parameters))
    law = DiagonalGaussian(normal(generator, network.parameters), scale)
    first, *behind = random_layers(network, law)
    W, b, x = (  # few bits: what the fixed neuron computes is exact
        (16 * normal(generator, *shape)).round() / 16
        for shape in (first.weight.shape, first.bias.shape, (1, network.inputs))
    )
    fixed = DiagonalAffine(W, b, 0 * W, 0 * b, 0 * W, 0 * b, 0.0)
    C = normal(generator, 1, 1, network.outputs)
    h = (W @ x[0] + b).clamp(min=0.0)
    form = form_at(behind, h, C[0, 0])
    mean, deviation = form.rough()
    d = 4 * uniform(generator, 1).item() * deviation - mean
    properties = Properties(Box.point(x), C, torch.tensor([[d]], dtype=torch.float64))
    reach = choice(generator, 0.1, 0.3, 1.0, 3.0)
    split = uniform_split([fixed, *behind], properties, choice(generator, *STARTS), reach)
    found = violation([fixed, *behind], properties, split).probability.item()
    truth = form.shifted(d).tail()
    sound = above(found, truth)
    yield Verdict(sound, found < 1, "" if sound else f"exceeded lines: {found}, not {truth}")


def form_at(layers: Sequence[DiagonalAffine], x: Tensor, C: Tensor) -> Neuron:
    """A constraint at a point as a form in the one hidden activation."""
    first, last = layers
    with precision(200):
        c, inputs = balls(C), balls(x)
        mean = dot(balls(first.weight)[0], inputs) + first.bias.item()
        t = norm(
            *(s * v for s, v in zip(balls(first.weight_scale)[0], inputs, strict=True)),
            arb(first.bias_scale.item()),
        )
        noise = norm(*(s * v for (s,), v in zip(balls(last.weight_scale), c, strict=True)))
        bias = norm(*(s * v for s, v in zip(balls(last.bias_scale), c, strict=True)))
        coefficient = dot([w for (w,) in balls(last.weight)], c)
        return Neuron(dot(balls(last.bias), c), coefficient, noise, bias, mean, t)


def deep(generator: torch.Generator) -> Iterator[Verdict]:
    """Projected certificates of deep networks against samples, wrong by chance once in 1e9."""
    network = mlp(2, *[3] * choice(generator, 1, 2, 3), 2)
    scale = choice(generator, 0.01, 0.03, 0.1) * (0.3 + uniform(generator, network.parameters))
    law = DiagonalGaussian(2 * network.initialise(generator).double(), scale)
    centre, C, radius = normal(generator, 1, 2), normal(generator, 1, 1, 2), choice(generator, 0.0, 0.01)
    corners = torch.cat([centre, centre + radius * torch.tensor([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])])
    values = (network(law.sample(3000, generator), corners) @ C[0].mT).amin((1, 2))
    d = -values[:1000].quantile(choice(generator, 0.02, 0.2))
    properties = Properties(Box.around(centre, radius), C, d.view(1, 1))
    fresh, (low, high) = values[1000:] + d, deep_bounds(generator, network, law, properties)
    least, most = clopper_pearson(int((fresh >= 0).sum()), len(fresh), 1 - 1e-9)
    # a network that survives the corners need not be safe: with a radius nothing is known from above
    sound = low <= most and (high >= least or radius > 0)
    yield Verdict(sound, low > 0, "" if sound else f"deep: {low} … {high}, sampled {least} … {most}")


def deep_bounds(
    generator: torch.Generator, network: Network, law: DiagonalGaussian, properties: Properties
) -> tuple[float, float]:
    """Bounds of the probability of safety by one of the ways that projected events offer."""
    layers, rule = random_layers(network, law), LinearRule(torch.ones(1, 1).double())
    way = choice(generator, *["one split"] * 12, *["chain"] * 12, "search")
    if way == "search":
        found = certify_projected_directly(Problem(network, properties, (law,), rule))
        return found.lower.item(), found.upper.item()
    if way == "chain":
        ones = torch.ones(1).double()
        reference, ranges, failure = choice(generator, *TRIALS)
        projections = choice(generator, Limit(), Product(), ProjectedCells(64))
        federation = Federation(layers, [layers])
        bound = chained_violation(
            federation,
            properties,
            -torch.special.ndtri(ranges * ones),
            failure * ones,
            reference,
            projections,
        )
    else:
        reach = choice(generator, 0.0, 0.3, 1.0, 2.0)
        split = uniform_split(layers, properties, choice(generator, *STARTS), reach)
        bound = violation(layers, properties, split)
    return 1 - bound.probability.item(), 1.0
