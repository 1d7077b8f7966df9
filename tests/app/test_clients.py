import torch

from fedcert.app.clients import choose_examples, form, scaled, train_clients
from fedcert.app.config import RunConfig
from fedcert.laws import DiagonalGaussian

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


def test_a_scale_replaces_every_deviation() -> None:
    law = DiagonalGaussian(torch.zeros(2, dtype=torch.float64), torch.tensor([1.0, 2.0], dtype=torch.float64))
    assert scaled(law, 0.5).scale.tolist() == [0.5, 0.5]
