"""The layers under sums of blocks: by parts, and by one covariance of all parameters, they agree."""

from pathlib import Path

import numpy as np
import pytest
import torch
from dependent_problems import STRUCTURES, Structure, make_dependent
from flint import arb
from problems import normal
from saved_certificates import certified, write

from fedcert.randomness import stream
from fedcert_check.balls import exact
from fedcert_check.blocks import DENSE, KRONECKER, Block, BlockGaussian
from fedcert_check.errors import InvalidCertificate
from fedcert_check.files import read
from fedcert_check.layers import Linear, Network, ReLU
from fedcert_check.projected.any_layer import Seen, joint_deviation
from fedcert_check.projected.block_laws import block_stack
from fedcert_check.projected.dependent import DependentLayer
from fedcert_check.projected.layers import RandomLayer
from fedcert_check.rules import LinearRule

MEMORY = 2**30
NETWORK = Network((Linear(2, 3), ReLU(), Linear(3, 2)))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_parts_and_one_covariance_have_the_same_deviations(structure: Structure, tmp_path: Path) -> None:
    """A block of almost nothing about all parameters makes one covariance of everything."""
    made = make_dependent(0, (2, 3, 2), 0.5, structure)
    properties = made.properties(made.offsets(3.0))
    path = write(tmp_path, made, properties, certified(made, properties, "direct"))
    document = read(path, path.parent.parent / "messages", MEMORY)
    laws = [client.law for client in document.clients]
    assert all(isinstance(law, BlockGaussian) for law in laws)
    tiny = Block(DENSE, 0, 17, 1, np.full(17, 1e-30))
    joined = [BlockGaussian(laws[0].loc, (*laws[0].blocks, tiny)), laws[1]]
    one, other = (block_stack(document.network, document.rule, own).layers for own in (laws, joined))
    assert all(isinstance(layer, DependentLayer) and layer.joint is not None for layer in other)
    generator = stream(1, "seen")
    seen = [
        Seen(exact(normal(generator, 3, m).numpy()), exact(normal(generator, k).numpy()))
        for k, m in ((2, 3), (3, 2))
    ]
    for a, b in zip(joint_deviation(one, seen), joint_deviation(other, seen), strict=True):
        assert abs(a - b) < arb(1e-12)


def test_layers_without_dependent_noise_are_random_layers() -> None:
    made = make_dependent(0, (2, 3, 2), 0.5, "mixed")
    law = made.laws[0]
    blocks = tuple(Block(own.code, own.start, *own.lengths, own.numbers().numpy()) for own in law.blocks)
    stated = BlockGaussian(law.loc.numpy(), blocks)
    first, last = block_stack(NETWORK, LinearRule("own", np.ones((1, 1))), [stated]).layers
    assert isinstance(first, RandomLayer)
    assert isinstance(last, DependentLayer)
    assert not first.fixed


def test_a_kronecker_block_elsewhere_is_refused() -> None:
    numbers = np.ones(4 + 4 + 4)
    law = BlockGaussian(np.zeros(17), (Block(3, 1, 2, 2, numbers),))
    with pytest.raises(InvalidCertificate, match="about the weight matrix"):
        block_stack(NETWORK, LinearRule("own", np.ones((1, 1))), [law])


def test_rules_weigh_clients_as_wholes() -> None:
    law = BlockGaussian(np.zeros(17), (Block(DENSE, 0, 17, 1, np.ones(17)),))
    weights = torch.ones(1, 17).double().numpy().copy()
    weights[0, 0] = 2.0
    with pytest.raises(InvalidCertificate, match="one weight a client"):
        block_stack(NETWORK, LinearRule("linear", weights), [law])


def test_a_kronecker_block_across_layers_joins_them() -> None:
    """One normal in b1 and in b2 adds up: its deviation is 2, and √2 only if the layers were independent.

    A dense block of almost nothing, about all parameters, is what lets it stand there.
    """
    network = Network((Linear(1, 1), ReLU(), Linear(1, 1)))
    left = np.array([[1.0, 0, 0], [0, 1, 0], [1, 0, 0]])  # b1 and b2 are rows 0 and 2
    numbers = np.concatenate([left.ravel(), [1.0], [1.0, 0, 0]])
    tiny = np.array([1e-9, 0, 0, 0])
    for scale in (1.0, 0.0):
        kronecker = Block(KRONECKER, 1, 3, 1, numbers * np.array([1.0] * 10 + [scale] * 3))
        law = BlockGaussian(np.zeros(4), (kronecker, Block(DENSE, 0, 4, 1, tiny)))
        layers = block_stack(network, LinearRule("own", np.ones((1, 1))), [law]).layers
        assert all(isinstance(layer, DependentLayer) for layer in layers)
        assert all((layer.joint is not None) == (scale > 0) for layer in layers)
        one = np.array([[1.0]])
        (found,) = joint_deviation(layers, [Seen(exact(one), exact(np.zeros(1))) for _ in layers])
        assert abs(found - 2 * scale) < arb(1e-12)
