from dataclasses import dataclass
from fractions import Fraction

import pytest
import torch
from hypothesis import example, given, settings
from oracles import exact, forward, interval_margins, interval_outputs, random_points
from problems import SPECIFICATIONS, Problem, make_problem

from fedcert.errors import ShapeMismatch, UnsupportedLayer
from fedcert.model.layers import Linear, ReLU
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.verify import AnyOf, Safe
from fedcert.verify.interval import IntervalVerifier, MergedIntervalVerifier, output_bounds, proven
from fedcert.verify.linear import LinearVerifier

STRADDLING = {"seed": 0, "widths": (4, 4, 3), "weight_radius": 3.0, "input_radius": 3.0}
INTERVAL = [IntervalVerifier(), MergedIntervalVerifier()]
VERIFIERS = [*INTERVAL, LinearVerifier()]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(SPECIFICATIONS)
@example(STRADDLING)
def test_every_network_in_the_box_lies_inside_the_bounds(specification: dict) -> None:
    """Enclosure in rational arithmetic: no tolerance, no rounding in the oracle."""
    problem = make_problem(**specification)
    bounds = output_bounds(problem.network, problem.boxes, problem.properties.regions)
    for b in range(len(problem.boxes)):
        for p in range(len(problem.properties)):
            theta = random_points(problem.boxes[b], 3, problem.generator)
            x = random_points(problem.properties.regions[p], 3, problem.generator)
            for point, inputs in zip(theta, x, strict=True):
                values = forward(problem.network, point, inputs)
                for k, value in enumerate(values):
                    assert exact(bounds.lower[b, p, k]) <= value <= exact(bounds.upper[b, p, k])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(SPECIFICATIONS)
@example(STRADDLING)
def test_bounds_contain_exact_interval_arithmetic_and_little_more(specification: dict) -> None:
    problem = make_problem(**specification)
    bounds = output_bounds(problem.network, problem.boxes, problem.properties.regions)
    for b in range(len(problem.boxes)):
        for p in range(len(problem.properties)):
            outputs = interval_outputs(problem.network, problem.boxes[b], problem.properties.regions[p])
            depth = len(specification["widths"])
            size = Fraction(100 * max(1, specification.get("magnitude", 1))) ** depth  # of what cancels
            for k, (low, high) in enumerate(outputs):
                assert low - size / 10**12 <= exact(bounds.lower[b, p, k]) <= low
                assert high <= exact(bounds.upper[b, p, k]) <= high + size / 10**12


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(SPECIFICATIONS)
@example(STRADDLING)
def test_paper_margins_are_below_exact_ones_and_merged_ones_are_never_looser(specification: dict) -> None:
    problem = make_problem(**specification)
    arguments = (problem.network, problem.boxes, problem.properties)
    paper, merged = (verifier.margins(*arguments) for verifier in INTERVAL)
    assert (merged >= paper).all()
    for b in range(len(problem.boxes)):
        for p in range(len(problem.properties)):
            oracle = interval_margins(problem.network, problem.boxes[b], problem.properties, p)
            for r, margin in enumerate(oracle):
                assert exact(paper[b, p, r]) <= margin


@pytest.mark.slow
@pytest.mark.parametrize("verifier", VERIFIERS)
@settings(max_examples=40, deadline=None)
@given(specification=SPECIFICATIONS)
def test_proven_constraints_hold_exactly_at_sampled_points(verifier, specification: dict) -> None:
    problem = make_problem(**specification)
    properties = problem.properties
    proven = verifier(problem.network, problem.boxes, properties)
    margins = verifier.margins(problem.network, problem.boxes, properties)
    assert torch.equal(proven, (margins >= 0).all(-1))
    for b in range(len(problem.boxes)):
        for p in range(len(properties)):
            theta = random_points(problem.boxes[b], 1, problem.generator)[0]
            x = random_points(properties.regions[p], 1, problem.generator)[0]
            f = forward(problem.network, theta, x)
            for r in range(properties.C.shape[1]):
                terms = (exact(c) * v for c, v in zip(properties.C[p, r], f, strict=True))
                value = sum(terms) + exact(properties.d[p, r])
                assert exact(margins[b, p, r]) <= value


@pytest.mark.slow
@pytest.mark.parametrize("verifier", VERIFIERS)
def test_no_attack_over_weights_and_inputs_beats_a_proof(verifier) -> None:
    """Projected gradient descent inside verified boxes and regions; the attack does break others."""
    broken_unproven = proven_count = 0
    for seed in range(12):
        problem = make_problem(
            seed,
            (5, 8, 8, 3),
            boxes=4,
            properties=4,
            weight_radius=0.05,
            input_radius=0.05,
            non_negative=True,
        )
        proven = verifier(problem.network, problem.boxes, problem.properties)
        smallest = attack(problem)
        assert (smallest[proven] >= 0).all()
        proven_count += int(proven.sum())
        broken_unproven += int((smallest[~proven] < 0).sum())
    assert proven_count > 5
    assert broken_unproven > 5


