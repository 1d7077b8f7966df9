"""A dense Gaussian keeps the contract of a law, and agrees with a diagonal one where it is one."""

import pytest
import torch
from law_contract import check_law
from problems import normal, uniform

from fedcert.errors import InvalidLaw, InvalidMessage
from fedcert.families.cells import Cells
from fedcert.laws import DenseGaussian, DiagonalGaussian
from fedcert.laws.affine import JoinedAffine, independent
from fedcert.model.network import mlp
from fedcert.randomness import stream
from fedcert.wire.message import Message

NETWORK = mlp(3, 4, 2)
SIZES = (16, 10)


def law(seed: int = 0, columns: int = 26) -> DenseGaussian:
    generator = stream(seed, "dense")
    return DenseGaussian(normal(generator, 26), normal(generator, 26, columns) / columns**0.5)


@pytest.mark.parametrize("columns", [1, 5, 26, 60])
def test_the_contract_of_a_law(columns: int) -> None:
    check_law(law(columns=columns), NETWORK)


def test_samples_have_the_covariance() -> None:
    own = law()
    drawn = own.sample(50_000, stream(1, "samples")) - own.loc
    deviation = own.covariance.matrix.diagonal().sqrt()
    apart = (drawn.mT @ drawn / len(drawn) - own.covariance.matrix) / deviation.outer(deviation)
    assert apart.abs().max() < 6 * (2 / len(drawn)) ** 0.5


def test_layers_are_joined_only_if_a_normal_has_a_part_in_several() -> None:
    blocks = torch.block_diag(*(normal(stream(2, "blocks"), size, size) for size in SIZES))
    apart = DenseGaussian(torch.zeros(26).double(), blocks)
    assert not any(isinstance(layer, JoinedAffine) for layer in apart.layers(NETWORK))
    assert not independent(apart.layers(NETWORK))
    blocks[0, -1] = 1e-20
    joined = DenseGaussian(torch.zeros(26).double(), blocks)
    assert all(isinstance(layer, JoinedAffine) for layer in joined.layers(NETWORK))


def test_fixed_layers_are_known_to_be() -> None:
    factor = torch.zeros(26, 26).double()
    factor[-2:, -2:] = torch.eye(2)
    first, last = DenseGaussian(torch.zeros(26).double(), factor).layers(NETWORK)
    assert (first.fixed, first.fixed_weights, last.fixed, last.fixed_weights) == (True, True, False, True)


def test_a_diagonal_law_has_a_factor() -> None:
    generator = stream(3, "diagonal")
    diagonal = DiagonalGaussian(normal(generator, 26), 0.1 + uniform(generator, 26))
    dense, rows, h = DenseGaussian.of(diagonal), normal(generator, 2, 3, 4), normal(generator, 2, 3)
    one, other = diagonal.layers(NETWORK)[0].noise(rows), dense.layers(NETWORK)[0].noise(rows)
    u = torch.full((2,), 4.0, dtype=torch.float64)
    for a, b in ((one.at(h), other.at(h)), (one.over(h.abs(), u), other.over(h.abs(), u))):
        assert torch.allclose(a, b, rtol=1e-9, atol=0)


@pytest.mark.parametrize(
    ("loc", "factor", "said"),
    [
        ([0.0], [[float("nan")]], "an entry of the factor"),
        ([0.0], [[1e-200]], "an entry of the factor"),
        ([0.0], [[1e200]], "an entry of the factor"),
        ([float("inf")], [[1.0]], "the mean must be finite"),
        ([0.0, 0.0], [[1.0]], "not \\(n_w,\\) and \\(n_w, q\\)"),
        ([0.0], [1.0], "not \\(n_w,\\) and \\(n_w, q\\)"),
    ],
)
@pytest.mark.usefixtures("without_annotations")
def test_what_is_no_law_is_refused(loc: list, factor: list, said: str) -> None:
    with pytest.raises(InvalidLaw, match=said):
        DenseGaussian(loc, factor)


def test_a_message_refuses_factors_that_a_rule_cannot_be_trusted_with() -> None:
    with pytest.raises(InvalidMessage, match=r"client a: law\.factor: .* outside what a rule can be trusted"):
        Message(
            "a",
            DenseGaussian(torch.zeros(1).double(), torch.full((1, 1), 1e-60, dtype=torch.float64)),
            Cells.none(1),
            1,
        )


def test_a_covariance_that_would_fill_the_memory_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedcert.laws.dense.MAX_DENSE", 25)
    with pytest.raises(InvalidLaw, match="a covariance of 26 parameters"):
        law().layers(NETWORK)
