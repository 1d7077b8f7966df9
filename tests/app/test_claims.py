from typing import Any

import pytest
import torch

from fedcert.app.claims import chosen_families, require_claims, strongest_claim
from fedcert.app.config import RunConfig
from fedcert.errors import InvalidConfig
from fedcert.families.problem import Problem
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import linf_robustness
from fedcert.rules import RuleContext, build_rule

LAW = DiagonalGaussian(torch.zeros(6).double(), torch.ones(6).double())
ASKED = linf_robustness([[0.5, 0.5]], [0], 0.1, classes=2)


def problem(rule: str) -> Problem:
    return Problem(mlp(2, 2), ASKED, (LAW,) * 3, build_rule(rule, RuleContext([LAW] * 3, None)))


def config(rule: str, **settings: Any) -> RunConfig:
    return RunConfig(rule=rule, **settings)


@pytest.mark.parametrize(
    ("rule", "events", "claims", "expected"),
    [
        ("fedavg", "projected", "transported,direct", ("projected", "direct")),
        ("fedavg", "all", "local,transported,direct", ("projected", "direct")),
        ("fedavg", "box,paper-box", "transported,direct", ("box", "direct")),
        ("fedavg", "all", "local,transported", ("projected", "transported")),
        ("median", "all", "local,transported,direct", ("box", "transported")),
        ("median", "paper-box", "transported", ("paper-box", "transported")),
    ],
)
def test_the_strongest_claim_is_direct_if_possible_and_of_the_last_family(
    rule: str, events: str, claims: str, expected: tuple[str, str]
) -> None:
    asked = config(rule, events=events, claims=claims)
    require_claims(asked, problem(rule))
    family, kind = strongest_claim(asked, problem(rule))
    assert (family.name, kind) == expected


@pytest.mark.parametrize(
    ("rule", "settings", "said"),
    [
        ("median", {}, "projected has no transported or direct claim under the rule median: ask for"),
        ("trimmed-mean", {"claims": "direct"}, "(?m)no direct claim under the rule trimmed-mean$"),
        (
            "fedavg",
            {"claims": "local", "radius": 0.5},
            "local with projected events say nothing",
        ),
        ("median", {"claims": "local,direct", "events": "box", "softmax_margins": 1}, "median deploys"),
    ],
)
def test_a_run_that_would_prove_nothing_it_is_asked_for_is_refused(
    rule: str, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidConfig, match=said):
        require_claims(config(rule, **settings), problem(rule))


def test_local_claims_may_be_all_that_is_asked_for() -> None:
    require_claims(config("median", claims="local"), problem("median"))
    require_claims(config("fedavg", claims="local"), problem("fedavg"))


def test_families_come_in_the_order_of_the_tables_with_the_settings_of_the_run() -> None:
    chosen = chosen_families(config("fedavg", events="projected,paper-box", cells=3, gamma="2,4", seed=9))
    assert [family.name for family in chosen] == ["paper-box", "projected"]
    assert (chosen[0].cells, chosen[0].gamma, chosen[0].seed) == (3, (2.0, 4.0), 9)  # type: ignore[attr-defined]
