"""Sums of blocks keep the contract of a law, and agree with the dense law of the same covariance."""

from pathlib import Path

import pytest
import torch
from dependent_problems import Structure, blocks
from law_contract import check_law
from problems import normal

from fedcert.errors import InvalidLaw, InvalidMessage
from fedcert.families.cells import Cells
from fedcert.laws import BlockGaussian, DenseBlock, DenseGaussian, DiagonalGaussian, KroneckerBlock
from fedcert.laws.affine import JoinedAffine, independent
from fedcert.laws.block_layers import Blocks
from fedcert.model.network import mlp
from fedcert.randomness import stream
from fedcert.rules import LinearRule
from fedcert.wire.message import Message

NETWORK = mlp(3, 4, 2)
N = NETWORK.parameters


def law(structure: Structure = "kronecker", seed: int = 0) -> BlockGaussian:
    generator = stream(seed, "block")
    return BlockGaussian(normal(generator, N), blocks(generator, NETWORK, structure))


def as_dense(own: BlockGaussian) -> DenseGaussian:
    return Blocks(own.loc, torch.zeros_like(own.loc), own.blocks, 0.0).dense()


@pytest.mark.parametrize("structure", ["kronecker", "mixed"])
def test_the_contract_of_a_law(structure: Structure) -> None:
    check_law(law(structure), NETWORK)


@pytest.mark.parametrize("structure", ["kronecker", "head", "mixed"])
def test_deviations_are_those_of_the_dense_covariance(structure: Structure) -> None:
    """To rounding; with two clients, whose Kronecker factors have no common basis."""
    laws, rule = [law(structure, seed) for seed in (0, 1)], LinearRule.fedavg([1, 2])
    dense = [as_dense(own) for own in laws]
    one, other = (rule.pushforward(own).layers(NETWORK) for own in (laws, dense))
    generator, u = stream(2, "rows"), torch.full((2,), 4.0, dtype=torch.float64)
    for mine, theirs in zip(one, other, strict=True):
        rows, h = normal(generator, 2, 5, mine.outputs), normal(generator, 2, mine.inputs)
        a, b = mine.noise(rows), theirs.noise(rows)
        assert torch.allclose(a.at(h), b.at(h), rtol=1e-9)
        assert torch.allclose(a.weight, b.weight, rtol=1e-9)
        assert torch.allclose(a.bias, b.bias, rtol=1e-9)
        assert (a.over(h.abs(), u) >= (1 - 1e-9) * b.at(h) - b.bias).all()
        assert torch.equal(mine.product(rows)[0], theirs.product(rows)[0])


def test_samples_have_the_covariance() -> None:
    own = law("mixed")
    covariance = as_dense(own).covariance.matrix
    drawn = own.sample(50_000, stream(1, "samples")) - own.loc
    deviation = covariance.diagonal().sqrt()
    apart = (drawn.mT @ drawn / len(drawn) - covariance) / deviation.outer(deviation)
    assert apart.abs().max() < 6 * (2 / len(drawn)) ** 0.5


def test_layers_without_dependent_noise_are_independent() -> None:
    first, last = law("head").layers(NETWORK)
    assert independent([first])
    assert first.fixed
    assert not last.independent
    first, last = law("mixed").layers(NETWORK)
    assert independent([first])
    assert not first.fixed
    diagonal = DiagonalGaussian(torch.zeros(N).double(), torch.ones(N).double())
    assert independent(BlockGaussian.of(diagonal).layers(NETWORK))


def test_diagonal_blocks_of_several_clients_are_one_diagonal_law() -> None:
    diagonal = [DiagonalGaussian(torch.zeros(N).double(), torch.full((N,), s).double()) for s in (0.3, 0.4)]
    laws = [BlockGaussian.of(own) for own in diagonal]
    rule = LinearRule(torch.ones(2, 1).double())
    first = rule.pushforward(laws).layers(NETWORK)[0]
    expected = rule.pushforward(diagonal).layers(NETWORK)[0]
    assert independent([first])
    assert torch.allclose(
        first.noise(torch.eye(4).double()[None]).weight, expected.noise(torch.eye(4).double()[None]).weight
    )


def test_a_dense_block_about_two_layers_joins_them() -> None:
    factor = normal(stream(0, "joined"), 8, 3)
    own = BlockGaussian(torch.zeros(N).double(), (DenseBlock(12, factor), *law("head").blocks))
    assert all(isinstance(layer, JoinedAffine) for layer in own.layers(NETWORK))


def test_a_kronecker_block_is_about_a_weight_matrix() -> None:
    eye = torch.eye(3).double()
    misplaced = KroneckerBlock(1, eye, eye, torch.ones(3, 3).double())
    with pytest.raises(InvalidLaw, match="about the weight matrix"):
        BlockGaussian(torch.zeros(N).double(), (misplaced,)).layers(NETWORK)
    turned = KroneckerBlock(0, torch.eye(3).double(), torch.eye(4).double(), torch.ones(3, 4).double())
    with pytest.raises(InvalidLaw, match=r"a Kronecker block of \(3, 4\)"):
        BlockGaussian(torch.zeros(N).double(), (turned,)).layers(NETWORK)


def test_a_block_beyond_the_parameters_is_refused() -> None:
    with pytest.raises(InvalidLaw, match="a block of the parameters 25 to 26, but there are 26"):
        BlockGaussian(torch.zeros(N).double(), (DenseBlock(25, torch.ones(2, 1).double()),))


def test_a_message_states_it_and_refuses_what_a_rule_cannot_be_trusted_with(tmp_path: Path) -> None:
    message = Message("a", law(), Cells.none(N), 1)
    message.save(tmp_path / "a.safetensors")
    again = Message.load(tmp_path / "a.safetensors")
    assert again.digest == message.digest
    scale = torch.full((4, 3), 1e-60, dtype=torch.float64)
    tiny = KroneckerBlock(0, torch.eye(4).double(), torch.eye(3).double(), scale)
    with pytest.raises(InvalidMessage, match=r"law\.numbers"):
        Message("a", BlockGaussian(torch.zeros(N).double(), (tiny,)), Cells.none(N), 1)


def test_a_law_with_an_error_is_not_stated() -> None:
    with pytest.raises(InvalidLaw, match="exactly"):
        LinearRule.fedavg([1]).pushforward([law()]).tensors()


def test_noise_that_underflows_in_a_joined_law_is_refused() -> None:
    """U V would be 0, and D U V is 1e-226: a 0 says that a layer is fixed."""
    one = torch.ones(1, 1, dtype=torch.float64)
    own = BlockGaussian(
        torch.zeros(1).double(), (KroneckerBlock(0, 1e-163 * one, 1e-163 * one, 1e100 * one),)
    )
    with pytest.raises(InvalidLaw, match="too small for double precision"):
        as_dense(own)
    none = BlockGaussian(torch.zeros(1).double(), (KroneckerBlock(0, 0 * one, 1e-163 * one, 1e100 * one),))
    assert not as_dense(none).factor.any()
