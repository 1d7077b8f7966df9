import pytest
import torch

from fedcert.data.digits import digits
from fedcert.errors import DataError
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.randomness import stream
from fedcert.training.batched import Pupil, train_together
from fedcert.training.bayes_by_backprop import BayesByBackprop

NETWORK = mlp(64, 8, 10)
INITIAL = NETWORK.initialise(stream(0, "initialisation"))
METHOD = BayesByBackprop(epochs=3, batch_size=32, learning_rate=1e-2)
SIZES = (70, 1, 200, 32, 64)  # batches that are full and not, and clients that are done before others
TOLERANCE = 1e-3  # rounding, amplified by some dozen steps


def pupils(sizes: tuple[int, ...]) -> list[Pupil]:
    examples, start, made = digits().train, 0, []
    for i, size in enumerate(sizes):
        own = slice(start, start + size)
        x, label = examples.x[own].float(), examples.label[own]
        made.append(Pupil(x, label, INITIAL, stream(0, "training", i)))
        start += size
    return made


def alone(pupil: Pupil, method: BayesByBackprop) -> DiagonalGaussian:
    return method(NETWORK, pupil.x, pupil.label, pupil.initial, pupil.generator)


def apart(one: DiagonalGaussian, other: DiagonalGaussian) -> float:
    """The largest difference of means, and of scales relatively."""
    scales = (one.scale / other.scale - 1).abs().max().item()
    return max((one.loc - other.loc).abs().max().item(), scales)


def test_clients_learn_together_what_they_learn_alone() -> None:
    expected = [alone(pupil, METHOD) for pupil in pupils(SIZES)]
    found = train_together(METHOD, NETWORK, pupils(SIZES))
    assert max(apart(*both) for both in zip(found, expected, strict=True)) < TOLERANCE
    assert min(apart(expected[0], other) for other in expected[1:]) > 10 * TOLERANCE


def test_one_step_agrees_to_rounding() -> None:
    method = BayesByBackprop(epochs=1, batch_size=64)
    sizes = (50, 64, 3)
    expected = [alone(pupil, method) for pupil in pupils(sizes)]
    found = train_together(method, NETWORK, pupils(sizes))
    assert max(apart(*both) for both in zip(found, expected, strict=True)) < 1e-6


def test_no_client_depends_on_those_it_trains_with() -> None:
    few, many = (train_together(METHOD, NETWORK, pupils(SIZES)[:count]) for count in (2, 5))
    assert max(apart(*both) for both in zip(few, many, strict=False)) < TOLERANCE


def test_without_epochs_all_stay_where_they_start() -> None:
    for law in train_together(BayesByBackprop(epochs=0), NETWORK, pupils((3, 4))):
        assert torch.equal(law.loc, INITIAL.double())


def test_a_client_without_examples_cannot_train() -> None:
    with pytest.raises(DataError, match="without examples"):
        train_together(METHOD, NETWORK, pupils((3, 0)))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_learns_the_same() -> None:
    here, there = (train_together(METHOD, NETWORK, pupils(SIZES), device) for device in ("cpu", "cuda"))
    assert max(apart(*both) for both in zip(here, there, strict=True)) < TOLERANCE