def attack(problem: Problem, steps: int = 60) -> torch.Tensor:
    """The smallest constraint value found in each box × region by sign-gradient descent."""
    boxes, regions = problem.boxes, problem.properties.regions
    shape = (len(boxes), len(problem.properties))
    theta_low, theta_high = (t[:, None].expand(*shape, -1) for t in (boxes.lower, boxes.upper))
    x_low, x_high = (t[None].expand(*shape, -1) for t in (regions.lower, regions.upper))
    theta, x = (theta_low + theta_high) / 2, (x_low + x_high) / 2
    best = torch.full(shape, torch.inf, dtype=torch.float64)
    for step in range(steps):
        theta, x = theta.detach().requires_grad_(), x.detach().requires_grad_()
        f = problem.network(theta, x.unsqueeze(-2)).squeeze(-2)
        values = (problem.properties.C @ f.unsqueeze(-1)).squeeze(-1) + problem.properties.d
        worst = values.min(-1).values
        best = torch.minimum(best, worst.detach())
        worst.sum().backward()
        rate = 0.3 * (1 - step / steps)
        with torch.no_grad():
            theta = theta - rate * (theta_high - theta_low) * theta.grad.sign()
            x = x - rate * (x_high - x_low) * x.grad.sign()
            theta = theta.clamp(min=theta_low, max=theta_high)
            x = x.clamp(min=x_low, max=x_high)
    return best


@pytest.mark.parametrize("verifier", VERIFIERS)
def test_a_point_reproduces_the_forward_pass(verifier) -> None:
    problem = make_problem(1, (4, 6, 3), weight_radius=0.0, input_radius=0.0)
    margins = verifier.margins(problem.network, problem.boxes, problem.properties)
    f = problem.network(problem.boxes.lower, problem.properties.regions.lower)
    expected = (problem.properties.C @ f.unsqueeze(-1)).squeeze(-1) + problem.properties.d
    torch.testing.assert_close(margins, expected, rtol=0, atol=1e-11)
    assert (margins <= expected).all()


@pytest.mark.parametrize("verifier", INTERVAL)
def test_smaller_boxes_are_proven_whenever_larger_ones_are(verifier) -> None:
    problem = make_problem(3, (4, 6, 3), boxes=30, properties=8)
    inner = Box(
        0.75 * problem.boxes.lower + 0.25 * problem.boxes.upper,
        0.25 * problem.boxes.lower + 0.75 * problem.boxes.upper,
    )
    outer_proven = verifier(problem.network, problem.boxes, problem.properties)
    inner_proven = verifier(problem.network, inner, problem.properties)
    assert outer_proven.any()
    assert (inner_proven | ~outer_proven).all()


def sum_of_inputs(x: torch.Tensor, d: float) -> tuple[Network, Box, Properties]:
    """A one-output network Σ x_k at a single point, asked for Σ x_k + d ≥ 0."""
    network = mlp(len(x), 1)
    theta = torch.ones(1, network.parameters, dtype=torch.float64)
    theta[0, -1] = 0.0
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    properties = Properties(Box.point(x[None]), one, torch.full((1, 1), d, dtype=torch.float64))
    return network, Box.point(theta), properties


@pytest.mark.parametrize("verifier", VERIFIERS)
def test_cancellation_that_fools_floating_point_is_not_proven(verifier) -> None:
    """The exact sum is −1, yet floating point, in any order of these three, can find 0 or more."""
    x = torch.tensor([2.0**53, -1.0, -(2.0**53)], dtype=torch.float64)
    network, boxes, properties = sum_of_inputs(x, 0.0)
    assert float(x[0] + x[2] + 0.0) == 0.0
    assert not verifier(network, boxes, properties).any()
    big = torch.tensor([1e17, 3.0, -1e17, -11.0], dtype=torch.float64)
    network, boxes, properties = sum_of_inputs(big, 0.0)
    assert float(((big[0] + big[1]) + big[2]) + big[3]) != -8.0  # floating point gets it wrong
    assert not verifier(network, boxes, properties).any()


@pytest.mark.parametrize("verifier", VERIFIERS)
def test_a_true_inequality_within_the_rounding_error_is_not_claimed(verifier) -> None:
    """Σ x + d = 2^-60 > 0 holds, but not by more than the error charged: no proof, and no crash."""
    network, boxes, properties = sum_of_inputs(torch.tensor([1.0, -1.0], dtype=torch.float64), 2.0**-60)
    assert not verifier(network, boxes, properties).any()
    network, boxes, properties = sum_of_inputs(torch.tensor([1.0, -1.0], dtype=torch.float64), 2.0**-40)
    assert verifier(network, boxes, properties).all()


