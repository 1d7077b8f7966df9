import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact
from problems import normal, vector
from rule_cases import LINEAR, PUBLISHED, exact_map, make_laws, make_rule
from rule_contract import check_tight_image, exact_aggregate, random_boxes

from fedcert.errors import InvalidLaw, InvalidWeights, ShapeMismatch
from fedcert.laws import DiagonalGaussian
from fedcert.randomness import stream
from fedcert.rules import LinearRule

GENERAL = [name for name in LINEAR if name not in PUBLISHED]
SETTINGS = {"seed": st.integers(0, 2**32), "clients": st.integers(1, 6), "dimension": st.integers(1, 4)}


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERAL)
@given(**SETTINGS)
def test_the_image_is_exact_but_for_outward_rounding(name, seed, clients, dimension) -> None:
    generator = stream(seed, "rules")
    rule = make_rule(name, make_laws(generator, clients, dimension))
    check_tight_image(rule, exact_map(rule), random_boxes(generator, clients, dimension))


@pytest.mark.parametrize("name", GENERAL)
@given(**SETTINGS)
def test_the_pushforward_encloses_the_exact_law(name, seed, clients, dimension) -> None:
    generator = stream(seed, "rules")
    laws = make_laws(generator, clients, dimension)
    rule = make_rule(name, laws)
    pushed = rule.pushforward(laws)
    weights = rule.weights.expand(-1, dimension)
    means = exact_aggregate(exact_map(rule), [law.loc for law in laws])
    for d, loc in enumerate(means):
        variance = sum((exact(weights[i, d]) * exact(law.scale[d])) ** 2 for i, law in enumerate(laws))
        assert abs(exact(pushed.loc[d]) - loc) <= exact(pushed.loc_error[d])
        scale, error = exact(pushed.scale[d]), exact(pushed.scale_error)
        assert (scale * (1 - error)) ** 2 <= variance <= (scale * (1 + error)) ** 2


def test_the_pushforward_is_the_law_of_aggregated_samples() -> None:
    generator = stream(0, "rules")
    laws = make_laws(generator, 3, 4)
    for name in GENERAL:
        rule = make_rule(name, laws)
        pushed = rule.pushforward(laws)
        samples = rule([law.sample(40_000, generator) for law in laws])
        standard = (samples - pushed.loc) / pushed.scale
        assert (standard.mean(0).abs() < 0.03).all()
        assert ((standard.std(0) - 1).abs() < 0.03).all()


def test_a_server_step_of_rate_one_is_fedavg_and_of_rate_zero_stays() -> None:
    laws = make_laws(stream(0, "rules"), 3, 4)
    start, locs = normal(stream(1, "start"), 4), [law.loc for law in laws]
    torch.testing.assert_close(
        LinearRule.server_step(start, 1.0, [1, 2, 3])(locs), LinearRule.fedavg([1, 2, 3])(locs)
    )
    assert torch.equal(LinearRule.server_step(start, 0.0, [1, 2, 3])(locs), start)


def test_product_of_gaussians_is_the_normalised_product_of_densities() -> None:
    laws = make_laws(stream(1, "rules"), 3, 5)
    pushed = LinearRule.product_of_gaussians(laws).pushforward(laws)
    precision = sum(law.scale**-2 for law in laws)
    torch.testing.assert_close(pushed.scale, precision**-0.5)
    torch.testing.assert_close(pushed.loc, sum(law.loc * law.scale**-2 for law in laws) / precision)


@given(clients=st.integers(1, 8), scale=st.sampled_from([1e-5, 0.3, 1.0]))
def test_fedavg_and_product_of_gaussians_agree_for_equal_scales_and_weights(clients, scale) -> None:
    laws = [law.with_scale(scale) for law in make_laws(stream(clients, "equal"), clients, 5)]
    fedavg = LinearRule.fedavg([1] * clients).pushforward(laws)
    pog = LinearRule.product_of_gaussians(laws).pushforward(laws)
    assert torch.equal(fedavg.loc, pog.loc)
    assert torch.equal(fedavg.scale, pog.scale)
    mean = sum(law.loc for law in laws) / clients
    torch.testing.assert_close(fedavg.loc, mean)
    torch.testing.assert_close(fedavg.scale, torch.full_like(mean, scale / math.sqrt(clients)))


def test_constructors_name_their_rules() -> None:
    laws = make_laws(stream(0, "rules"), 2, 3)
    half = torch.full((2, 1), 0.5, dtype=torch.float64)
    rules = [
        LinearRule(half),
        LinearRule.average(half),
        LinearRule.average(half, "mine"),
        LinearRule.fedavg([1, 1]),
        LinearRule.product_of_gaussians(laws),
        LinearRule.server_step(laws[0].loc, 0.5, [1, 1]),
    ]
    names = ["linear", "weighted-average", "mine", "fedavg", "pog", "server-step"]
    assert [rule.name for rule in rules] == names


