from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from fedcert.app.clients import choose_examples, form, scaled, train_client, train_clients, untrained
from fedcert.app.config import RunConfig
from fedcert.app.journal import Format, find_or_make
from fedcert.app.parts import Posterior, save_posterior
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.model.network import cnn

CONFIG = RunConfig(train_examples=300, test_examples=50, clients=3, hidden=(4,), training={"epochs": 1})


def test_every_training_example_has_one_client_and_no_client_sees_the_test_examples() -> None:
    examples = choose_examples(CONFIG)
    federation = form(CONFIG, examples)
    rows = sorted(tuple(x) for shard in federation.shards for x in shard.x.tolist())
    assert rows == sorted(tuple(x) for x in examples.train.x.tolist())
    assert sum(federation.sizes) == 300
    assert federation.histograms.sum(-1).tolist() == federation.sizes
    assert federation.histograms.sum(0).equal(examples.train.label.bincount(minlength=10))


def test_clients_start_together_and_end_apart() -> None:
    federation = form(CONFIG, choose_examples(CONFIG))
    trained = train_clients(CONFIG, federation)
    locs = [posterior.law.loc for posterior in trained]
    assert all(posterior.seconds > 0 for posterior in trained)
    assert not any(locs[i].equal(locs[j]) for i in range(3) for j in range(i))
    again = train_clients(CONFIG, form(CONFIG, choose_examples(CONFIG)))
    assert all(a.law.loc.equal(b.law.loc) for a, b in zip(trained, again, strict=True))


def test_training_does_not_depend_on_the_scale_that_a_run_asks_for() -> None:
    federation = form(CONFIG, choose_examples(CONFIG))
    fixed = CONFIG.model_copy(update={"scale": 1e-5})
    learned, also_learned = (train_clients(config, federation)[0].law for config in (CONFIG, fixed))
    assert learned.scale.equal(also_learned.scale)
    assert scaled(learned, "learned") is learned
    assert scaled(learned, 1e-5).scale.unique().tolist() == [1e-5]
    assert scaled(learned, 1e-5).loc.equal(learned.loc)


@pytest.mark.parametrize(
    ("posterior", "kind"), [("laplace", DiagonalGaussian), ("ensemble", GaussianMixture)]
)
def test_clients_learn_as_the_run_asks(posterior: str, kind: type) -> None:
    quick = {"epochs": 1, "batch_size": 32}
    config = RunConfig.model_validate(
        CONFIG.model_dump() | {"posterior": posterior, "laplace": quick, "members": 2}
    )
    federation = form(config, choose_examples(config))
    trained, again = (train_clients(config, federation) for _ in range(2))
    assert all(isinstance(posterior.law, kind) for posterior in trained)
    assert [type(law) for law in untrained(config, federation)] == [kind] * 3
    for one, other in zip(trained, again, strict=True):
        for name, tensor in one.law.tensors().items():
            assert tensor.equal(other.law.tensors()[name])


def test_clients_that_train_together_learn_the_same_up_to_rounding(tmp_path: Path) -> None:
    federation = form(CONFIG, choose_examples(CONFIG))
    together = CONFIG.model_copy(update={"train_together": True})
    apart, joined = (train_clients(config, federation) for config in (CONFIG, together))
    for one, other in zip(apart, joined, strict=True):
        assert torch.allclose(one.law.loc, other.law.loc, atol=1e-3)
        assert other.seconds > 0


@pytest.mark.parametrize("posterior", ["bbb", "laplace", "ensemble"])
def test_a_posterior_that_was_made_before_is_read_back(posterior: str, tmp_path: Path) -> None:
    quick = {"epochs": 1, "batch_size": 32}
    config = RunConfig.model_validate(CONFIG.model_dump() | {"posterior": posterior, "laplace": quick})
    federation = form(config, choose_examples(config))
    for i in range(2):
        save_posterior(train_clients(config, federation)[i], tmp_path / f"posteriors/client-{i}.safetensors")
    made = []

    def once(name: str, make: Callable[[], Posterior], form: Format[Posterior]) -> Posterior:
        return find_or_make(tmp_path / name, lambda: made.append(name) or make(), form)

    resumed, afresh = train_clients(config, federation, once=once), train_clients(config, federation)
    assert made == ["posteriors/client-2.safetensors"]
    for one, other in zip(resumed, afresh, strict=True):
        for name, tensor in one.law.tensors().items():
            assert tensor.equal(other.law.tensors()[name])


def test_a_scale_replaces_the_deviations_of_every_member() -> None:
    law = DiagonalGaussian(torch.zeros(2, dtype=torch.float64), torch.tensor([1.0, 2.0], dtype=torch.float64))
    mixture = scaled(GaussianMixture((law, law), torch.tensor([1.0, 3.0]).double()), 0.5)
    assert isinstance(mixture, GaussianMixture)
    assert mixture.weights.tolist() == [1.0, 3.0]
    assert [own.scale.tolist() for own in mixture.components] == [[0.5, 0.5]] * 2


def test_a_scale_replaces_every_deviation() -> None:
    law = DiagonalGaussian(torch.zeros(2, dtype=torch.float64), torch.tensor([1.0, 2.0], dtype=torch.float64))
    assert scaled(law, 0.5).scale.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("posterior", ["bbb", "laplace", "ensemble"])
def test_clients_train_convolutions(posterior: str) -> None:
    config = RunConfig(
        train_examples=60, test_examples=10, network="cnn:2/3", posterior=posterior, members=2,
        training={"epochs": 1}, laplace={"epochs": 1},
    )  # fmt: skip
    federation = form(config, choose_examples(config))
    assert federation.network == cnn((1, 8, 8), (2,), 3, 10)
    law = train_client(config, federation, 0).law
    assert law.dimension == federation.network.parameters
    assert not torch.equal(law.loc, federation.initial.double())
    assert [type(own) for own in untrained(config, federation)] == [type(law)] * 3
