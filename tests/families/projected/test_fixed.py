"""Networks of which only a part is random: closed forms, samples, and events that cost nothing."""

import math
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import normal, vector
from torch import Tensor

from fedcert.certificate import Certificate, clopper_pearson
from fedcert.families.problem import Problem
from fedcert.families.projected import split
from fedcert.families.projected.bound import violation
from fedcert.families.projected.chain import Federation, chained_violation
from fedcert.families.projected.direct import certify_projected_directly, certify_projected_locally
from fedcert.families.projected.layers import random_layers
from fedcert.families.projected.split import uniform_split
from fedcert.families.projected.spread import concentration, concentration_width
from fedcert.families.projected.transported import certify_projected, client_layers
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import LinearRule

pytestmark = pytest.mark.slow

ALONE = LinearRule.fedavg([1])
FAR = 2.0**-900
ROUNDED = 1e-14


@pytest.fixture(autouse=True)
def hardly_any_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any split will do here."""
    monkeypatch.setattr(split, "GOOD_ENOUGH", 1.0)


@dataclass(frozen=True)
class Partly:
    """A network at one input, with one constraint: which of its parameters are random."""

    network: Network
    loc: Tensor
    x: Tensor
    C: Tensor

    @classmethod
    def make(cls, seed: int, widths: tuple[int, ...]) -> "Partly":
        generator, network = stream(seed, "partly"), mlp(*widths)
        loc = normal(generator, network.parameters)
        return cls(network, loc, normal(generator, 1, widths[0]), normal(generator, 1, 1, widths[-1]))

    def margin(self, theta: Tensor) -> Tensor:
        """C f_θ(x)."""
        return self.network(theta, self.x).squeeze(-2) @ self.C[0, 0]

    def problem(self, scale: Tensor, d: float, radius: float = 0.0, clients: int = 1) -> Problem:
        laws = tuple(DiagonalGaussian(self.loc, scale) for _ in range(clients))
        properties = Properties(Box.around(self.x, radius), self.C, vector(d).unsqueeze(0))
        return Problem(self.network, properties, laws, LinearRule.fedavg([1] * clients))

    def tensors(self) -> list[int]:
        """The number of entries of W_1, b_1, W_2, …"""
        return [math.prod(shape) for layer in self.network.layers for shape in layer.shapes]

    def scale(self, random: str, scale: float) -> Tensor:
        """A scale for each tensor: a letter r for a random one, any other for a fixed one."""
        parts = zip(self.tensors(), random, strict=True)
        return torch.cat([torch.full((n,), scale if own == "r" else 0.0).double() for n, own in parts])


def certificates(problem: Problem) -> list[Certificate]:
    return [
        certify_projected_directly(problem),
        certify_projected_locally(problem),
        certify_projected(problem),
    ]


@pytest.mark.parametrize("radius", [0.0, 1e-3])
@pytest.mark.parametrize("widths", [(3, 2), (3, 4, 2), (3, 4, 4, 2)])
def test_where_nothing_is_random_bounds_are_zero_or_one(widths: tuple[int, ...], radius: float) -> None:
    made = Partly.make(1, widths)
    nothing = torch.zeros_like(made.loc)
    value = made.margin(made.loc).item()
    for room, safe in ((0.3, True), (-0.3, False)):
        direct, *others = certificates(made.problem(nothing, room - value, radius, 2))
        assert direct.upper is not None
        if safe:
            assert min(one.lower.item() for one in (direct, *others)) >= 1 - ROUNDED
            assert direct.upper.item() == 1
        else:
            assert all(one.lower.item() == 0 for one in (direct, *others))
            assert direct.upper.item() <= ROUNDED


@pytest.mark.parametrize("widths", [(1, 1), (1, 1, 1), (1, 1, 1, 1)])
@pytest.mark.parametrize("d", [0.0, math.ulp(0.0), -math.ulp(0.0)])
def test_a_tie_of_a_fixed_network_is_safe_and_no_upper_bound_denies_it(widths: tuple, d: float) -> None:
    """All weights and biases are 0: the margin is d. With a density, a tie would have probability 0."""
    network = mlp(*widths)
    law = DiagonalGaussian(*torch.zeros(2, network.parameters).double())
    properties = Properties(
        Box.point(torch.ones(1, 1).double()), torch.ones(1, 1, 1).double(), vector(d)[None]
    )
    found = certify_projected_directly(Problem(network, properties, (law,), ALONE))
    assert found.upper is not None
    safe = float(d >= 0)
    assert found.lower.item() <= safe <= found.upper.item()


@pytest.mark.parametrize("neuron", range(3))
@pytest.mark.parametrize("place", ["input weight", "hidden bias", "output weight", "output bias"])
def test_one_random_parameter_has_the_probability_of_its_closed_form(place: str, neuron: int) -> None:
    """The margin is c + A relu(a) with a = α + β Z, or Gaussian: either is one normal probability or two."""
    made = Partly.make(3 + neuron, (2, 3, 1))
    which = {"input weight": 2 * neuron, "hidden bias": 6 + neuron, "output weight": 9 + neuron}
    index, sigma = which.get(place, 12), 0.4
    scale = torch.zeros_like(made.loc)
    scale[index] = sigma
    z = torch.linspace(-9, 9, 180_001, dtype=torch.float64)
    theta = made.loc.repeat(len(z), 1)
    theta[:, index] += sigma * z
    margins = made.margin(theta)
    density = torch.exp(-z * z / 2) * (z[1] - z[0]) / math.sqrt(2 * math.pi)
    for d in (-margins[90_000 + 15_000].item(), -margins[90_000 - 12_000].item(), 0.05 - margins[0].item()):
        truth = density[margins + d >= 0].sum().item()
        found = certify_projected_directly(made.problem(scale, d))
        assert found.upper is not None
        assert found.lower.item() <= truth + 1e-4
        assert found.upper.item() >= truth - 1e-4
        if place.startswith("output") and margins.std() > 1e-9:  # then the form is a Gaussian
            assert found.lower.item() >= truth - 1e-4
            assert found.upper.item() <= truth + 1e-4


@pytest.mark.parametrize(
    "random", ["ffrr", "rrff", "rfrf", "frfr", "fffr", "rfff", "rrfr", "ffffrr", "rrffff", "rfrfrf"]
)
def test_samples_never_contradict_the_bounds(random: str) -> None:
    made = Partly.make(len(random), (2, *[4] * (len(random) // 2 - 1), 2))
    scale = made.scale(random, 0.1)
    law = DiagonalGaussian(made.loc, scale / math.sqrt(2))  # of the mean of two clients
    margins = made.margin(law.sample(20_000, stream(0, "fixed")))
    for share in (0.02, 0.3, 0.8):
        d = -margins[:10_000].quantile(share).item()
        holds = int((margins[10_000:] + d >= 0).sum())
        least, most = clopper_pearson(holds, 10_000, 1 - 1e-7)
        direct, _, transported = certificates(made.problem(scale, d, clients=2))
        assert direct.upper is not None
        assert max(direct.lower.item(), transported.lower.item()) <= most
        assert direct.upper.item() >= least


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.lists(st.booleans(), min_size=17, max_size=17))
def test_a_fixed_parameter_is_as_good_as_one_of_a_tiny_scale(seed: int, pattern: list[bool]) -> None:
    """Bounds of a law with zeros are those of a law with next to zeros, or better: fewer events can fail."""
    made, random = Partly.make(seed, (2, 3, 2)), torch.tensor(pattern)
    scale = 0.2 * random.double()
    spread = made.margin(DiagonalGaussian(made.loc, scale).sample(200, stream(seed, "fixed")))
    d = (2 * spread.std() + 0.1 - spread.mean()).item()
    fixed, tiny = (
        certify_projected_locally(made.problem(own, d, 1e-3)) for own in (scale, scale.clamp(min=1e-40))
    )
    assert fixed.lower.item() >= tiny.lower.item() - 1e-3


def test_layers_with_known_weights_pay_for_no_events() -> None:
    made, (ranges, movement, deviation) = Partly.make(5, (2, 3, 4, 5, 2)), (1e-7, 1e-9, 1e-11)
    moving, deviating = concentration(concentration_width(vector(movement, deviation))).upper.tolist()
    for random, due in (
        ("ffffffff", 0.0),
        ("frfrfrfr", 4 * (2 * ranges + deviation) + 5 * (2 * ranges + deviation)),
        ("ffffffrf", 3 * moving + deviating),
        ("rfffffff", 3 * moving + 9 * (4 * moving + 2 * ranges + deviation) + moving),
    ):
        layers = random_layers(made.network, DiagonalGaussian(made.loc, made.scale(random, 1e3)))
        properties = made.problem(made.scale(random, 1e3), 0.0, 0.1).properties
        found = violation(
            layers, properties, uniform_split(layers, properties, (ranges, movement, deviation))
        )
        paid = found.events.item()
        assert paid <= due * (1 + 1e-9) + FAR
        if random in ("ffffffff", "ffffffrf"):
            assert paid >= due * (1 - 1e-9)


@pytest.mark.parametrize(
    ("random", "sides", "events"),
    [("ffffff", 0, 0), ("rfffff", 3 * 3 + 4 * 3 * 2, 3 * 3 + 4 * 3 + 1), ("ffffrf", 0, 3 + 1 * 2)],
)
def test_chains_through_known_weights_pay_for_no_events(random: str, sides: int, events: int) -> None:
    """Sides cost twice as much beyond the first layer."""
    made, failure = Partly.make(6, (2, 3, 4, 2)), 1e-7
    problem = made.problem(made.scale(random, 0.1), 1.0, 0.1, 2)
    federation = client_layers(problem.laws, problem.rule, made.network, problem.deployed)
    ones = torch.ones(1, dtype=torch.float64)
    kappa = -torch.special.ndtri(failure * ones)
    found = chained_violation(federation, problem.properties, kappa, failure * ones)
    event = concentration(concentration_width(failure * ones)).upper.item()
    assert found.events.item() == pytest.approx(sides * failure + events * event, rel=1e-6, abs=FAR)


def test_a_client_without_weight_has_no_share_of_the_noise() -> None:
    made = Partly.make(7, (2, 3, 2))
    problem = made.problem(made.scale("rrrr", 0.1), 1.0, clients=2)
    rule = LinearRule(vector(1.0, 0.0).unsqueeze(-1))
    federation = client_layers(problem.laws, rule, made.network, rule.pushforward(problem.laws))
    assert [own[0].fixed for own in federation.clients] == [False, True]
    assert isinstance(federation, Federation)
