import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.distributions import Normal, kl_divergence
from torch.nn.functional import softplus

from fedcert.data.dataset import Split
from fedcert.data.digits import digits
from fedcert.errors import DataError
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.randomness import stream
from fedcert.training.bayes_by_backprop import BayesByBackprop

NETWORK = mlp(64, 16, 10)
INITIAL = NETWORK.initialise(stream(0, "initialisation"))


@pytest.fixture(scope="module")
def splits() -> tuple[Split, Split]:
    return digits().subset(800, 300, stream(0, "subset"))


def train(split: Split, method: BayesByBackprop, seed: int = 0) -> DiagonalGaussian:
    return method(NETWORK, split.x.float(), split.label, INITIAL, stream(seed, "training"))


def accuracy(law: DiagonalGaussian, split: Split) -> float:
    return (NETWORK(law.loc, split.x).argmax(-1) == split.label).double().mean().item()


def divergence_from_prior(law: DiagonalGaussian) -> float:
    return kl_divergence(Normal(law.loc, law.scale), Normal(0.0, 1.0)).sum().item()


def test_training_learns_the_digits_and_more_epochs_learn_more(splits: tuple[Split, Split]) -> None:
    short, long = (
        accuracy(train(splits[0], BayesByBackprop(epochs, batch_size=64, learning_rate=1e-2)), splits[1])
        for epochs in (1, 10)
    )
    chance = 0.1
    assert short > 2 * chance
    assert long > 0.8
    assert long > short + 0.05


def test_the_generator_decides_the_law(splits: tuple[Split, Split]) -> None:
    same, again, other = (train(splits[0], BayesByBackprop(1), seed) for seed in (0, 0, 1))
    assert torch.equal(same.loc, again.loc)
    assert torch.equal(same.scale, again.scale)
    assert not torch.equal(same.loc, other.loc)


def test_training_neither_reads_nor_moves_the_global_generator(splits: tuple[Split, Split]) -> None:
    state = torch.get_rng_state()
    law = train(splits[0], BayesByBackprop(1))
    assert torch.equal(torch.get_rng_state(), state)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        assert torch.equal(train(splits[0], BayesByBackprop(1)).loc, law.loc)


def test_the_shared_initialisation_is_left_as_it_was(splits: tuple[Split, Split]) -> None:
    before = INITIAL.clone()
    train(splits[0], BayesByBackprop(1))
    assert torch.equal(INITIAL, before)
    assert not INITIAL.requires_grad


@pytest.mark.parametrize("rho", [-5.0, -2.0])
def test_the_law_starts_at_the_initialisation_with_scale_softplus_rho(
    splits: tuple[Split, Split], rho: float
) -> None:
    law = train(splits[0], BayesByBackprop(epochs=0, initial_rho=rho))
    assert torch.equal(law.loc, INITIAL.double())
    assert torch.allclose(law.scale, softplus(torch.tensor(rho, dtype=torch.float64)), rtol=1e-6)


def test_the_default_scale_stays_near_its_start(splits: tuple[Split, Split]) -> None:
    scale = train(splits[0], BayesByBackprop()).scale
    assert scale.mean().item() == pytest.approx(softplus(torch.tensor(-5.0)).item(), rel=0.2)


@given(
    parameters=st.lists(st.tuples(st.floats(-5, 5), st.floats(1e-3, 10)), min_size=1, max_size=8),
    prior_scale=st.floats(0.1, 10),
)
@settings(deadline=None)
def test_the_divergence_is_torchs(parameters: list[tuple[float, float]], prior_scale: float) -> None:
    mean, scale = torch.tensor(parameters, dtype=torch.float64).unbind(-1)
    prior = Normal(torch.zeros_like(mean), torch.full_like(mean, prior_scale))
    expected = kl_divergence(Normal(mean, scale), prior).sum()
    actual = BayesByBackprop(prior_scale=prior_scale).divergence(mean, scale)
    assert actual.item() == pytest.approx(expected.item(), rel=1e-9, abs=1e-9)


def test_a_larger_kl_coefficient_pulls_the_law_toward_the_prior(splits: tuple[Split, Split]) -> None:
    laws = [
        train(splits[0], BayesByBackprop(4, batch_size=64, learning_rate=2e-2, kl_coefficient=coefficient))
        for coefficient in (0.0, 1e-2, 1.0)
    ]
    divergences = [divergence_from_prior(law) for law in laws]
    assert divergences == sorted(divergences, reverse=True)
    assert divergences[0] > 1.1 * divergences[-1]
    assert laws[-1].scale.mean() > 1.2 * laws[0].scale.mean()
    assert laws[-1].loc.norm() < 0.9 * laws[0].loc.norm()


def test_a_client_without_examples_cannot_train(splits: tuple[Split, Split]) -> None:
    with pytest.raises(DataError, match="without examples"):
        train(splits[0][torch.arange(0)], BayesByBackprop())


@pytest.mark.parametrize("prior_scale", [1.0, 0.3])
@pytest.mark.parametrize("shape", [(1003,), (3, 1003)])
def test_gradients_are_those_of_the_divergence_to_the_last_bit(
    shape: tuple[int, ...], prior_scale: float
) -> None:
    generator = stream(0, "gradients")
    method = BayesByBackprop(prior_scale=prior_scale, kl_coefficient=0.01)
    mean, rho, noise = (torch.randn(shape, generator=generator).requires_grad_() for _ in range(3))

    def loss(theta: torch.Tensor) -> torch.Tensor:
        return theta.sin().sum()

    scale = softplus(rho)
    whole = loss(mean + scale * noise) + method.kl_coefficient * method.divergence(mean, scale)
    expected = torch.autograd.grad(whole, (mean, rho))
    found = method.gradients(loss, mean, rho, noise)
    assert all(torch.equal(own, other) for own, other in zip(found, expected, strict=True))
