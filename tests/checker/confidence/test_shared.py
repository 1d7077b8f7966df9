"""The checker bounds layers that draws share once, and forgets what depends on others."""

import numpy as np
import pytest
from confidence_cases import image_problem, random_problem
from confidence_statements import statement_of

from fedcert_check.confidence import shared
from fedcert_check.confidence.files import Statement
from fedcert_check.confidence.linear import tightened
from fedcert_check.confidence.network import Layers, Range, between, layers_of, ranges
from fedcert_check.confidence.shared import SharedBounds
from fedcert_check.confidence.verdict import judge


def layers(statement: Statement, theta: np.ndarray) -> Layers:
    return layers_of(statement.network, theta, np.full(len(theta), 1e-9))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many layers were bounded, call by call."""
    calls: list[int] = []

    def counting(layers: Layers, x: Range, known: tuple[Range, ...] = ()) -> list[Range]:
        found = tightened(layers, x, known)
        calls.append(len(found) - max(1, len(known)))
        return found

    monkeypatch.setattr(shared, "tightened", counting)
    return calls


@pytest.mark.parametrize(("place", "start"), [(0, 0), (2, 24), (4, 59)])
def test_what_depends_on_other_layers_is_forgotten(place: int, start: int, counted: list[int]) -> None:
    """One layer is another one: only what lies before it is kept."""
    problem = random_problem(0)
    statement, theta = statement_of(problem, 1, 0.05), problem.laws[0].loc.numpy()
    asked = statement.properties
    x, other = between(asked.lower, asked.upper), theta.copy()
    other[start] += 1.0
    own, one = SharedBounds(), x.take(np.array([1]))
    own.meet(layers(statement, theta))
    own.intervals(x)
    own.tightened(1, one)
    second = layers(statement, other)
    own.meet(second)
    found = own.tightened(1, one)
    assert counted == [len(second) - 1, len(second) - 1 - place]
    for mine, alone in zip(found, tightened(second, one), strict=True):
        assert np.array_equal(mine.centre, alone.centre)
        assert np.array_equal(mine.radius, alone.radius)
    for mine, alone in zip(own.intervals(x), ranges(second[:-1], x), strict=True):
        assert np.array_equal(mine.centre, alone.centre)


def test_verdicts_do_not_depend_on_what_was_judged_before() -> None:
    problem, own = image_problem(1), SharedBounds()
    statement = statement_of(problem, 1, 0.05)
    for seed in range(4):
        network = layers(statement, image_problem(seed % 2).laws[seed % 3].loc.numpy())
        found, alone = judge(network, statement.properties, own), judge(network, statement.properties)
        assert np.array_equal(found.proven, alone.proven)
        assert np.array_equal(found.broken, alone.broken)
