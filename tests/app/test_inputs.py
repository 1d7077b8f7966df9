from typing import Any

import pytest
import torch

from fedcert.app.clients import Examples, choose_examples
from fedcert.app.config import RunConfig
from fedcert.app.inputs import Inputs, choose_inputs, count_of
from fedcert.data import Split
from fedcert.errors import DataError
from fedcert.model.network import mlp

NETWORK = mlp(2, 2)
RIGHT = torch.tensor([1, 0, 0, 1, 0, 0]).double()  # class 0 where the first coordinate is the larger one
WRONG = -RIGHT
X = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.4, 0.6], [1.0, 0.0], [0.3, 0.7]]).double()
LABEL = torch.tensor([0, 1, 1, 1, 0, 0])  # the third and the last one are classified wrongly
POOL = Split(X, LABEL).numbered()


def examples(test: Split = POOL) -> Examples:
    """A test set of six, of which accuracy is measured on some."""
    return Examples(POOL, test, POOL, 2, (1, 2))


def choose(mean: torch.Tensor = RIGHT, of: Examples | None = None, **settings: Any) -> Inputs:
    return choose_inputs(RunConfig(dataset="mnist", **settings), of or examples(), NETWORK, mean)


def positions(inputs: Inputs) -> list[int]:
    """Where the inputs are in the test set, which their origin says too."""
    assert inputs.examples.index is not None
    assert inputs.origin.indices is not None
    found: list[int] = inputs.examples.index.tolist()
    assert inputs.origin.indices.tolist() == found
    assert torch.equal(inputs.examples.x, X[found])
    assert torch.equal(inputs.examples.label, LABEL[found])
    return found


def test_the_first_inputs_are_taken_as_they_come_right_or_wrong() -> None:
    inputs = choose(properties=4)
    assert (len(inputs), positions(inputs)) == (4, [0, 1, 2, 3])
    assert (inputs.origin.source, inputs.origin.chosen) == ("mnist", "first")
    assert (inputs.origin.available, inputs.origin.seed) == (6, None)


def test_all_inputs_of_the_test_set_may_be_taken() -> None:
    assert positions(choose(properties="all")) == list(range(6))
    assert sorted(positions(choose(inputs="random", properties="all"))) == list(range(6))


def test_random_inputs_are_distinct_and_decided_by_the_seed() -> None:
    drawn = [choose(inputs="random", properties=4, seed=seed) for seed in range(20)]
    found = [positions(inputs) for inputs in drawn]
    assert all(len(set(own)) == 4 for own in found)
    assert len({tuple(own) for own in found}) > 10
    assert {place for own in found for place in own} == set(range(6))
    assert found == [positions(choose(inputs="random", properties=4, seed=seed)) for seed in range(20)]
    assert [(own.origin.chosen, own.origin.seed, own.origin.available) for own in drawn] == [
        ("random", seed, 6) for seed in range(20)
    ]


def test_more_random_inputs_with_the_same_seed_contain_the_fewer() -> None:
    """Certificates of a small run and of a large one speak about the same inputs."""
    few, many = (positions(choose(inputs="random", properties=count, seed=3)) for count in (2, 5))
    assert many[:2] == few


def test_correct_inputs_are_the_first_that_the_mean_model_classifies_as_labelled() -> None:
    inputs = choose(inputs="correct", properties=3)
    assert positions(inputs) == [0, 1, 3]
    assert (inputs.origin.chosen, inputs.origin.seed) == ("correct", None)
    assert positions(choose(WRONG, inputs="correct", properties=2)) == [2, 5]


@pytest.mark.parametrize("chosen", ["first", "random"])
def test_only_where_correct_ones_are_asked_for_does_the_choice_depend_on_the_model(chosen: str) -> None:
    right, wrong = (choose(mean, inputs=chosen, properties=4) for mean in (RIGHT, WRONG))
    assert positions(right) == positions(wrong)


def test_correct_inputs_come_from_the_examples_that_accuracy_is_measured_on_and_say_where_they_are() -> None:
    some = examples(POOL[torch.tensor([5, 4, 2, 1])])
    inputs = choose(of=some, inputs="correct", properties=2)
    assert positions(inputs) == [4, 1]
    assert inputs.origin.available == 6, "positions count in the whole test set"
    assert positions(choose(of=some, properties=5)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"properties": 7}, "properties: 7 asked for, but mnist has 6 test inputs"),
        ({"properties": 7, "inputs": "random"}, "7 asked for, but mnist has 6"),
        ({"properties": 7, "inputs": "correct"}, "7 asked for, but mnist has 6"),
        ({"properties": 5, "inputs": "correct"}, "classifies only 4 of 6 test inputs correctly"),
    ],
)
def test_more_inputs_than_there_are_is_an_error_that_says_how_many_there_are(
    settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(DataError, match=said):
        choose(**settings)


def test_how_many_inputs_there_will_be_is_known_before_training() -> None:
    some = examples(POOL[torch.tensor([0, 1])])
    assert count_of(RunConfig(dataset="mnist", properties="all"), some) == 6
    assert count_of(RunConfig(dataset="mnist", properties=5), some) == 5
    with pytest.raises(DataError, match="3 asked for, but mnist has 2"):
        count_of(RunConfig(dataset="mnist", properties=3, inputs="correct"), some)


def test_properties_are_balls_around_the_inputs_and_know_where_they_come_from() -> None:
    inputs = choose(properties=3)
    each = torch.tensor([0.0, 0.05, 0.25]).double()
    for radius in (0.125, each):
        asked = inputs.properties_within(radius, 0.5, 2)
        assert asked.subject is not None
        assert torch.equal(asked.subject.inputs, X[:3])
        assert asked.subject.labels.tolist() == LABEL[:3].tolist()
        assert asked.subject.radius.tolist() == (3 * [0.125] if isinstance(radius, float) else each.tolist())
        assert asked.subject.indices.tolist() == [0, 1, 2]
        assert (asked.subject.origin.source, asked.subject.origin.available) == ("mnist", 6)
        assert (asked.d == -0.5).all()


def test_the_inputs_of_digits_are_those_set_aside_from_training() -> None:
    config = RunConfig(train_examples=100, test_examples=30, properties=10)
    chosen = choose_examples(config)
    inputs = choose_inputs(config, chosen, mlp(64, 10), torch.zeros(650).double())
    assert inputs.origin.available == 30
    assert torch.equal(inputs.examples.x, chosen.test.x[:10])
    trained = {tuple(x) for x in chosen.train.x.tolist()}
    assert not any(tuple(x) in trained for x in inputs.examples.x.tolist())
