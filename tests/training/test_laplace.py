import pytest
import torch

from fedcert.data.dataset import Split
from fedcert.data.digits import digits
from fedcert.errors import DataError, InvalidConfig
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.randomness import stream
from fedcert.training.evidence import best_precision
from fedcert.training.fisher import diagonal_fisher
from fedcert.training.laplace import Laplace
from fedcert.training.protocol import Trainer

NETWORK = mlp(64, 16, 10)
INITIAL = NETWORK.initialise(stream(0, "initialisation"))
QUICK = Laplace(epochs=10, batch_size=64, learning_rate=1e-2)


@pytest.fixture(scope="module")
def splits() -> tuple[Split, Split]:
    return digits().subset(800, 300, stream(0, "subset"))


@pytest.fixture(scope="module")
def law(splits: tuple[Split, Split]) -> DiagonalGaussian:
    return train(splits[0], QUICK)


def train(split: Split, method: Laplace, seed: int = 0) -> DiagonalGaussian:
    return method(NETWORK, split.x.float(), split.label, INITIAL, stream(seed, "training"))


def accuracy(theta: torch.Tensor, split: Split) -> float:
    return (NETWORK(theta, split.x).argmax(-1) == split.label).double().mean().item()


def test_training_learns_the_digits_and_so_do_networks_that_are_drawn(
    law: DiagonalGaussian, splits: tuple[Split, Split]
) -> None:
    assert accuracy(law.loc, splits[1]) > 0.85
    assert accuracy(law.sample(40, stream(0, "drawn")), splits[1]) > 0.75


def test_the_scale_is_that_of_the_fisher_information_and_the_best_prior(
    law: DiagonalGaussian, splits: tuple[Split, Split]
) -> None:
    curvature = 1e4 * diagonal_fisher(NETWORK, law.loc, splits[0].x.double())
    precision = best_precision(law.loc, curvature)
    torch.testing.assert_close(law.scale**-2, curvature + precision)
    assert 0.1 < precision < 1e3
    dead = curvature == 0  # pixels that are 0 in all images
    assert dead.any()
    torch.testing.assert_close(law.scale[dead], torch.full_like(law.scale[dead], precision**-0.5))


def test_a_given_prior_is_used(splits: tuple[Split, Split]) -> None:
    law = train(splits[0], Laplace(epochs=1, prior_scale=0.05))
    assert law.scale.max().item() == pytest.approx(0.05)
    wide, narrow = (
        train(splits[0], Laplace(8, learning_rate=1e-2, kl_coefficient=1e-2, prior_scale=s))
        for s in (9.0, 0.1)
    )
    assert narrow.loc.norm() < 0.7 * wide.loc.norm()


def test_without_a_coefficient_all_examples_count_once(splits: tuple[Split, Split]) -> None:
    few = splits[0][torch.arange(50)]
    plain, same = (train(few, Laplace(1, kl_coefficient=beta)) for beta in (None, 1 / 50))
    assert torch.equal(plain.loc, same.loc)
    assert torch.equal(plain.scale, same.scale)
    assert (train(few, Laplace(1, kl_coefficient=1e-5)).scale <= plain.scale).all()


def test_logistic_regression_in_one_dimension_has_its_closed_form() -> None:
    """Equal inputs: the mode makes classes as probable as they are frequent; p (1 − p) is the information."""
    x, label = torch.ones(40, 1), torch.tensor([1] * 30 + [0] * 10)
    law = Laplace(600, 40, 0.05, kl_coefficient=1e-6, prior_scale=10.0)(
        mlp(1, 2), x, label, torch.zeros(4), stream(0, "training")
    )
    logits = mlp(1, 2)(law.loc, x[:1].double())
    p = logits.softmax(-1)[0, 1].item()
    assert p == pytest.approx(0.75, abs=1e-4)
    expected = torch.full((4,), (p * (1 - p) / 1e-6 + 0.01) ** -0.5, dtype=torch.float64)
    torch.testing.assert_close(law.scale, expected, rtol=1e-6, atol=0)


def test_the_generator_decides_the_law_and_the_global_one_is_left_alone(splits: tuple[Split, Split]) -> None:
    state = torch.get_rng_state()
    same, again, other = (train(splits[0], Laplace(1), seed) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(same.loc, again.loc)
    assert torch.equal(same.scale, again.scale)
    assert not torch.equal(same.loc, other.loc)
    assert not INITIAL.requires_grad


def test_a_client_without_examples_cannot_train(splits: tuple[Split, Split]) -> None:
    with pytest.raises(DataError, match="without examples"):
        train(splits[0][torch.arange(0)], Laplace())


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": -1},
        {"batch_size": 0},
        {"learning_rate": 0.0},
        {"learning_rate": float("nan")},
        {"kl_coefficient": 0.0},
        {"kl_coefficient": float("inf")},
        {"prior_scale": 0.0},
        {"prior_scale": float("nan")},
        {"prior_scale": 1e13},
    ],
)
def test_settings_without_a_meaning_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidConfig):
        Laplace(**wrong)


def test_it_is_a_trainer() -> None:
    assert isinstance(Laplace(), Trainer)
