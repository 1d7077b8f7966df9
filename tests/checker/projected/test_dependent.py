"""Layers whose parameters depend on each other, against rational arithmetic."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import torch
from balls import dyadic
from dependent_problems import Structure, make_dependent
from federated_problems import Federated
from flint import arb
from problems import normal

from fedcert.errors import InvalidCertificate
from fedcert.laws import DenseGaussian as Fast
from fedcert.randomness import stream
from fedcert_check.balls import exact
from fedcert_check.blocks import BlockGaussian
from fedcert_check.layers import Linear, Network, ReLU
from fedcert_check.masses import Gaussian
from fedcert_check.projected.any_layer import Seen, joint_deviation
from fedcert_check.projected.block_laws import block_stack
from fedcert_check.projected.exact import Choices, Region, violation
from fedcert_check.projected.layers import Unproven
from fedcert_check.rules import LinearRule

NETWORK = Network((Linear(2, 3), ReLU(), Linear(3, 2)))
RULE = LinearRule("linear", np.array([[0.75], [-0.5]]), None)


def dyadics(values: torch.Tensor) -> np.ndarray:
    """Numbers of few digits, so that rational arithmetic stays small."""
    return ((values * 64).round() / 64).numpy()


def made(structure: Structure = "joined") -> tuple[Federated, list[BlockGaussian]]:
    problem = make_dependent(0, (2, 3, 2), 1.0, structure)
    laws = [
        BlockGaussian.of_factor(dyadics(law.loc), dyadics(law.factor))
        for law in problem.laws
        if isinstance(law, Fast)
    ]
    return problem, laws


def exact_covariance(laws: list[BlockGaussian]) -> np.ndarray:
    fractions = np.vectorize(Fraction, otypes=[object])
    parts = [
        fractions(w * law.blocks[0].matrix) for (w,), law in zip(RULE.weights.tolist(), laws, strict=True)
    ]
    return sum(part @ part.T for part in parts)


def encloses(ball: arb, number: Fraction) -> bool:
    return bool((ball * ball).contains(dyadic(number)))


def seen() -> list[Seen]:
    generator = stream(1, "seen")
    return [
        Seen(exact(dyadics(normal(generator, 3, m))), exact(dyadics(normal(generator, k))))
        for k, m in ((2, 3), (3, 2))
    ]


def coefficients(parts: list[Seen]) -> list[np.ndarray]:
    """c of each row, in fractions."""
    rows = []
    for r in range(3):
        c: list[Fraction] = []
        for part in parts:
            B = [Fraction(float(v)) for v in part.rows[r]]
            h = [Fraction(float(v)) for v in part.inputs]
            c += [b * x for b, x in product(B, h)] + B
        rows.append(np.array(c, dtype=object))
    return rows


@pytest.mark.parametrize("structure", ["joined", "layers", "last"])
def test_deviations_of_sums_enclose_the_exact_ones(structure: Structure) -> None:
    _, laws = made(structure)
    layers = block_stack(NETWORK, RULE, laws).layers
    assert all((layer.joint is not None) == (structure == "joined") for layer in layers)
    covariance = exact_covariance(laws)
    for count in (1, 2):
        parts = seen()[:count]
        found = joint_deviation(layers, parts)
        for ball, c in zip(found, coefficients(parts), strict=True):
            n = len(c)
            assert encloses(ball, c @ covariance[:n, :n] @ c)


def test_deviations_of_single_inputs_enclose_the_exact_ones() -> None:
    _, laws = made()
    first, covariance = block_stack(NETWORK, RULE, laws).layers[0], exact_covariance(laws)
    rows = seen()[0].rows
    for r, k in product(range(3), range(2)):
        c = np.array([Fraction(0)] * 6, dtype=object)
        c[k::2] = [Fraction(float(v)) for v in rows[r]]
        assert encloses(first.deviations(rows)[r, k], c @ covariance[:6, :6] @ c)


def test_the_steepest_bound_is_above_all_corners() -> None:
    _, laws = made()
    first, covariance = block_stack(NETWORK, RULE, laws).layers[0], exact_covariance(laws)
    rows, delta = seen()[0].rows, [Fraction(1, 4), Fraction(3, 2)]
    found = first.steepest(rows, np.array([dyadic(d) for d in delta], dtype=object))
    for r, signs in product(range(3), product((-1, 1), repeat=2)):
        v = [s * d for s, d in zip(signs, delta, strict=True)]
        c = np.array([Fraction(float(b)) * x for b in rows[r] for x in v], dtype=object)
        assert (found[r] ** 2).upper() >= dyadic(c @ covariance[:6, :6] @ c)


def test_a_client_with_independent_parameters_adds_to_the_diagonal() -> None:
    _, (dense, _) = made()
    scale = exact(np.full(17, 0.5))
    with_diagonal = block_stack(NETWORK, RULE, [dense, Gaussian(exact(np.zeros(17)), scale)]).layers
    alone = block_stack(NETWORK, LinearRule("own", np.array([[0.75]])), [dense]).layers
    added = with_diagonal[0].parts[0].covariance[0, 0] - alone[0].parts[0].covariance[0, 0]
    assert added.contains(arb(1) / 16)
    assert (with_diagonal[0].parts[0].covariance[0, 1] - alone[0].parts[0].covariance[0, 1]).contains(0)


def test_scales_that_print_alike_have_covariances_of_their_own() -> None:
    """What is remembered of one law is not used for another one."""
    _, (dense, _) = made()
    near = [0.5, np.nextafter(0.5, 1.0)]
    found = [
        block_stack(NETWORK, RULE, [dense, Gaussian(exact(np.zeros(17)), exact(np.full(17, s)))]).layers
        for s in near
    ]
    assert not found[0][0].parts[0].covariance[0, 0].overlaps(found[1][0].parts[0].covariance[0, 0]) or (
        found[0][0].parts[0].covariance[0, 0].rad() > 2.0**-52
    )


def test_fixed_layers_are_known_to_be() -> None:
    _, laws = made("last")
    first, last = block_stack(NETWORK, RULE, laws).layers
    assert (first.fixed, first.fixed_weights) == (True, True)
    assert (last.fixed, last.fixed_weights) == (False, False)
    assert last.joint is None


def test_weights_for_each_parameter_are_refused() -> None:
    _, laws = made()
    weights = np.ones((2, 17))
    weights[0, 3] = 0.5
    with pytest.raises(InvalidCertificate, match="one weight a client"):
        block_stack(NETWORK, LinearRule("linear", weights), laws)


def test_the_exact_method_proves_nothing_of_dependent_parameters() -> None:
    _, laws = made("layers")
    layers = block_stack(NETWORK, RULE, laws).layers
    region = Region.of(np.zeros(2), np.zeros(2), np.ones((1, 2)), np.array([100.0]))
    half = np.full(2, 0.5)
    choices = Choices(half[:1], half, half, [np.zeros(3, dtype=np.int8)], *[[]] * 7)
    with pytest.raises(Unproven, match="independent"):
        violation(layers, region, choices)
