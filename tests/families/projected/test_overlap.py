"""Constraints that are violated together: closed forms of two normals, draws, and what is charged."""

import math
from dataclasses import replace

import pytest
import torch
from dependent_problems import Structure, make_dependent
from torch import Tensor

from fedcert.families.projected import overlap as module
from fedcert.families.projected.chain import Federation, counted_twice
from fedcert.families.projected.choices import least_chained_violation
from fedcert.families.projected.layers import random_layers
from fedcert.families.projected.overlap import ALONE, Margins, overlap, shares, worth_sharing
from fedcert.laws import DenseGaussian
from fedcert.model.layers import Linear
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.numerics.enclosure import Enclosure
from fedcert.randomness import stream

FINE = 2e-3  # what cells of a shared normal lose, at most


def vector(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def tail(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2))


def two_normals(correlation: float, g: tuple[float, float]) -> Margins:
    """Two margins of deviation 1, known exactly."""
    K = vector(1.0, correlation, correlation, 1.0).view(1, 2, 2)
    ones = Enclosure.exactly(torch.ones(1, 2).double())
    return Margins(Enclosure.exactly(vector(*g).unsqueeze(0)), ones, K)


def counted(margins: Margins) -> float:
    return overlap(margins, shares(margins)).item()


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.5, 0.9, 0.999])
def test_two_normals_have_the_probability_of_an_orthant(correlation: float) -> None:
    """Both are negative with probability ¼ + arcsin(ρ)/2π."""
    exact = 0.25 + math.asin(correlation) / (2 * math.pi)
    found = counted(two_normals(correlation, (0.0, 0.0)))
    assert exact - 0.02 <= found <= exact
    assert correlation > 0.9 or exact - found < FINE


@pytest.mark.parametrize("g", [(1.0, 2.0), (0.5, -0.5), (-1.0, -2.0)])
def test_independent_normals_are_negative_together_as_often_as_a_product_says(
    g: tuple[float, float],
) -> None:
    exact = tail(g[0]) * tail(g[1])
    assert exact - FINE <= counted(two_normals(0.0, g)) <= exact


def test_margins_that_exclude_each_other_are_never_negative_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With correlation −1, g = 1 and 1 the two are not negative at once, whatever is said to be shared."""
    margins, claimed = two_normals(-1.0, (1.0, 1.0)), vector(0.5, 0.5).unsqueeze(0)
    assert counted(margins) == 0
    assert overlap(margins, claimed).item() == 0
    monkeypatch.setattr(module, "_allowed", lambda margins, chosen: torch.ones(1, dtype=torch.bool))
    assert overlap(margins, claimed).item() > 0.03


def test_cells_are_counted_from_where_they_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """The product at the other end of each cell would say too much."""
    margins = two_normals(0.5, (0.0, 0.0))
    exact, begins = 0.25 + math.asin(0.5) / (2 * math.pi), module._all_hold
    assert counted(margins) <= exact
    monkeypatch.setattr(module, "_all_hold", lambda g, c, a, b, t: begins(g, c, a, b, t + module.STEP))
    assert counted(margins) > exact


@pytest.mark.parametrize(
    ("changed", "value"),
    [("mean", math.nan), ("deviation", 0.0), ("covariance", math.nan), ("covariance", -math.inf)],
)
def test_what_is_not_known_counts_nothing(changed: str, value: float) -> None:
    margins = two_normals(0.5, (0.0, 0.0))
    known = {"mean": margins.mean, "deviation": margins.deviation, "covariance": margins.covariance}
    given = torch.full((1, 2), value).double()
    known[changed] = (
        torch.full((1, 2, 2), value).double() if changed == "covariance" else Enclosure(given, given)
    )
    found = Margins(**known)
    assert counted(found) == 0
    assert overlap(found, vector(0.5, 0.5).unsqueeze(0)).item() == 0


def test_shares_that_are_no_numbers_or_too_large_count_nothing() -> None:
    margins = two_normals(0.5, (0.0, 0.0))
    for claimed in ((math.nan, 0.5), (math.inf, 0.5), (0.9, 0.9), (1.1, 0.1), (ALONE, 0.5)):
        assert overlap(margins, vector(*claimed).unsqueeze(0)).item() == 0


def one_layer(*rows: tuple[float, ...]) -> tuple[Network, DenseGaussian]:
    """Outputs at the input 0 whose noise has these rows as its factor."""
    network = Network((Linear(1, len(rows)),))
    factor = torch.cat([torch.zeros(len(rows), len(rows[0])), torch.tensor(rows)]).double()
    return network, DenseGaussian(torch.zeros(len(factor)).double(), factor)


def violated(network: Network, law: DenseGaussian, d: Tensor) -> float:
    outputs = network.outputs
    layers = random_layers(network, law)
    there = Properties(Box.point(torch.zeros(1, 1).double()), torch.eye(outputs).double()[None], d[None])
    return least_chained_violation(Federation(layers, [layers]), there)[0].item()


def test_a_constraint_that_is_given_twice_is_paid_for_once() -> None:
    network, law = one_layer((1.0, 0.0), (1.0, 0.0))
    found = violated(network, law, vector(1.0, 1.0))
    assert tail(1.0) <= found <= tail(1.0) + FINE


def test_a_stricter_constraint_pays_for_another() -> None:
    network, law = one_layer((1.0, 0.5), (2.0, 1.0), (0.0, 1.0))
    strict = tail(0.5 / math.hypot(1.0, 0.5))
    assert strict <= violated(network, law, vector(0.5, 4.0, 8.0)) <= strict + FINE


def test_rows_that_differ_by_a_rounded_number_are_left_out() -> None:
    """1 − 2^-60 is no float: the noise of that row is not known, though it would not matter much."""
    rows, exact = module._differences(vector(1.0, 3.0).view(1, 2, 1), vector(2.0**-60, 1.0).view(1, 2, 1))
    assert rows.flatten().tolist() == [1.0, 2.0]
    assert exact.flatten().tolist() == [False, True]


@pytest.mark.parametrize("widths", [(3, 3), (3, 6, 4)])
@pytest.mark.parametrize("structure", ["last", "head", "kronecker"])
def test_draws_violate_together_at_least_as_often(widths: tuple[int, ...], structure: Structure) -> None:
    if structure == "kronecker" and len(widths) > 2:
        pytest.skip("all layers of that law are random")
    made = make_dependent(11, widths, 0.2, structure, radius=0.0, constraints=3)
    properties = made.properties(made.offsets(0.8))
    properties = replace(properties, C=(properties.C * 8).round() / 8)  # rows whose differences are floats
    law = made.rule.pushforward(made.laws)
    layers = random_layers(made.network, law)
    found, _ = counted_twice(Federation(layers, [layers]), properties, torch.ones_like(properties.d))
    theta = law.sample(40_000, stream(2, "draws"))
    outputs = made.network(theta, properties.regions.lower)
    margins = torch.einsum("prk,spk->spr", properties.C, outputs) + properties.d
    beyond_one = ((margins < 0).sum(-1) - 1).clamp(min=0).double()
    error = 5 * beyond_one.std(0) / len(theta) ** 0.5
    assert (found <= beyond_one.mean(0) + error + 1e-9).all()
    assert found.max() > 0


def test_only_what_may_be_counted_twice_is_looked_at() -> None:
    assert worth_sharing(vector(0.2, 0.1, 0.0).unsqueeze(0)).item()
    assert not worth_sharing(vector(0.2, 0.0, 0.0).unsqueeze(0)).item()
    assert not worth_sharing(torch.full((1, module.MAX_CONSTRAINTS + 1), 0.1).double()).item()
