import pytest
import torch
from federated_problems import Federated, make_federated

from fedcert.families.projected import choices as choosing
from fedcert.families.projected import split as splitting
from fedcert.families.projected.bound import analysis, violation
from fedcert.families.projected.chain import Federation, chained_violation
from fedcert.families.projected.choices import (
    CONDITIONAL,
    STATIC,
    TRIALS,
    best_of,
    chosen_violation,
    least_chained_violation,
    prefixed,
)
from fedcert.families.projected.layers import random_layers
from fedcert.families.projected.references import Static
from fedcert.families.projected.split import STARTS, uniform_split
from fedcert.families.projected.transported import client_layers
from fedcert.model.properties import Properties


def problem(depth: int) -> tuple[Federated, Properties, Federation]:
    made = make_federated(depth, (2, *[5] * (depth - 1), 3), 0.05, 0.01, clients=2, constraints=2)
    properties = made.properties(made.offsets(2.0))
    several = Properties(
        type(properties.regions)(
            properties.regions.lower.repeat(3, 1), properties.regions.upper.repeat(3, 1)
        ),
        properties.C.repeat(3, 1, 1),
        properties.d.repeat(3, 1) + torch.tensor([[-0.3], [0.0], [0.3]], dtype=torch.float64),
    )
    laws = [law.components[0] for law in made.laws]
    return made, several, client_layers(laws, made.rule, made.network, made.rule.pushforward(laws))


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_choices_name_what_a_bound_was_made_of(depth: int, monkeypatch) -> None:
    made, properties, _ = problem(depth)
    law = made.rule.pushforward([law.components[0] for law in made.laws])
    layers = random_layers(made.network, law)
    split = uniform_split(layers, properties, STARTS[0])
    monkeypatch.setattr(splitting, "ELEMENTS", 1)  # one property at a time
    found, chosen = chosen_violation(layers, properties, split)
    assert torch.allclose(found.probability, violation(layers, properties, split).probability, rtol=1e-12)
    assert torch.equal(chosen["movement"], split.movement)
    _, relied_on = analysis(layers, properties, split)
    names = {"ranges", "movement", "deviation"} | {f"sign.{k}" for k in range(depth - 1)}
    for name in ("below", "slope", "rate", "mean_rate", "excess_centre", "excess_rate"):
        names |= {f"{name}.{k}" for k in range(1, depth - 1)}
    if depth > 1:
        names |= {"tail.rate", "tail.centre", "tail.spread", "tail.terms"}
    if depth > 2:
        names |= {"tail.lowest", "tail.reach"}
    assert set(chosen) == names
    if relied_on is not None:
        known, tails = relied_on
        assert torch.equal(chosen["tail.rate"], tails.rate)
        for place, spread in enumerate(known.spreads):
            sign = chosen[f"sign.{place}"]
            assert sign.dtype == torch.int8
            assert torch.equal(sign == 1, spread.slope == 1)
            assert torch.equal(sign == -1, spread.slope == 0)
        for place, hidden in enumerate(known.hidden, start=1):
            assert torch.equal(chosen[f"below.{place}"], hidden.lines.below)
            assert (chosen[f"rate.{place}"] > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_best_trial_counts_and_its_choices_are_kept(depth: int, monkeypatch) -> None:
    _, properties, federation = problem(depth)
    ones = torch.ones(len(properties), dtype=torch.float64)
    trials = torch.stack([
        chained_violation(
            federation, properties, -torch.special.ndtri(ranges * ones), failure * ones, reference
        ).probability
        for reference, ranges, failure in TRIALS
    ])
    least, chosen = least_chained_violation(federation, properties)
    assert torch.equal(least, trials.amin(0))
    for p, best in enumerate(trials.argmin(0).tolist()):
        reference, _, failure = TRIALS[best]
        assert chosen["failure"][p] == failure
        assert chosen["method"][p] == (STATIC if isinstance(reference, Static) else CONDITIONAL)
    monkeypatch.setattr(choosing, "TRIALS", TRIALS[3:])
    _, static = least_chained_violation(federation, properties)
    assert (static["method"] == STATIC).all()
    assert all((static[f"reference.{k}"] >= 0).all() for k in range(depth - 1))
    assert depth == 1 or bool((static["reference.0"] > 0).any())


def test_the_best_of_several_is_taken_property_by_property() -> None:
    bounds = [torch.tensor([0.1, 0.4], dtype=torch.float64), torch.tensor([0.3, 0.2], dtype=torch.float64)]
    least, chosen = best_of(bounds, [{"a": torch.tensor([[1], [2]])}, {"a": torch.tensor([[3], [4]])}])
    assert least.tolist() == [0.1, 0.2]
    assert prefixed("x", chosen)["x.a"].tolist() == [[1], [4]]
