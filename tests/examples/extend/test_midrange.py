"""A rule outside the package: held to the contract, named in a configuration, certified, saved, and refused
by a checker that does not know it."""

import runpy
from pathlib import Path
from typing import Any

import pytest
from rule_contract import check_rule, forget_registered_rules
from saved import make_federation

from fedcert.app.config import make_config
from fedcert.errors import InvalidCertificate, InvalidConfig
from fedcert.families.mean_box.certify import certify_boxes
from fedcert.families.mean_box.events import MeanBox
from fedcert.rules import RuleContext, build_rule
from fedcert.wire.certificate_file import load_certificate
from fedcert_check import check

EXAMPLE = Path(__file__).parents[3] / "examples" / "extend" / "midrange.py"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    forget_registered_rules(monkeypatch)
    return runpy.run_path(str(EXAMPLE))


def test_it_is_short() -> None:
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) < 60


@pytest.mark.parametrize("clients", [1, 2, 5])
def test_it_fulfils_the_contract_of_rules(example: dict[str, Any], clients: int) -> None:
    check_rule(example["Midrange"](clients), lambda column, _: (min(column) + max(column)) / 2, 3)


def test_a_configuration_knows_its_name_once_it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_registered_rules(monkeypatch)
    with pytest.raises(InvalidConfig, match="rule: must be one of fedavg"):
        make_config({"rule": "midrange"})
    runpy.run_path(str(EXAMPLE))
    assert make_config({"rule": "midrange"}).rule == "midrange"


@pytest.mark.slow
def test_it_is_certified_and_saved_and_the_checker_refuses_its_type(
    example: dict[str, Any], tmp_path: Path
) -> None:
    federation = make_federation()
    rule = build_rule("midrange", RuleContext(federation.laws, [1, 1, 1]))
    certificate = certify_boxes(federation.laws, rule, federation.safe, MeanBox())
    assert certificate.mean_lower > 0
    path = federation.save(tmp_path, certificate, rule)
    assert load_certificate(path).rule == rule
    with pytest.raises(InvalidCertificate, match="rule type 'midrange'"):
        check(path)


def test_it_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    forget_registered_rules(monkeypatch)
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert "midrange, box): at least 99.99 %" in capsys.readouterr().out
