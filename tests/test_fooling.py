"""Networks made to fool verifiers are never certified wrongly, and plain ones beside them are."""

from fractions import Fraction

import pytest
from certifying import certify_boxes_directly
from fooling import Fooling, cancelling, clearly_safe, near_zero, planted, vector, whole_square
from torch import Tensor

from fedcert.certificate import Certificate
from fedcert.families.mean_box.certify import certify_boxes
from fedcert.families.mean_box.events import MeanBox
from fedcert.families.paper_box.direct import certify_direct
from fedcert.families.paper_box.events import PaperBox
from fedcert.families.paper_box.transported import certify_transported
from fedcert.families.problem import Problem
from fedcert.families.projected.direct import certify_projected_directly
from fedcert.families.projected.transported import certify_projected
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import LinearRule
from fedcert.search import heaviest_first
from fedcert.verify import Safe
from fedcert.verify.attack import ProjectedGradient
from fedcert.verify.interval import IntervalVerifier, MergedIntervalVerifier
from fedcert.verify.linear import LinearVerifier

VERIFIERS = [IntervalVerifier(), MergedIntervalVerifier(), LinearVerifier()]
CANCELLING = {fooling.name: fooling for fooling in cancelling()}
NEAR_ZERO = {fooling.name: fooling for fooling in map(near_zero, range(3))}


def proofs(fooling: Fooling) -> list[Tensor]:
    """Which properties each verifier proves of the deployed mean."""
    return [v(fooling.network, fooling.image(), fooling.properties)[0] for v in VERIFIERS]


def certificates(fooling: Fooling) -> list[Certificate]:
    """Every certificate of the fast path, boxes proven by the linear verifier."""
    laws, rule = list(fooling.laws), fooling.rule
    safe = Safe(fooling.network, fooling.properties, LinearVerifier())
    paper, mean = PaperBox((5.0, 7.0), centers=8), MeanBox(steps=6)
    generator = stream(0, "cells")
    cells = [paper.cells(law, None, generator) for law in laws]
    deployed = paper.cells(rule.pushforward(laws), safe, generator)
    return [
        certify_transported(cells, rule, safe, heaviest_first, 50, paper.name),
        certify_direct(deployed, safe, rule.name, paper.name),
        certify_boxes(laws, rule, safe, mean, budget=20, shapes=("uniform",)),
        certify_boxes_directly(laws, rule, safe, mean),
        certify_projected(Problem(fooling.network, fooling.properties, tuple(laws), rule)),
        certify_projected_directly(Problem(fooling.network, fooling.properties, tuple(laws), rule)),
    ]


def check(fooling: Fooling) -> None:
    """No proof of what is false, and no probability where there is none.

    A posterior this narrow is safe or unsafe with a probability that no float tells from 1.
    """
    for proven in proofs(fooling):
        assert not (proven & fooling.unsafe).any()
    for certificate in certificates(fooling):
        assert not certificate.lower[fooling.unsafe].any(), certificate.claim
        if certificate.upper is not None:
            assert (certificate.upper[fooling.safe] == 1).all(), certificate.claim


@pytest.mark.slow
@pytest.mark.parametrize("name", CANCELLING)
def test_weights_that_cancel_fool_nobody(name: str) -> None:
    check(CANCELLING[name])


def test_weights_that_cancel_do_fool_floating_point() -> None:
    """Wrong signs of both kinds, by every trick but for some orders of summation."""
    wrong = {name: ((f.floats()[:, 0] < 0) != f.unsafe) for name, f in CANCELLING.items()}
    tricks = {name: w for name, w in wrong.items() if not name.startswith("clients")}
    assert all(w.any() for w in tricks.values()), tricks
    assert any(w.any() for name, w in wrong.items() if name.startswith("clients"))


@pytest.mark.slow
@pytest.mark.parametrize("name", NEAR_ZERO)
def test_margins_of_a_few_ulps_are_decided_rightly_or_not_at_all(name: str) -> None:
    fooling = NEAR_ZERO[name]
    assert 4 <= fooling.unsafe.sum() <= 7
    assert max(abs(margin) for margin in fooling.least) < Fraction(1, 10**14)
    check(fooling)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_margin_of_a_millionth_is_proven(seed: int) -> None:
    fooling = clearly_safe(seed)
    assert 0 < fooling.least[0] < Fraction(1, 10**4)
    assert all(proven.all() for proven in proofs(fooling))
    *_, transported, direct = certificates(fooling)
    assert transported.lower.item() > 0.99
    assert direct.lower.item() > 0.99
    assert direct.upper is not None
    assert direct.upper.item() == 1.0
    wide = certificates(clearly_safe(seed, scale=1e-10))
    assert all(certificate.lower.item() > 0.9 for certificate in wide[2:])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_counterexample_planted_in_training_is_not_overlooked(seed: int) -> None:
    """Attacks overlook it, verifiers prove most of what is around it, and nobody the tile it is in."""
    fooling = planted(seed)
    theta = fooling.laws[0].loc.unsqueeze(0)
    assert ProjectedGradient().survives(fooling.network, theta, whole_square()).all()
    assert fooling.unsafe.any()
    assert all(proven.double().mean() > 0.3 for proven in proofs(fooling))
    check(fooling)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "loc", "scale", "x", "C"),
    [
        (mlp(1, 1), [0.0, 0.0], [1e100, 1e-100], 1e-170, 1.0),
        (mlp(1, 1, 1), [0.0, 1.0, 0.0, 0.0], [1e-3, 1e-3, 1e100, 1e-100], 1.0, 1e-170),
    ],
    ids=["input", "constraint"],
)
def test_noise_does_not_vanish_in_squares_that_underflow(network, loc, scale, x, C) -> None:
    """The margin is 1e-80 plus a noise of about 1e-70: safe with a probability of a half."""
    law = DiagonalGaussian(vector(loc), vector(scale))
    properties = Properties(Box.point(vector([[x]])), vector([[[C]]]), vector([[1e-80]]))
    rule = LinearRule(vector([[1.0]]))
    direct = certify_projected_directly(Problem(network, properties, (law,), rule))
    assert direct.lower.item() <= 0.5 + 1e-9 <= direct.upper.item()
    assert certify_projected(Problem(network, properties, (law,), rule)).lower.item() <= 0.5 + 1e-9
