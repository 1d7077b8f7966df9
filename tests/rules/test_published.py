"""Published laws against their closed forms in rational arithmetic, and against what defines them."""

from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact
from rule_cases import make_laws
from torch import Tensor
from torch.distributions import Normal, kl_divergence

from fedcert.errors import InvalidConfig, InvalidWeights
from fedcert.laws import DiagonalGaussian
from fedcert.randomness import stream
from fedcert.rules import RuleContext, build_rule, published
from fedcert.rules.linear import LinearRule

Law = tuple[Fraction, Fraction]
"""A mean and a variance."""
Client = tuple[Fraction, Fraction]
"""A mean and a deviation."""


def average(w: Sequence[Fraction], values: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(w, values, strict=True)), Fraction(0))


def wasserstein(clients: Sequence[Client], w: Sequence[Fraction]) -> Law:
    return average(w, [m for m, _ in clients]), average(w, [s for _, s in clients]) ** 2


def averaged_variances(clients: Sequence[Client], w: Sequence[Fraction]) -> Law:
    return average(w, [m for m, _ in clients]), average(w, [s**2 for _, s in clients])


def forward_kl(clients: Sequence[Client], w: Sequence[Fraction]) -> Law:
    mean = average(w, [m for m, _ in clients])
    return mean, average(w, [m**2 + s**2 for m, s in clients]) - mean**2


def reverse_kl(clients: Sequence[Client], w: Sequence[Fraction]) -> Law:
    precision = average(w, [s**-2 for _, s in clients])
    return average(w, [m / s**2 for m, s in clients]) / precision, 1 / precision


WEIGHTED = [
    (published.wasserstein, wasserstein),
    (published.averaged_variances, averaged_variances),
    (published.forward_kl, forward_kl),
    (published.reverse_kl, reverse_kl),
]
SHARES = st.lists(st.integers(0, 9), min_size=1, max_size=5).filter(any)


def near(
    found: DiagonalGaussian, rule: LinearRule, laws: Sequence[DiagonalGaussian], d: int, law: Law
) -> None:
    size = sum(abs(exact(w)) * abs(exact(q.loc[d])) for w, q in zip(rule.weights[:, -1], laws, strict=True))
    assert abs(exact(found.loc[d]) - law[0]) <= Fraction(1, 10**12) * (size + abs(law[0]))
    assert abs(exact(found.scale[d]) ** 2 - law[1]) <= Fraction(1, 10**12) * law[1]


@pytest.mark.parametrize(("build", "oracle"), WEIGHTED, ids=lambda f: f.__name__)
@given(seed=st.integers(0, 2**32), shares=SHARES, magnitude=st.sampled_from([1e-30, 1.0, 1e20]))
def test_a_law_with_weights_has_its_closed_form(
    build: Callable, oracle: Callable, seed: int, shares: list[int], magnitude: float
) -> None:
    made = make_laws(stream(seed, "published"), len(shares), 1)
    laws = [DiagonalGaussian(magnitude * law.loc, magnitude * law.scale) for law in made]
    w = torch.tensor(shares, dtype=torch.float64).unsqueeze(-1) / sum(shares)
    rule = build(laws, w)
    clients = [(exact(law.loc[0]), exact(law.scale[0])) for law in laws]
    near(rule.pushforward(laws), rule, laws, 0, oracle(clients, [Fraction(n, sum(shares)) for n in shares]))
    assert rule.settings == {"weights": w.squeeze(-1).tolist()}


@given(seed=st.integers(0, 2**32), clients=st.integers(1, 5), prior=st.floats(2.0, 1e6))
def test_the_prior_is_counted_once(seed: int, clients: int, prior: float) -> None:
    laws = make_laws(stream(seed, "published"), clients, 1)
    rule = published.prior_corrected(laws, prior)
    own = [(exact(law.loc[0]), exact(law.scale[0])) for law in laws]
    precision = sum(s**-2 for _, s in own) - (clients - 1) * Fraction(prior) ** -2
    mean = sum(m / s**2 for m, s in own) / precision
    near(rule.pushforward(laws), rule, laws, 0, (mean, 1 / precision))


