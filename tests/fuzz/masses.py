"""Probabilities of boxes under laws, of tails and of sums of projections, against balls."""

import math
from collections.abc import Iterator

import torch
from flint import arb
from lattices import lattice_log_mass
from problems import normal, uniform

from fedcert.families.projected.tails import Cells, Limit, Product
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.numerics.box import Box
from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.gaussian import log_mass_lower, log_mass_upper, tail_lower, tail_upper
from fedcert.numerics.gaussian import tail as normal_tail
from fedcert.rules import LinearRule
from fuzz.balls import EXACT, above, accurate, below, mass, precision, tail
from fuzz.hostile import between, choice
from fuzz.verdicts import Verdict, verdict

ROWS = 8


def ends(generator: torch.Generator, *shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Lower and upper ends in deviations: around the mean, in a tail, an ulp apart, or the same."""
    size = choice(generator, 1.0, 1.0, 5.0, 12.0, 38.0, 1e-9, 1e-300)
    a = size * normal(generator, *shape)
    width = choice(generator, 0.0, 1e-15, 1e-6, 1.0, 10.0) * uniform(generator, *shape)
    return a, a + width * choice(generator, 1.0, size)


def tails(generator: torch.Generator) -> Iterator[Verdict]:
    z = choice(generator, 1.0, 6.0, 36.0, 45.0, 1e-9, 1e-300) * uniform(generator, ROWS)
    low, high, both = tail_lower(z).tolist(), tail_upper(z).tolist(), normal_tail(-Enclosure.exactly(z))
    for k, own in enumerate(z.tolist()):
        truth, other = accurate(lambda own=own: tail(arb(own))), accurate(lambda own=own: tail(-arb(own)))
        least, most = both.lower[k].item(), both.upper[k].item()
        sound = below(low[k], truth) and above(high[k], truth) and below(least, other) and above(most, other)
        yield verdict(sound, f"Q({own.hex()})", low[k], high[k], least, most)


def intervals(generator: torch.Generator) -> Iterator[Verdict]:
    a, b = ends(generator, ROWS)
    low, high = log_mass_lower(a, b).tolist(), log_mass_upper(a, b).tolist()
    for k, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        if x < y:
            truth = accurate(lambda x=x, y=y: mass(arb(x), arb(y)).log())
            yield verdict(below(low[k], truth) and above(high[k], truth), f"mass {x} {y}", low[k], high[k])


def law_and_boxes(generator: torch.Generator, dimension: int) -> tuple[DiagonalGaussian, Box]:
    """A law, with or without an error of its own, and boxes whose ends are hard to standardise."""
    size, far = 10 ** between(generator, -60, 60), choice(generator, 0.0, 1.0, 1e6, 1e15)
    scale = size * (uniform(generator, dimension) + 0.01)
    loc = size * far * normal(generator, dimension)
    a, b = ends(generator, ROWS, dimension)
    box = Box(loc + scale * a, torch.maximum(loc + scale * a, loc + scale * b))
    return DiagonalGaussian(loc, scale), box


def log_mass(law: DiagonalGaussian, low: list[float], high: list[float]) -> arb:
    """log q(H) for one box."""
    total = arb(0)
    for loc, scale, x, y in zip(law.loc.tolist(), law.scale.tolist(), low, high, strict=True):
        total += mass((arb(x) - loc) / scale, (arb(y) - loc) / scale).log()
    return total


def law_within(generator: torch.Generator, law: DiagonalGaussian) -> DiagonalGaussian:
    """A law that states errors, so that the given one is a law within them."""
    e = choice(generator, 1e-15, 1e-9, 1e-3)
    shift = e * law.scale * (2 * uniform(generator, law.dimension) - 1)
    stretch = 1 + 0.5 * e * (2 * uniform(generator, law.dimension) - 1)
    loc = law.loc + shift
    error = torch.nextafter((loc - law.loc).abs(), torch.full_like(loc, math.inf))
    return DiagonalGaussian(loc, law.scale * stretch, error, e)


def gaussians(generator: torch.Generator) -> Iterator[Verdict]:
    law, boxes = law_and_boxes(generator, int(between(generator, 1, 4)))
    stated = law_within(generator, law) if uniform(generator, 1) < 0.3 else law
    low, high = stated.log_mass(boxes).tolist(), stated.log_mass_upper(boxes).tolist()
    for k, (x, y) in enumerate(zip(boxes.lower.tolist(), boxes.upper.tolist(), strict=True)):
        if any(left >= right for left, right in zip(x, y, strict=True)):
            yield verdict(low[k] == -math.inf, "an empty box", high[k])
            continue
        truth = accurate(lambda x=x, y=y: log_mass(law, x, y))
        yield verdict(below(low[k], truth) and above(high[k], truth), "log mass", low[k], high[k])


def mixtures(generator: torch.Generator) -> Iterator[Verdict]:
    law, boxes = law_and_boxes(generator, 2)
    other = DiagonalGaussian(
        law.loc + law.scale * normal(generator, 2), law.scale * (0.3 + uniform(generator, 2))
    )
    weights = 10 ** (choice(generator, 1.0, 40.0) * (2 * uniform(generator, 2) - 1))
    mixture = GaussianMixture((law, other), weights)
    low, high = mixture.log_mass(boxes).tolist(), mixture.log_mass_upper(boxes).tolist()
    v, w = (arb(own) for own in weights.tolist())
    for k, (x, y) in enumerate(zip(boxes.lower.tolist(), boxes.upper.tolist(), strict=True)):
        if any(left >= right for left, right in zip(x, y, strict=True)):
            yield verdict(low[k] == -math.inf, "an empty box", high[k])
            continue
        truth = accurate(
            lambda x=x, y=y: (
                (v * log_mass(law, x, y).exp() + w * log_mass(other, x, y).exp()) / (v + w)
            ).log()
        )
        yield verdict(below(low[k], truth) and above(high[k], truth), "mixture", low[k], high[k])


def lattice(generator: torch.Generator) -> Iterator[Verdict]:
    """Tuples of lattice cells inside M ± r S weigh no more than that box under the deployed law."""
    clients, dimension = choice(generator, 2, 2, 3), 2
    weights = choice(generator, 1.0, -1.0) * (0.2 + uniform(generator, clients, 1))
    rule = LinearRule(weights)
    laws = [
        DiagonalGaussian(normal(generator, dimension), (0.5 + uniform(generator, 1)).repeat(dimension))
        for _ in range(clients)
    ]
    radius = 0.05 + choice(generator, 1.0, 4.0, 8.0) * uniform(generator, choice(generator, 1, dimension))
    found = lattice_log_mass(rule, laws, radius)
    truth = accurate(lambda: central_log_mass(radius.expand(dimension).tolist()))
    yield verdict(below(found, truth), f"lattice of {clients}", found)


def central_log_mass(radius: list[float]) -> arb:
    """Σ_d log [1 − 2 Q(r_d)]."""
    return sum((mass(-arb(r), arb(r)).log() for r in radius), arb(0))


def central(generator: torch.Generator) -> Iterator[Verdict]:
    """Boxes M ± r S of an exact law, from one that states its errors, and their masses."""
    law, _ = law_and_boxes(generator, 2)
    stated = law_within(generator, law) if uniform(generator, 1) < 0.5 else law
    radius = choice(generator, 1e-9, 1.0, 8.0, 30.0) * uniform(generator, ROWS, 2)
    box, masses = stated.central_box(radius), stated.central_log_mass(radius).tolist()
    for k, own in enumerate(radius.tolist()):
        with precision(EXACT):
            halves = [arb(r) * s for r, s in zip(own, law.scale.tolist(), strict=True)]
            ends = zip(box.lower[k].tolist(), box.upper[k].tolist(), law.loc.tolist(), halves, strict=True)
            inside = all(below(low, m - half) and above(high, m + half) for low, high, m, half in ends)
        truth = accurate(lambda own=own: central_log_mass(own))
        yield verdict(inside and below(masses[k], truth), "central box", masses[k])


def convolution(generator: torch.Generator) -> Iterator[Verdict]:
    """Tails of sums of the clients' projections, and what widths cost, against the normal tail."""
    way = choice(generator, Limit(), Product(), Cells(8), Cells(32), Cells(64), Cells(64, counted_from=2.0))
    size = 10 ** between(generator, -100, 100)
    s = size * choice(generator, 1.0, 1e3, 1e16) ** uniform(generator, int(between(generator, 1, 5)))
    norm = s.square().sum().sqrt()
    g = torch.cat([7 * uniform(generator, 3), 1e-9 * uniform(generator, 1)]) * norm
    kappa = 7 * uniform(generator, 2)
    widths, prices = way.width(kappa, s.expand(2, -1)), way.price(kappa, len(s))
    claims = [
        *zip(g.tolist(), way.tail(g, s.expand(4, -1)).tolist(), strict=True),
        *zip(widths.tolist(), prices.tolist(), strict=True),
    ]
    for distance, probability in claims:
        truth = accurate(
            lambda x=distance: tail(arb(x) / sum((arb(v) ** 2 for v in s.tolist()), arb(0)).sqrt())
        )
        yield verdict(above(probability, truth), f"{way} at {distance}", probability)
