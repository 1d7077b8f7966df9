"""The paper's grid as data."""

from fedcert.app.grid.preset import load_grid
from reproduction.paper import GRID


def test_the_paper_has_162_federations_at_two_scales() -> None:
    jobs = load_grid(str(GRID)).jobs()
    paper = [job for job in jobs if job.config.train_examples == 12_000 and job.config.screen]
    at_scale = [job for job in paper if job.config.scale == 1e-5]
    wide = [job for job in at_scale if job.config.hidden != (64,)]
    assert len({job.training for job in paper}) == 162
    assert {len(job.config.events) for job in paper} == {3}
    assert len(wide) == 2 * 2 * 3 * 9
    assert max(job.config.clients for job in jobs) == 1000
    assert len(jobs) == 412


def test_the_papers_protocol_table() -> None:
    config = load_grid(str(GRID)).jobs()[0].config
    training = config.training
    assert (config.train_examples, config.test_examples, config.properties) == (12_000, 2_000, 50)
    assert (training.epochs, training.batch_size) == (5, 128)
    assert (training.learning_rate, training.kl_coefficient, config.scale) == (1e-3, 1e-4, 1e-5)
    assert (config.epsilon, config.margin, config.centers, config.cells) == ((1e-3,), 0.0, 200, 8)
    assert (config.inputs, config.rule, set(config.compare)) == ("correct", "fedavg", {"fedavg", "pog"})
    assert (config.gamma, config.budget) == ((3, 4, 5, 6, 7), 20_000)
    assert (config.mc_samples, config.aggregate_samples) == (300, 3_000)
