"""The models that a run's accuracy is that of: means of components, weighted as they are deployed."""

import pytest
import torch
from mixture_cases import LAWS, MIXED, PLAIN, fedavg, pooling

from fedcert.app.accuracy import mean_accuracy
from fedcert.data import Split
from fedcert.federation.mean_models import MAX_MODELS, mean_models
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.rules import LinearRule, Pooling


def test_gaussian_clients_have_the_one_posterior_mean_model() -> None:
    rule = LinearRule.fedavg([1, 3])
    laws = [PLAIN, MIXED.components[0]]
    found = mean_models(rule, laws)
    assert found.share.tolist() == [1.0]
    assert torch.equal(found.theta[0], rule([law.loc for law in laws]))


def test_mixtures_have_a_model_for_each_tuple_of_components() -> None:
    found = mean_models(fedavg(), LAWS)
    assert found.theta.shape == (6, 2)
    assert found.share.sum().item() == pytest.approx(1.0)
    assert found.share[0].item() == pytest.approx(1 / 3 * 5 / 6.25)
    first = [law.components[0].loc for law in LAWS]
    assert torch.equal(found.theta[0], fedavg()(first))
    assert torch.equal(found.likeliest, fedavg()([MIXED.components[1].loc, *first[1:]]))


def test_too_many_tuples_are_drawn() -> None:
    found = mean_models(LinearRule.fedavg([1] * 7), [MIXED] * 7)
    assert len(found.theta) == MAX_MODELS
    assert found.share.sum().item() == pytest.approx(1.0)


def test_a_pool_has_a_model_for_each_client_and_component() -> None:
    found = mean_models(pooling(), LAWS)
    assert found.theta.shape == (6, 2)
    assert found.share.sum().item() == pytest.approx(1.0)
    assert found.share[2].item() == pytest.approx(2 / 7)
    assert torch.equal(found.theta[2], PLAIN.loc)


def test_the_accuracy_of_a_pool_is_the_weighted_mean() -> None:
    """One client is always right, the other never."""
    network = mlp(1, 2)
    right, wrong = (torch.tensor([0.0, 0.0, sign, -sign]).double() for sign in (1.0, -1.0))
    laws = [DiagonalGaussian(loc, torch.ones(4).double()) for loc in (right, wrong)]
    examples = Split(torch.zeros(5, 1).double(), torch.zeros(5, dtype=torch.int64))
    models = mean_models(Pooling(torch.tensor([[3.0], [1.0]]).double()), laws)
    assert mean_accuracy(network, models, examples) == 0.75