def test_the_prior_corrected_product_of_conjugate_posteriors_is_the_posterior_of_all_data() -> None:
    """Observations of a mean with unit noise under N(0, σ_0²): no approximation is left."""
    data = [torch.tensor(own).double() for own in ([1.0, 2.0], [3.0], [-1.0, 0.5, 4.0])]

    def posterior(x: Tensor) -> DiagonalGaussian:
        precision = torch.tensor([1 / 0.7**2 + len(x)], dtype=torch.float64)
        return DiagonalGaussian(x.sum() / precision, precision**-0.5)

    clients, together = [posterior(x) for x in data], posterior(torch.cat(data))
    pushed = published.prior_corrected(clients, 0.7).pushforward(clients)
    torch.testing.assert_close(pushed.loc, together.loc, rtol=1e-12, atol=0)
    torch.testing.assert_close(pushed.scale, together.scale, rtol=1e-12, atol=0)
    plain = LinearRule.product_of_gaussians(clients).pushforward(clients)
    assert plain.scale.item() < 0.95 * together.scale.item()


def test_a_prior_that_is_too_narrow_is_refused_with_the_parameter() -> None:
    loc = torch.zeros(3).double()
    laws = [DiagonalGaussian(loc, torch.tensor([0.1, 2.0, 0.1]).double())] * 2
    with pytest.raises(InvalidConfig, match=r"prior_scale: .* leaves parameter 1 a precision of -0.5.*wider"):
        published.prior_corrected(laws, 1.0)
    with pytest.raises(InvalidConfig, match="leaves parameter 1"):  # nothing but rounding is left
        published.prior_corrected(laws, 2**0.5 * (1 + 1e-7))
    assert published.prior_corrected(laws, 1.5).pushforward(laws).scale[1] > 2
    for wrong in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(InvalidConfig, match="prior_scale: must be a finite number"):
            published.prior_corrected(laws, wrong)


@pytest.mark.parametrize(
    ("build", "cost"),
    [
        (published.reverse_kl, lambda q, own: kl_divergence(q, own)),
        (published.forward_kl, lambda q, own: kl_divergence(own, q)),
        (
            published.wasserstein,
            lambda q, own: (q.loc - own.loc).square() + (q.scale - own.scale).square(),
        ),
    ],
)
def test_a_barycentre_costs_less_than_its_neighbours(build: Callable, cost: Callable) -> None:
    laws = make_laws(stream(3, "published"), 3, 4)
    w = torch.tensor([[0.2], [0.5], [0.3]], dtype=torch.float64)
    centre = build(laws, w).pushforward(laws)

    def total(loc: Tensor, scale: Tensor) -> Tensor:
        q = Normal(loc, scale)
        return sum(a * cost(q, Normal(law.loc, law.scale)) for a, law in zip(w, laws, strict=True))

    least = total(centre.loc, centre.scale)
    for step in (1e-3, -1e-3):
        assert (total(centre.loc + step, centre.scale) > least).all()
        assert (total(centre.loc, centre.scale + step) > least).all()


def test_three_names_are_one_rule() -> None:
    laws = make_laws(stream(1, "published"), 3, 4)
    pog, *others = (build_rule(name, RuleContext(laws, None)) for name in ("pog", "conflation", "consensus"))
    for other in others:
        assert isinstance(other, LinearRule)
        assert isinstance(pog, LinearRule)
        assert torch.equal(other.weights, pog.weights)
        assert other.offset is None


def test_averaged_variances_need_one_coefficient_for_each_client() -> None:
    laws = make_laws(stream(1, "published"), 4, 6)
    rule = published.averaged_variances(laws, torch.full((4, 1), 0.25).double())
    assert rule.weights.tolist() == [[0.5]] * 4


def test_a_client_of_weight_zero_has_no_say() -> None:
    laws = make_laws(stream(2, "published"), 3, 4)
    sharp = DiagonalGaussian(laws[2].loc, 1e-9 * laws[2].scale)
    for build, _ in WEIGHTED:
        rule = build([*laws[:2], sharp], torch.tensor([[0.25], [0.75], [0.0]]).double())
        without = build(laws[:2], torch.tensor([[0.25], [0.75]]).double())
        pushed, expected = rule.pushforward([*laws[:2], sharp]), without.pushforward(laws[:2])
        torch.testing.assert_close(pushed.loc, expected.loc)
        torch.testing.assert_close(pushed.scale, expected.scale)
        assert (rule.weights[2] == 0).all()


@pytest.mark.parametrize("weights", [[0.5, 0.4, 0.2], [1.0, 0.5, -0.5], [float("nan"), 0.5, 0.5]])
def test_weights_of_no_average_are_refused(weights: list[float]) -> None:
    laws = make_laws(stream(2, "published"), 3, 4)
    for build, _ in WEIGHTED:
        with pytest.raises(InvalidWeights):
            build(laws, torch.tensor(weights, dtype=torch.float64).unsqueeze(-1))
