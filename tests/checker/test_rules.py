"""Images and pushforwards of the checker against rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from fedcert_check.balls import PRECISION, Interval, exact
from fedcert_check.errors import InvalidCertificate
from fedcert_check.laws import DiagonalGaussian
from fedcert_check.rules import RULES, LinearRule, Rule, TrimmedMean, linear, read_rule


def ball(x: Fraction) -> arb:
    return arb(x.numerator) / x.denominator


@given(st.integers(0, 2**32), st.sampled_from(["linear", "trimmed", "median"]))
def test_the_image_is_exact(seed: int, kind: str) -> None:
    random = np.random.default_rng(seed)
    low = random.normal(size=(4, 2))
    high = low + random.uniform(size=(4, 2))
    weights, offset = random.normal(size=(4, 2)), random.normal(size=2)
    rule: Rule = LinearRule("", weights, offset)
    if kind != "linear":
        rule = TrimmedMean("", 4, 0 if kind == "trimmed" else 1)
    with ctx.workprec(PRECISION):
        image = rule.image([Interval(exact(a), exact(b)) for a, b in zip(low, high, strict=True)])
        for d in range(2):
            if isinstance(rule, TrimmedMean):
                kept = slice(rule.trim, 4 - rule.trim)
                least, most = (
                    sum(Fraction(v) for v in sorted(end[:, d])[kept]) / len(range(4)[kept])
                    for end in (low, high)
                )
            else:
                ends = [
                    [Fraction(w) * Fraction(v) for v in (a, b)]
                    for w, a, b in zip(weights[:, d], low[:, d], high[:, d], strict=True)
                ]
                least = Fraction(offset[d]) + sum(min(pair) for pair in ends)
                most = Fraction(offset[d]) + sum(max(pair) for pair in ends)
            with ctx.workprec(600):  # enough for the rational numbers to be exact
                assert ball(least) - 1e-30 <= image.lower[d] <= ball(least)
                assert ball(most) <= image.upper[d] <= ball(most) + 1e-30


def test_the_deployed_law_and_rules_without_one() -> None:
    laws = [DiagonalGaussian(np.array([m]), np.array([s])) for m, s in ((1.0, 3.0), (5.0, 2.0))]
    with ctx.workprec(PRECISION):
        loc, scale = LinearRule("", np.array([[1.0], [-2.0]]), np.array([0.5])).deployed(laws)
        assert (float(loc[0]), float(scale[0])) == (-8.5, 5.0)
        constant = LinearRule("", np.zeros((2, 1)), np.array([0.5])).deployed(laws)
        assert (constant.loc[0], constant.scale[0]) == (0.5, 0)
        with pytest.raises(InvalidCertificate, match="median deploys no Gaussian law"):
            TrimmedMean("median", 3, 1).deployed(laws)


def test_only_a_linear_rule_is_linear() -> None:
    rule = LinearRule("", np.ones((2, 1)))
    assert linear(rule) is rule
    with pytest.raises(InvalidCertificate, match="median deploys no Gaussian law"):
        linear(TrimmedMean("median", 3, 1))


def test_a_rule_is_read_by_its_type() -> None:
    weights = np.array([[0.25], [0.75]])
    entry = {"type": "linear", "name": "fedavg", "clients": 2}
    found = read_rule(entry, {"rule.weights": weights}, 5)
    assert isinstance(found, LinearRule)
    assert (found.name, found.clients, found.offset) == ("fedavg", 2, None)
    assert found.nbytes == weights.nbytes
    trimmed = {"type": "trimmed-mean", "name": "median", "clients": 4, "trim": 1}
    assert read_rule(trimmed, {}, 5) == TrimmedMean("median", 4, 1)


@pytest.mark.parametrize("kind", ["krum", "", None, ["linear"], 3])
def test_another_rule_is_refused_by_name(kind: object) -> None:
    assert list(RULES.known) == ["linear", "trimmed-mean", "pooling", "gaussian"]
    with pytest.raises(InvalidCertificate) as refused:
        read_rule({"type": kind, "name": "own", "clients": 2}, {}, 5)
    known = " and ".join(RULES.known)
    assert str(refused.value) == f"rule type {kind!r}: this checker knows {known}"


@pytest.mark.parametrize(
    "name", ["fedavg", "pog", "wasserstein", "prior-corrected", "pooling", "FedAvg", "p.o-g"]
)
def test_a_trimmed_mean_has_no_name_of_another_rule(name: str) -> None:
    entry = {"type": "trimmed-mean", "name": name, "clients": 3, "trim": 1}
    with pytest.raises(InvalidCertificate, match=f"not called {name}"):
        read_rule(entry, {}, 2)


@pytest.mark.parametrize("name", ["median", "FedAvg", "fed-avg", "POG", "Wasserstein"])
def test_a_linear_rule_has_no_name_that_only_looks_deserved(name: str) -> None:
    with pytest.raises(InvalidCertificate, match=f"not called {name}"):
        read_rule({"type": "linear", "name": name, "clients": 1}, {"rule.weights": np.zeros((1, 1))}, 2)


def test_fedavg_has_one_weight_for_each_client() -> None:
    entry = {"type": "linear", "name": "fedavg", "clients": 2}
    read_rule(entry, {"rule.weights": np.array([[0.5, 0.5], [0.5, 0.5]])}, 2)
    with pytest.raises(InvalidCertificate, match="one weight for each client"):
        read_rule(entry, {"rule.weights": np.array([[0.5, 1.0], [0.5, 0.0]])}, 2)
