import pytest
import torch

from fedcert.data.dataset import Split
from fedcert.data.digits import digits
from fedcert.errors import InvalidConfig
from fedcert.laws import GaussianMixture
from fedcert.model.network import mlp
from fedcert.randomness import stream
from fedcert.training.ensemble import Ensemble
from fedcert.training.laplace import Laplace
from fedcert.training.protocol import Trainer

NETWORK = mlp(64, 16, 10)
INITIAL = NETWORK.initialise(stream(0, "initialisation"))
MEMBER = Laplace(epochs=20, batch_size=64, learning_rate=1e-2)


@pytest.fixture(scope="module")
def split() -> Split:
    return digits().subset(400, 100, stream(0, "subset"))[0]


def train(split: Split, members: int, seed: int = 0) -> GaussianMixture:
    own = stream(seed, "training")
    return Ensemble(MEMBER, members)(NETWORK, split.x.float(), split.label, INITIAL, own)


def test_members_differ_and_more_of_them_leave_the_first_as_they_are(split: Split) -> None:
    two, three = train(split, 2), train(split, 3)
    assert three.weights.tolist() == [1.0, 1.0, 1.0]
    assert len({tuple(own.loc.tolist()) for own in three.components}) == 3
    for one, other in zip(two.components, three.components, strict=False):
        assert torch.equal(one.loc, other.loc)
        assert torch.equal(one.scale, other.scale)
    alone = MEMBER(NETWORK, split.x.float(), split.label, INITIAL, stream(0, "training"))
    assert torch.equal(three.components[0].loc, alone.loc)
    assert not torch.equal(train(split, 1, seed=1).loc, alone.loc)


def test_members_can_be_averaged(split: Split) -> None:
    """They started together: the network of mean parameters is about as good as they are."""
    law = train(split, 2)

    def accuracy(theta: torch.Tensor) -> float:
        return (NETWORK(theta, split.x).argmax(-1) == split.label).double().mean().item()

    assert accuracy(law.loc) > min(accuracy(own.loc) for own in law.components) - 0.05
    assert accuracy(law.loc) > 0.7


def test_an_ensemble_has_members() -> None:
    with pytest.raises(InvalidConfig, match="members: an ensemble needs at least one, not 0"):
        Ensemble(MEMBER, 0)
    assert isinstance(Ensemble(MEMBER), Trainer)
