"""Images and pushforwards of the aggregation rules, in exact arithmetic."""

from collections.abc import Iterator, Sequence

import torch
from flint import arb
from oracles import random_points
from problems import uniform

from fedcert.errors import InvalidBox, InvalidLaw, InvalidMessage
from fedcert.federation.sums import FixedPoint, message_of_sum, summand
from fedcert.laws import DiagonalGaussian
from fedcert.numerics.box import Box
from fedcert.rules import LinearRule, TrimmedMean
from fuzz.balls import EXACT, above, balls, below, dot, exactly, precision
from fuzz.hostile import anything, between, choice, numbers
from fuzz.networks import boxed
from fuzz.verdicts import Verdict, verdict

DIMENSION, TUPLES = 4, 4


def random_rule(generator: torch.Generator, clients: int) -> LinearRule | TrimmedMean:
    kind = choice(generator, "linear", "linear", "trimmed", "median")
    if kind == "trimmed":
        return TrimmedMean(clients, int(between(generator, 0, (clients - 1) / 2)))
    if kind == "median":
        return TrimmedMean.median(clients)
    weights = anything(generator, clients, choice(generator, 1, DIMENSION))
    return LinearRule(weights, choice(generator, None, anything(generator, DIMENSION)))


def applied(rule: LinearRule | TrimmedMean, thetas: Sequence[Sequence[arb]]) -> list[arb]:
    """A(θ_1, …, θ_n), exactly."""
    if isinstance(rule, LinearRule):
        weights = balls(rule.weights.expand(-1, DIMENSION))
        start = [arb(0)] * DIMENSION if rule.offset is None else balls(rule.offset)
        columns = zip(start, zip(*weights, strict=True), zip(*thetas, strict=True), strict=True)
        return [exactly(v + dot(w, x)) for v, w, x in columns]
    kept = [sorted(x)[rule.trim : rule.clients - rule.trim] for x in zip(*thetas, strict=True)]
    return [sum(own, arb(0)) / len(own) for own in kept]


def image(generator: torch.Generator) -> Iterator[Verdict]:
    """Images of boxes contain those of their corners, the extreme ones among them."""
    clients = int(between(generator, 1, 6))
    rule = random_rule(generator, clients)
    for _ in range(TUPLES):
        boxes = [boxed(generator, DIMENSION) for _ in range(clients)]
        try:
            found = rule.image(boxes)
        except InvalidBox:  # an overflow
            yield Verdict(True, False)
            continue
        points = [[*random_points(box, 2, generator)] for box in boxes]
        corners = [*zip(*points, strict=True), *extremes(rule, boxes)]
        low, high = found.lower.tolist(), found.upper.tolist()
        with precision(EXACT):
            values = [applied(rule, [balls(theta) for theta in thetas]) for thetas in corners]
            sound = all(
                below(low[k], value[k]) and above(high[k], value[k])
                for value in values
                for k in range(len(low))
            )
        yield verdict(sound, f"{rule.name} of {clients}", *low, *high)


def extremes(rule, boxes: Sequence[Box]) -> list[list]:
    """The two corners at which each coordinate of the image is least and greatest."""
    if not isinstance(rule, LinearRule):
        return [[box.lower for box in boxes], [box.upper for box in boxes]]
    pairs = list(zip(rule.weights.expand(-1, DIMENSION), boxes, strict=True))
    return [
        [torch.where(w >= 0, box.lower, box.upper) for w, box in pairs],
        [torch.where(w >= 0, box.upper, box.lower) for w, box in pairs],
    ]


def pushforward(generator: torch.Generator) -> Iterator[Verdict]:
    """The exact deployed law is within the stated errors; variances are compared, without a root."""
    clients = int(between(generator, 1, 6))
    weights = numbers(generator, choice(generator, "ordinary", "cancelling", "integers"), clients, DIMENSION)
    rule = LinearRule(weights, choice(generator, None, anything(generator, DIMENSION).clamp(-1e90, 1e90)))
    size = 10 ** between(generator, -60, 60)
    style = choice(generator, "ordinary", "cancelling", "integers")
    laws = [
        DiagonalGaussian(
            size * numbers(generator, style, DIMENSION), size * (uniform(generator, DIMENSION) + 1e-9)
        )
        for _ in range(clients)
    ]
    try:
        found = rule.pushforward(laws)
    except InvalidLaw:  # all weights 0
        yield Verdict(True, False)
        return
    assert found.loc_error is not None
    with precision(EXACT):
        means = applied(rule, [balls(law.loc) for law in laws])
        scales = zip(*(balls(law.scale) for law in laws), strict=True)
        variances = [
            sum(((w * s) ** 2 for w, s in zip(ws, ss, strict=True)), arb(0))
            for ws, ss in zip(zip(*balls(weights), strict=True), scales, strict=True)
        ]
        for k in range(DIMENSION):
            loc, scale, error = (arb(t[k].item()) for t in (found.loc, found.scale, found.loc_error))
            e = arb(found.scale_error)
            close = abs(means[k] - loc) <= error
            within = (scale * (1 - e)) ** 2 <= exactly(variances[k]) <= (scale * (1 + e)) ** 2
            yield verdict(
                bool(close) and bool(within), "pushforward", found.loc[k].item(), found.scale[k].item()
            )


def summed(generator: torch.Generator) -> Iterator[Verdict]:
    """The law that a rule deploys lies within the errors that its clients' summands in fixed point leave."""
    clients, rule = int(between(generator, 1, 6)), choice(generator, "fedavg", "pog")
    bits = FixedPoint(int(between(generator, 4, 40)), int(between(generator, 8, 40)))
    sizes = [int(between(generator, 1, 300)) if rule == "fedavg" else 1 for _ in range(clients)]
    style = choice(generator, "ordinary", "cancelling", "integers")
    laws = [
        DiagonalGaussian(numbers(generator, style, DIMENSION), uniform(generator, DIMENSION) + 0.01)
        for _ in range(clients)
    ]
    try:
        sent = [summand(law, rule, size, bits) for law, size in zip(laws, sizes, strict=True)]
        found = message_of_sum(sent, rule, bits)[0].law.components[0]
    except InvalidMessage:  # too large or too small for so many bits
        yield Verdict(True, False)
        return
    assert found.loc_error is not None
    with precision(EXACT):
        for k in range(DIMENSION):
            mu, sigma = (
                [arb(own[k].item()) for own in each]
                for each in zip(*((law.loc, law.scale) for law in laws), strict=True)
            )
            mean, variance = deployed_moments(rule, sizes, mu, sigma)
            loc, scale, error = (arb(t[k].item()) for t in (found.loc, found.scale, found.loc_error))
            e = arb(found.scale_error)
            within = (scale * (1 - e)) ** 2 <= variance <= (scale * (1 + e)) ** 2
            sound = bool(abs(mean - loc) <= error) and bool(within)
            yield verdict(sound, f"sum of {clients} under {rule}", found.loc[k].item(), found.scale[k].item())


def deployed_moments(
    rule: str, sizes: Sequence[int], mu: Sequence[arb], sigma: Sequence[arb]
) -> tuple[arb, arb]:
    """Mean and variance of one deployed parameter."""
    if rule == "fedavg":
        whole = sum(sizes)
        variance = sum(((n * s) ** 2 for n, s in zip(sizes, sigma, strict=True)), arb(0))
        return dot([arb(n) for n in sizes], mu) / whole, variance / whole**2
    precisions = [1 / s**2 for s in sigma]
    whole_precision = sum(precisions, arb(0))
    return dot(precisions, mu) / whole_precision, 1 / whole_precision
