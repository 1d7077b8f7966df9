"""Networks made to fool verifiers do not fool the checker, whatever a certificate says of them."""

from pathlib import Path

import pytest
import torch
from flint import ctx
from fooling import Fooling, cancelling, near_zero, planted
from saved_certificates import as_network, as_properties
from test_fooling import certificates
from torch import Tensor

from fedcert.certificate import Certificate
from fedcert.families.cells import Cells
from fedcert.wire.certificate_file import save_certificate
from fedcert.wire.container import read_container, write_container
from fedcert.wire.message import Message
from fedcert_check import check
from fedcert_check.balls import PRECISION, Interval, exact
from fedcert_check.digest import digest
from fedcert_check.rules import LinearRule
from fedcert_check.verifier import proven, unflatten

POINTS = {fooling.name: fooling for fooling in [*cancelling(), *map(near_zero, range(3))]}


def proofs(fooling: Fooling) -> Tensor:
    """Which properties the checker proves of the deployed mean."""
    properties = as_properties(fooling.properties)
    rule = LinearRule("linear", fooling.rule.weights.numpy())
    with ctx.workprec(PRECISION):
        means = [exact(law.loc.numpy()) for law in fooling.laws]
        image = rule.image([Interval(mean, mean) for mean in means])
        deployed = unflatten(as_network(fooling.network), image)
        return torch.tensor([proven(deployed, properties, p) for p in range(len(properties))])


@pytest.mark.parametrize("name", POINTS)
def test_the_sign_of_a_margin_is_decided_however_small_it_is(name: str) -> None:
    """Of a single network at a single input: safe is proven, unsafe is not."""
    assert torch.equal(proofs(POINTS[name]), ~POINTS[name].unsafe)


def forged(path: Path) -> None:
    """A certificate that claims ½ of every property, and says of every cell and box that it is safe."""
    claim, tensors = read_container(path)
    tensors["lower"].fill_(0.5)
    if "upper" in tensors:
        tensors["upper"].fill_(1.0)
    for name, tensor in tensors.items():
        if name.startswith("witness.accepted"):
            tensor.fill_(True)
        if name == "witness.view":
            tensor.fill_(2)
        if name == "witness.radius.tensor":
            tensor.fill_(4.0)
    chosen = {n.removeprefix("witness."): t for n, t in tensors.items() if n.startswith("witness.")}
    claim["witness"] = digest({}, chosen)
    write_container(path, claim, tensors)


def save(fooling: Fooling, certificate: Certificate, folder: Path) -> Path:
    messages = [
        Message(f"client-{i}", law, Cells.none(law.dimension), 1) for i, law in enumerate(fooling.laws)
    ]
    for message in messages:
        message.save(folder / "messages" / f"{message.client}.safetensors")
    path = folder / "certificates" / "certificate.safetensors"
    save_certificate(path, certificate, fooling.network, fooling.properties, fooling.rule, messages)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", [*POINTS, "planted"])
@pytest.mark.usefixtures("without_annotations")
def test_no_certificate_of_a_fooling_network_is_proved_wrongly(name: str, tmp_path: Path) -> None:
    """What the fast path claims is proved; what a forger claims of an unsafe network is not."""
    fooling = planted(0) if name == "planted" else POINTS[name]
    made = certificates(fooling)[1:]  # the messages here hold no cells
    for number, certificate in enumerate(made[2::2] if name == "planted" else made):
        path = save(fooling, certificate, tmp_path / str(number))
        assert check(path).verdict
        forged(path)
        proved = torch.tensor([own.lower for own in check(path).proved])
        assert (proved[fooling.unsafe] < 1e-6).all(), certificate.claim