@pytest.mark.parametrize("weights", [[0.5, 0.6], [1.5, -0.5], [math.nan, 1.0], [0.2, 0.2], [math.inf, 0.0]])
def test_weights_that_are_no_average_raise(weights: list[float]) -> None:
    with pytest.raises(InvalidWeights):
        LinearRule.average(torch.tensor(weights, dtype=torch.float64)[:, None])


@pytest.mark.parametrize("sizes", [[], [0, 1], [-1, 2]])
def test_sizes_must_be_positive(sizes: list[int]) -> None:
    with pytest.raises(InvalidWeights):
        LinearRule.fedavg(sizes)


@pytest.mark.parametrize(
    "make",
    [
        lambda: LinearRule(torch.tensor([[math.nan]], dtype=torch.float64)),
        lambda: LinearRule(torch.zeros(0, 1, dtype=torch.float64)),
        lambda: LinearRule.server_step(torch.zeros(2, dtype=torch.float64), math.inf, [1]),
        lambda: LinearRule.server_step(torch.zeros(2, dtype=torch.float64), 1.0, [0]),
    ],
)
def test_impossible_coefficients_raise(make) -> None:
    with pytest.raises(InvalidWeights):
        make()


def test_clients_must_match_in_number_and_shape() -> None:
    laws = make_laws(stream(0, "rules"), 2, 3)
    odd = make_laws(stream(0, "rules"), 1, 4)
    rule = LinearRule.fedavg([1, 1])
    with pytest.raises(ShapeMismatch, match="2 clients was given 3"):
        rule([law.loc for law in (*laws, laws[0])])
    with pytest.raises(ShapeMismatch, match="same network"):
        rule([laws[0].loc, odd[0].loc])
    with pytest.raises(ShapeMismatch, match="same network"):
        rule.pushforward([laws[0], odd[0]])
    with pytest.raises(ShapeMismatch, match="same network"):
        LinearRule.product_of_gaussians([laws[0], odd[0]])


@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_clients_must_have_as_many_parameters_as_the_coefficients(dimension: int) -> None:
    """A single parameter is not stretched to several weights."""
    laws = make_laws(stream(0, "rules"), 2, 3)
    boxes = random_boxes(stream(0, "boxes"), 2, dimension)
    for rule in (
        LinearRule.product_of_gaussians(laws),
        LinearRule.server_step(laws[0].loc, 0.5, [1, 1]),
    ):
        with pytest.raises(ShapeMismatch, match=f"for 3 parameters was given clients with {dimension}"):
            rule.image(boxes)
        with pytest.raises(ShapeMismatch, match="for 3 parameters"):
            rule([box.lower for box in boxes])


def test_what_every_client_fixes_is_fixed_and_its_mean_has_the_error_of_the_sum() -> None:
    laws = [DiagonalGaussian(vector(0.1, 0.2), vector(0.0, s)) for s in (1.0, 0.0, 0.0)]
    pushed = LinearRule.fedavg([1, 1, 1]).pushforward(laws)
    assert pushed.scale[0] == 0
    assert pushed.scale[1].item() == pytest.approx(1 / 3)
    assert abs(exact(pushed.loc[0]) - exact(laws[0].loc[0]) * 3 * exact(vector(1 / 3)[0])) <= exact(
        pushed.loc_error[0]
    )
    nobody = LinearRule(torch.zeros(3, 1).double(), vector(1.0, 2.0)).pushforward(laws)
    assert (nobody.loc.tolist(), nobody.scale.tolist()) == ([1.0, 2.0], [0.0, 0.0])


@pytest.mark.parametrize("weight", [1e-200, 1e-300])
def test_a_scale_that_underflows_is_not_taken_for_zero(weight: float) -> None:
    laws = [DiagonalGaussian(vector(0.0), vector(1e-100))]
    with pytest.raises(InvalidLaw, match="scale"):
        LinearRule(vector(weight).unsqueeze(-1)).pushforward(laws)


def test_clients_that_fix_a_parameter_share_its_weight_in_a_product_of_gaussians() -> None:
    """The limit of ever smaller scales."""
    scales = [(0.0, 1.0), (0.0, 2.0), (0.5, 0.0)]
    laws = [DiagonalGaussian(vector(float(i), 0.0), vector(*own)) for i, own in enumerate(scales)]
    rule = LinearRule.product_of_gaussians(laws)
    assert rule.weights.mT.tolist() == [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    assert rule.pushforward(laws).scale.tolist() == [0.0, 0.0]
    near = [DiagonalGaussian(law.loc, law.scale.clamp(min=1e-12)) for law in laws]
    assert torch.allclose(LinearRule.product_of_gaussians(near).weights, rule.weights, atol=1e-20)
