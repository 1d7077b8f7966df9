"""Saving and loading certificates; what the checker makes of them is in tests/check."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from saved import make_federation, make_rules

from fedcert.certificate import Certificate, Claim
from fedcert.errors import FedcertError, InvalidCertificate, ShapeMismatch, UnsupportedLayer
from fedcert.model.network import Network
from fedcert.wire.certificate_file import load_certificate, save_certificate
from fedcert.wire.container import read_container, write_container
from fedcert.witness import Witness

FEDERATION = make_federation()
RULES = make_rules(FEDERATION)
CERTIFICATE = Certificate(
    Claim("transported", "linear", "box"),
    torch.tensor([0.0, 0.25, 0.5, 1.0], dtype=torch.float64),
    torch.ones(4, dtype=torch.float64),
    Witness({"half": torch.ones(2, 3, dtype=torch.float16), "none": torch.zeros(0, 7, dtype=torch.int32)}),
)


@pytest.mark.parametrize("name", RULES)
def test_what_is_loaded_is_what_was_saved(name: str, tmp_path: Path) -> None:
    certificate = replace(CERTIFICATE, claim=replace(CERTIFICATE.claim, rule=name))
    path = FEDERATION.save(tmp_path, certificate, RULES[name])
    loaded = load_certificate(path)
    assert loaded.certificate.claim == certificate.claim
    assert torch.equal(loaded.certificate.lower, certificate.lower)
    assert torch.equal(loaded.certificate.upper, certificate.upper)
    for key, tensor in certificate.witness.tensors.items():
        assert loaded.certificate.witness.tensors[key].dtype == tensor.dtype
        assert torch.equal(loaded.certificate.witness.tensors[key], tensor)
    assert loaded.network == FEDERATION.safe.network
    for part in ("C", "d"):
        assert torch.equal(getattr(loaded.properties, part), getattr(FEDERATION.safe.properties, part))
    thetas = [law.loc for law in FEDERATION.laws]
    assert torch.equal(loaded.rule(thetas), RULES[name](thetas))
    assert [m.client for m in loaded.messages] == ["client-0", "client-1", "client-2"]
    assert [path.name for path in path.parent.iterdir()] == [path.name]


def test_a_certificate_without_a_witness_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(InvalidCertificate, match="without a witness cannot be saved"):
        FEDERATION.save(tmp_path, replace(CERTIFICATE, witness=None), RULES["linear"])
    assert not list(tmp_path.rglob("*transported*"))


class Softmax:
    shapes = ()

    def __call__(self, parameters, x):
        return x


@pytest.mark.usefixtures("without_annotations")
def test_what_does_not_fit_together_is_refused(tmp_path: Path) -> None:
    network, properties = FEDERATION.safe.network, FEDERATION.safe.properties
    path, messages = tmp_path / "c.safetensors", FEDERATION.messages
    with pytest.raises(ShapeMismatch, match="2 messages"):
        save_certificate(path, CERTIFICATE, network, properties, RULES["linear"], messages[:2])
    with pytest.raises(ShapeMismatch, match="median"):
        save_certificate(path, CERTIFICATE, network, properties, RULES["median"], messages)
    with pytest.raises(ShapeMismatch, match="3 properties"):
        save_certificate(path, CERTIFICATE, network, properties[:3], RULES["linear"], messages)
    layers = (*network.layers, Softmax())
    with pytest.raises(UnsupportedLayer, match="Softmax"):
        save_certificate(path, CERTIFICATE, Network(layers), properties, RULES["linear"], messages)
    assert not path.exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda claim: claim.pop("rule"),
        lambda claim: claim.update(rule=3),
        lambda claim: claim["rule"].update(type="mystery"),
        lambda claim: claim.update(network=[{"type": "gelu"}]),
        lambda claim: claim.update(network=[{"type": "linear"}]),
        lambda claim: claim.update(messages=[{}]),
    ],
)
def test_a_claim_that_makes_no_sense_is_a_clean_error(change, tmp_path: Path) -> None:
    path = FEDERATION.save(tmp_path, CERTIFICATE, RULES["linear"])
    claim, tensors = read_container(path)
    change(claim)
    write_container(path, claim, tensors)
    with pytest.raises(FedcertError, match=path.name):
        load_certificate(path)