@pytest.mark.parametrize("verifier", VERIFIERS)
@pytest.mark.parametrize("huge", [1e160, 1e300, 8e307])
def test_overflow_is_never_safe_and_leaves_other_boxes_alone(verifier, huge: float) -> None:
    network = mlp(2, 3, 2)
    small = torch.full((1, network.parameters), 0.5, dtype=torch.float64)
    large = torch.full_like(small, huge)
    boxes = Box(torch.cat([small, large, -large, -large]), torch.cat([small, large, -large, large]))
    region = Box.around(torch.full((1, 2), 0.5, dtype=torch.float64), 0.1)
    ones = torch.ones(1, 1, 2, dtype=torch.float64)
    properties = Properties(region, ones, torch.ones(1, 1, dtype=torch.float64))
    margins = verifier.margins(network, boxes, properties)
    assert (~torch.isfinite(margins[[1, 3]])).all()  # layer two multiplies huge by huge
    proven = verifier(network, boxes, properties)
    assert proven.squeeze(-1).tolist() == [True, False, False, False]


@pytest.mark.parametrize("verifier", VERIFIERS)
def test_batches_equal_single_calls(verifier) -> None:
    problem = make_problem(5, (4, 6, 3), boxes=7, properties=5)
    together = verifier.margins(problem.network, problem.boxes, problem.properties)
    for b in range(7):
        for p in range(5):
            alone = verifier.margins(problem.network, problem.boxes[b : b + 1], problem.properties[p : p + 1])
            torch.testing.assert_close(alone[0, 0], together[b, p], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("margin", [torch.nan, torch.inf, -torch.inf, -1e-300])
def test_a_margin_that_is_no_proof_proves_nothing(margin: float) -> None:
    margins = torch.tensor([[[1.0, margin], [1.0, 0.0]]], dtype=torch.float64)
    assert proven(margins).tolist() == [[False, True]]


@dataclass(frozen=True)
class Swish:
    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return ()

    def __call__(self, parameters, x):
        return x * torch.sigmoid(x)


@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize("verifier", VERIFIERS)
def test_an_unknown_layer_raises_and_names_itself(verifier) -> None:
    problem = make_problem(0, (2, 2))
    with pytest.raises(UnsupportedLayer, match="Swish"):
        verifier(Network((*problem.network.layers, Swish())), problem.boxes, problem.properties)


class Negation(ReLU):
    def __call__(self, parameters, x):
        return -x


@pytest.mark.parametrize("verifier", VERIFIERS)
def test_a_subclass_of_a_known_layer_is_not_taken_for_it(verifier) -> None:
    problem = make_problem(0, (2, 2))
    with pytest.raises(UnsupportedLayer, match="Negation"):
        verifier(Network((*problem.network.layers, Negation())), problem.boxes, problem.properties)


@pytest.mark.parametrize("verifier", INTERVAL)
def test_a_network_that_ends_in_relu_is_supported(verifier) -> None:
    problem = make_problem(0, (2, 3), properties=1)
    network = Network((Linear(2, 3), ReLU()))
    margins = verifier.margins(network, problem.boxes, problem.properties)
    bounds = output_bounds(network, problem.boxes, problem.properties.regions)
    assert (bounds.lower >= 0).all()
    assert margins.shape == (3, 1, 2)


def test_inputs_of_another_length_raise() -> None:
    problem = make_problem(0, (2, 3))
    with pytest.raises(ShapeMismatch, match="inputs of length 2"):
        IntervalVerifier()(mlp(3, 3), Box.point(torch.zeros(1, 12, dtype=torch.float64)), problem.properties)


@pytest.mark.parametrize("verifier", VERIFIERS)
def test_pairs_are_the_diagonal_of_the_grid(verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(5, (4, 6, 6, 3), boxes=7, properties=7)
    safe = Safe(problem.network, problem.properties, verifier)
    grid = verifier.margins(problem.network, problem.boxes, problem.properties)
    paired = verifier.margins(problem.network, problem.boxes, problem.properties.each())
    torch.testing.assert_close(paired.squeeze(1), grid[range(7), range(7)], rtol=1e-12, atol=1e-12)
    monkeypatch.setattr("fedcert.verify.BATCH_ELEMENTS", 3 * problem.network.parameters)
    assert torch.equal(safe.pairs(problem.boxes), safe(problem.boxes).diagonal())


def test_any_of_proves_what_any_verifier_proves() -> None:
    problem = make_problem(7, (4, 8, 8, 3), boxes=20, properties=10, weight_radius=0.02, input_radius=0.05)
    arguments = (problem.network, problem.boxes, problem.properties)
    verdicts = [verifier(*arguments) for verifier in VERIFIERS]
    together = AnyOf(tuple(VERIFIERS))(*arguments)
    assert torch.equal(together, verdicts[0] | verdicts[1] | verdicts[2])
    assert (verdicts[2] & ~verdicts[1]).any()  # linear bounds see that neurons share their input


def test_safe_selects_properties_and_splits_long_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(5, (4, 6, 3), boxes=7, properties=5)
    safe = Safe(problem.network, problem.properties, MergedIntervalVerifier())
    whole = safe(problem.boxes)
    monkeypatch.setattr("fedcert.verify.BATCH_ELEMENTS", 2 * problem.network.parameters)
    assert torch.equal(safe(problem.boxes), whole)
    selected = torch.tensor([True, False, True, True, False])
    assert torch.equal(safe.only(selected)(problem.boxes), whole[:, selected])
    assert safe(problem.boxes[:0]).shape == (0, 5)
