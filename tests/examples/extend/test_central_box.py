"""A family outside the package: held to the contract, asked for by name, and refused by the checker."""

import runpy
from pathlib import Path

import pytest
import torch
from family_contract import check_family
from problems import normal

import fedcert
from fedcert.app.config import make_config
from fedcert.errors import InvalidConfig
from fedcert.families import registry
from fedcert.families.problem import Problem
from fedcert.families.registry import family_named
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import linf_robustness
from fedcert.randomness import stream
from fedcert.rules import AggregationRule, LinearRule, TrimmedMean
from fedcert_check import check
from fedcert_check.errors import InvalidCertificate

EXAMPLE = Path(__file__).parents[3] / "examples" / "extend" / "central_box.py"
NETWORK = mlp(2, 3, 2)
RULES = [LinearRule.fedavg([1, 2, 3]), TrimmedMean.median(3)]


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_FAMILIES", dict(registry._FAMILIES))
    runpy.run_path(str(EXAMPLE))


def make_problem(rule: AggregationRule, scale: float) -> Problem:
    loc = normal(stream(3, "shared"), NETWORK.parameters)
    law = DiagonalGaussian(loc, torch.full_like(loc, scale))
    x = torch.rand(4, 2, generator=stream(3, "inputs"), dtype=torch.float64)
    properties = linf_robustness(x, NETWORK(loc, x).argmax(-1), 0.001, classes=2)
    return Problem(NETWORK, properties, (law, law, law), rule)


def test_it_is_short() -> None:
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) < 60


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-4, 1e-2, 0.3])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_it_fulfils_the_contract_of_families(rule: AggregationRule, scale: float) -> None:
    (found,) = check_family(family_named("central-box"), make_problem(rule, scale))
    assert (found.lower.max() > 0.99) == (scale < 0.1)


def test_a_configuration_knows_its_name_once_it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert make_config({"events": "central-box"}).events == ("central-box",)
    monkeypatch.delitem(registry._FAMILIES, "central-box")
    with pytest.raises(InvalidConfig, match="central-box"):
        make_config({"events": "central-box"})


@pytest.mark.slow
def test_it_is_certified_and_saved_and_the_checker_refuses_its_name(tmp_path: Path) -> None:
    problem = make_problem(RULES[0], 1e-4)
    result = fedcert.certify(
        problem.laws, problem.rule, NETWORK, problem.properties, events="central-box, projected"
    )
    assert [own.claim.events for own in result.certificates] == ["central-box", "projected", "projected"]
    folder = result.save(tmp_path / "run")
    with pytest.raises(InvalidCertificate, match="central-box"):
        check(folder / "certificates" / "transported-fedavg-central-box.safetensors")
    assert check(folder / "certificates" / "direct-fedavg-projected.safetensors").verdict
