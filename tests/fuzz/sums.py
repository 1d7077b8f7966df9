"""Sums, means, exponentials and logarithms with rounding charged."""

import math
from collections.abc import Iterator

import torch
from flint import arb
from problems import uniform

from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.rounding import exp_down, exp_up, log_down, log_up, sum_down, sum_up
from fuzz.balls import EXACT, above, balls, below, exactly, precision
from fuzz.hostile import anything, between, choice
from fuzz.verdicts import Verdict, verdict

ROWS = 16


def sums(generator: torch.Generator) -> Iterator[Verdict]:
    terms = anything(generator, ROWS, int(between(generator, 1, 30)))
    low, high = sum_down(terms).tolist(), sum_up(terms).tolist()
    with precision(EXACT):
        for k, row in enumerate(balls(terms)):
            truth = exactly(sum(row, arb(0)))
            yield verdict(below(low[k], truth) and above(high[k], truth), "sum", low[k], high[k])


def means(generator: torch.Generator) -> Iterator[Verdict]:
    for _ in range(ROWS):
        size = choice(generator, 1.0, 1e-8, 1e-300, 1e-320)
        values = size * uniform(generator, int(between(generator, 1, 30)))
        mean = Enclosure.exactly(values).mean()
        low, high = mean.lower.item(), mean.upper.item()
        with precision(EXACT):
            truth = sum(balls(values), arb(0)) / len(values)
            yield verdict(below(low, truth) and above(high, truth), "mean", low, high)


def library(generator: torch.Generator) -> Iterator[Verdict]:
    x = choice(generator, 1e-300, 1e-9, 1.0, 30.0, 700.0) * (2 * uniform(generator, ROWS) - 1)
    positive = 10 ** (choice(generator, 1e-9, 1e-2, 1.0, 300.0) * (2 * uniform(generator, ROWS) - 1))
    found = [t.tolist() for t in (exp_down(x), exp_up(x), log_down(positive), log_up(positive))]
    with precision(200):
        for k, (e, p) in enumerate(zip(x.tolist(), positive.tolist(), strict=True)):
            exponential, logarithm = arb(e).exp(), arb(p).log()
            low, high, log_low, log_high = (values[k] for values in found)
            sound = below(low, exponential) and above(high, exponential)
            yield verdict(sound, f"exp {e.hex()}", low, high)
            sound = below(log_low, logarithm) and above(log_high, logarithm)
            yield verdict(sound and not math.isnan(log_low), f"log {p.hex()}", log_low, log_high)
