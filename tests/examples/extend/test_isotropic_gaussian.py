"""A law outside the package: held to the contract, certified, saved, and refused by the checker by name."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from law_contract import check_law
from problems import normal

import fedcert
from fedcert.laws import registry
from fedcert.model.network import mlp
from fedcert.randomness import stream
from fedcert.wire.message import Message
from fedcert_check import check
from fedcert_check.errors import InvalidCertificate

EXAMPLE = Path(__file__).parents[3] / "examples" / "extend" / "isotropic_gaussian.py"
NETWORK = mlp(2, 3, 2)


@pytest.fixture
def law(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(registry, "_LAWS", dict(registry._LAWS))
    made = runpy.run_path(str(EXAMPLE))["IsotropicGaussian"]
    loc = normal(stream(0, "isotropic"), NETWORK.parameters)
    return made(loc, torch.tensor([0.01], dtype=torch.float64))


def test_it_is_short() -> None:
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) < 60


def test_it_fulfils_the_contract_of_laws(law: Any) -> None:
    check_law(law, NETWORK)


@pytest.mark.slow
@pytest.mark.parametrize("events", ["projected", "box", "paper-box"])
def test_it_is_certified_as_the_diagonal_law_that_it_is(law: Any, events: str) -> None:
    x = torch.rand(4, 2, generator=stream(0, "inputs"), dtype=torch.float64)
    y = NETWORK(law.loc, x).argmax(-1)
    found, diagonal = (
        fedcert.certify_classification([own, own], NETWORK, x, y, epsilon=0.001, events=events)
        for own in (law, law.components[0])
    )
    assert found.lower.tolist() == diagonal.lower.tolist()
    assert np.array_equal(found.upper, diagonal.upper)


def test_it_is_saved_read_again_and_refused_by_a_checker_that_does_not_know_it(
    law: Any, tmp_path: Path
) -> None:
    x = torch.rand(2, 2, generator=stream(0, "inputs"), dtype=torch.float64)
    y = NETWORK(law.loc, x).argmax(-1)
    folder = fedcert.certify_classification([law], NETWORK, x, y, epsilon=0.001).save(tmp_path / "run")
    again = Message.load(folder / "messages" / "client-0.safetensors").law
    assert torch.equal(again.loc, law.loc)
    assert again.deviation == law.deviation
    with pytest.raises(InvalidCertificate, match="isotropic-gaussian"):
        check(folder / "certificates" / "direct-fedavg-projected.safetensors")
