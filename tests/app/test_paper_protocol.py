"""The paper's protocol on the real data: what its direct certificates are made of."""

import os

import pytest
import torch

from fedcert.app.config import load_config
from fedcert.app.run import RunResult, run

pytestmark = pytest.mark.skipif(
    "FEDCERT_DATA" not in os.environ, reason="FEDCERT_DATA does not name a folder with the MNIST files"
)


def paper_run(hidden: str) -> RunResult:
    options = {
        "dataset": "mnist",
        "hidden": hidden,
        "clients": 2,
        "concentration": 1.0,
        "aggregate_samples": 100,
    }
    return run(load_config(None, options, "paper"))


@pytest.mark.slow
@pytest.mark.parametrize(("hidden", "low", "high"), [("64", 0.94, 0.985), ("128", 0.90, 0.965)])
def test_a_direct_certificate_is_the_mass_of_one_cell(hidden: str, low: float, high: float) -> None:
    result = paper_run(hidden)
    certificates = {
        (one.certificate.claim.kind, one.certificate.claim.rule): one.certificate for one in result.proven
    }
    direct = certificates["direct", "fedavg"]
    accepted = direct.lower > 0.01  # cells of γ ≤ 5 have masses below 1e-8
    assert accepted.double().mean() > 0.5
    assert low <= direct.lower[accepted].min()
    assert direct.lower[accepted].max() <= high
    assert direct.lower[accepted].unique().numel() <= 2  # nearly always one and the same cell
    mc = {e.rule: e for _, e in result.estimates if e.name == "mc-ibp"}["fedavg"]
    assert direct.mean_lower == pytest.approx(mc.value * direct.lower.max().item(), abs=0.03)
    assert torch.equal(direct.lower, certificates["direct", "pog"].lower)
    assert certificates["transported", "fedavg"].mean_lower < direct.mean_lower
