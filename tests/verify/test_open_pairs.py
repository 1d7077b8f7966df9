import pytest
import torch
from problems import normal, uniform

from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.verify.attack import ProjectedGradient, least_margin
from fedcert.verify.open_pairs import OpenPairs, packed

NETWORK = mlp(3, 6, 2)


def make_problem(seed: int) -> tuple[torch.Tensor, Properties]:
    generator = stream(seed, "pairs")
    theta, x = normal(generator, 9, NETWORK.parameters), normal(generator, 7, 3)
    C = normal(generator, 7, 2, 2)
    d = torch.einsum("prk,bpk->bpr", C, NETWORK(theta, x)).std(0)
    return theta, Properties(Box.around(x, 0.3 * uniform(generator, 7, 3)), C, d)


@pytest.mark.parametrize("seed", range(6))
def test_packing_an_attack_changes_no_verdict(seed: int) -> None:
    theta, properties = make_problem(seed)
    tried = uniform(stream(seed, "tried"), 9, 7) < 0.6
    attack = ProjectedGradient()
    survived = attack(NETWORK, theta, properties)[1] >= 0
    assert torch.equal(attack.survives(NETWORK, theta, properties), survived)
    assert torch.equal(attack.survives(NETWORK, theta, properties, tried), survived & tried)
    assert 0.1 < survived.double().mean() < 0.9


def test_pairs_keep_their_places_when_some_drop_out() -> None:
    theta, properties = make_problem(0)
    generator = stream(1, "kept")
    open_ones = uniform(generator, 9, 7) < 0.8
    open_ones[4] = False
    pairs = OpenPairs.of(theta, properties, open_ones)
    for share in (0.9, 0.5, 0.1, 0.0):
        x = (properties.regions.lower + properties.regions.upper) / 2
        margin, _ = pairs.margin_and_gradient(NETWORK)
        rows, columns = pairs.places
        found = torch.zeros(9, 7, dtype=torch.bool)
        found[rows, columns] = True
        assert torch.equal(found, open_ones)
        expected = least_margin(NETWORK, theta, x, properties)
        assert torch.allclose(margin[pairs.used], expected[rows, columns])
        kept = uniform(generator, *pairs.used.shape) < share
        dropped = pairs.used & ~kept
        open_ones[pairs.rows[:, None].expand_as(dropped)[dropped], pairs.columns[dropped]] = False
        pairs = pairs.only(kept)
    assert len(pairs.rows) == 0


def test_packing_puts_pairs_first_and_in_order() -> None:
    rows, places, used = packed(torch.tensor([[0, 1, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0]]).bool())
    assert rows.tolist() == [0, 2]
    assert places[0].tolist() == [1, 3]
    assert places[1, 0] == 2
    assert used.tolist() == [[True, True], [True, False]]
