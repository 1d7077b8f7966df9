"""A layer, a law, a rule and a family from outside the package, in one call and without touching it."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from rule_contract import forget_registered_rules

import fedcert
from fedcert.families import registry as families
from fedcert.laws import registry as laws
from fedcert.model.layers import Linear

EXTEND = Path(__file__).parents[3] / "examples" / "extend"


@pytest.mark.usefixtures("forget_layers")
def test_one_call_certifies_all_four(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_registered_rules(monkeypatch)
    monkeypatch.setattr(families, "_FAMILIES", dict(families._FAMILIES))
    monkeypatch.setattr(laws, "_LAWS", dict(laws._LAWS))
    made = {path.stem: runpy.run_path(str(path)) for path in sorted(EXTEND.glob("*.py"))}
    assert set(made) == {"central_box", "hard_tanh", "isotropic_gaussian", "midrange"}
    network = fedcert.Network((Linear(2, 2), made["hard_tanh"]["HardTanh"](), Linear(2, 2)))
    loc = torch.tensor([1, 0, 0, 1, 0, 0, 3, 0, 0, 3, 0, 0], dtype=torch.float64)
    law = made["isotropic_gaussian"]["IsotropicGaussian"]
    clients = [law(loc + 0.01 * i, torch.tensor([1e-3], dtype=torch.float64)) for i in range(3)]
    result = fedcert.certify_classification(
        clients, network, [[0.7, 0.2]], [0], epsilon=0.01, rule="midrange", events="central-box"
    )
    (certificate,) = result.certificates
    assert (certificate.claim.rule, certificate.claim.events) == ("midrange", "central-box")
    assert np.all(result.lower > 0.99)
