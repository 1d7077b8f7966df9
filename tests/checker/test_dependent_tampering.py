"""Tensors of dense, Kronecker, block and last-layer laws that were changed, in messages and certificates."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import safetensors
import torch
from dependent_certificates import fails, prepared, reseal
from dependent_problems import Structure
from tampering import Change, tamper
from torch import Tensor

from fedcert.errors import InvalidCertificate
from fedcert.wire.container import read_container
from fedcert_check import check

pytestmark = pytest.mark.slow

Tensors = dict[str, Tensor]
LAWS: dict[Structure, tuple[str, ...]] = {
    "joined": ("law.loc", "law.factor"),
    "last": ("law.loc", "law.factor"),
    "kronecker": ("law.loc", "law.blocks", "law.numbers"),
    "head": ("law.loc", "law.blocks", "law.numbers"),
    "mixed": ("law.loc", "law.blocks", "law.numbers"),
}
TENSORS = [(structure, name) for structure, names in LAWS.items() for name in names]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Structure], Path]:
    """The folder of a certificate and its messages, made once for each structure."""

    @cache
    def made(structure: Structure) -> Path:
        folder = tmp_path_factory.mktemp(structure)
        prepared(folder, structure, "direct")
        return folder

    return made


Copied = Callable[[Structure], tuple[Path, Path]]


@pytest.fixture
def copied(original: Callable[[Structure], Path], tmp_path: Path) -> Copied:
    """A certificate of a structure, and the message of its first client, to be changed."""

    def copy(structure: Structure) -> tuple[Path, Path]:
        folder = tmp_path / "copy"
        shutil.copytree(original(structure), folder, dirs_exist_ok=True)
        return (
            folder / "certificates" / "certificate.safetensors",
            folder / "messages" / "client-0.safetensors",
        )

    return copy


def accomplice(path: Path, message: Path, change: Change) -> None:
    """Change a message and sign it again; the certificate names the new one."""
    tamper(message, change)
    with safetensors.safe_open(message, framework="pt") as file:
        signature = file.metadata()["digest"]
    reseal(path, lambda claim, tensors: claim["messages"][0].update(digest=signature))


def entry(name: str) -> Change:
    """The smallest change of one entry, the first that is not 0."""

    def change(tensors: Tensors, metadata: dict[str, str]) -> None:
        flat = tensors[name].view(-1)
        place = int(flat.nonzero()[0])
        flat[place] = torch.nextafter(flat[place], torch.tensor(torch.inf).double())

    return change


@pytest.mark.parametrize(("structure", "name"), TENSORS)
@pytest.mark.parametrize("signed", [False, True])
def test_a_message_with_one_entry_changed_is_another_message(
    structure: Structure, name: str, signed: bool, copied: Copied
) -> None:
    path, message = copied(structure)
    tamper(message, entry(name), sign=signed)
    with pytest.raises(InvalidCertificate, match=r"message of 'client-0' in .* is another one"):
        check(path)


@pytest.mark.parametrize(("structure", "name"), [own for own in TENSORS if own[1] != "law.blocks"])
def test_tensors_of_two_clients_are_not_swapped(structure: Structure, name: str, copied: Copied) -> None:
    path, message = copied(structure)
    with safetensors.safe_open(message.with_name("client-1.safetensors"), framework="pt") as file:
        theirs = file.get_tensor(name)
    tamper(message, lambda tensors, metadata: tensors.update({name: theirs}))
    with pytest.raises(InvalidCertificate, match=r"message of 'client-0' in .* is another one"):
        check(path)


def louder(tensors: Tensors, metadata: dict[str, str]) -> None:
    """One number of the noise of the last layer, 10,000 times as large."""
    own = tensors.get("law.factor", tensors.get("law.numbers"))
    assert own is not None
    flat = own.view(-1)
    flat[int(flat.nonzero()[-1])] *= 1e4


def elsewhere(tensors: Tensors, metadata: dict[str, str]) -> None:
    """The means of all parameters, with the other sign and far away."""
    tensors["law.loc"] *= -100.0


@pytest.mark.parametrize("structure", LAWS)
@pytest.mark.parametrize("change", [louder, elsewhere])
def test_a_claim_is_not_proved_of_another_law(structure: Structure, change: Change, copied: Copied) -> None:
    """All digests fit: what is left is the proof."""
    path, message = copied(structure)
    assert check(path).verdict
    accomplice(path, message, change)
    report = check(path)
    assert report.failures == (0,)


def cut(name: str, axis: int) -> Change:
    def change(tensors: Tensors, metadata: dict[str, str]) -> None:
        own = tensors[name]
        tensors[name] = own.narrow(axis, 0, own.shape[axis] - 1).contiguous()

    return change


def put(place: tuple[int, int], value: float) -> Change:
    def change(tensors: Tensors, metadata: dict[str, str]) -> None:
        tensors["law.blocks"][place] = value

    return change


def reshape(name: str, *shape: int) -> Change:
    def change(tensors: Tensors, metadata: dict[str, str]) -> None:
        tensors[name] = tensors[name].reshape(shape)

    return change


def single(name: str) -> Change:
    def change(tensors: Tensors, metadata: dict[str, str]) -> None:
        tensors[name] = tensors[name].float()

    return change


def infinite(name: str) -> Change:
    def change(tensors: Tensors, metadata: dict[str, str]) -> None:
        tensors[name].view(-1)[-1] = torch.inf

    return change


def without(name: str) -> Change:
    return lambda tensors, metadata: tensors.pop(name)


def negative(tensors: Tensors, metadata: dict[str, str]) -> None:
    """A scale of the first block, whose numbers come first and its scales last."""
    code, _, first, second = tensors["law.blocks"][0].long().tolist()
    sizes = {1: first, 3: first * first + second * second + first * second}
    tensors["law.numbers"][sizes[code] - 1] *= -1


MALFORMED: dict[str, tuple[Structure, Change, str]] = {
    "factor without a row": ("joined", cut("law.factor", 0), "tensor law.factor has type"),
    "factor as a vector": ("joined", reshape("law.factor", -1), "tensor law.factor has type"),
    "factor in single precision": ("last", single("law.factor"), "tensor law.factor has type float32"),
    "factor that is infinite": ("joined", infinite("law.factor"), "tensor law.factor is not finite"),
    "no factor": ("last", without("law.factor"), "tensor law.factor is missing"),
    "mean without an entry": ("kronecker", cut("law.loc", 0), "tensor law.loc has type"),
    "numbers without an entry": ("kronecker", cut("law.numbers", 0), "fewer numbers than the blocks need"),
    "numbers that are infinite": ("head", infinite("law.numbers"), "tensor law.numbers is not finite"),
    "numbers as a matrix": ("mixed", reshape("law.numbers", 1, -1), "tensor law.numbers has type"),
    "no numbers": ("mixed", without("law.numbers"), "tensor law.numbers is missing"),
    "table without a column": ("kronecker", cut("law.blocks", 1), "tensor law.blocks has type"),
    "table without a block": ("kronecker", cut("law.blocks", 0), "more numbers than the blocks need"),
    "no table": ("head", without("law.blocks"), "tensor law.blocks is missing"),
    "another type": ("head", put((0, 0), 7.0), "a block of type 7"),
    "half a type": ("head", put((0, 0), 2.5), "no whole number"),
    "a negative place": ("kronecker", put((0, 1), -1.0), "no whole number"),
    "a place beyond": ("kronecker", put((0, 1), 1e6), "a block up to parameter"),
    "a place between": ("kronecker", put((0, 1), 1.0), "not about the weight matrix"),
    "another length": ("kronecker", put((-1, 3), 1.0), "more numbers than the blocks need"),
    "a negative scale": ("mixed", negative, "a scale is negative"),
    "a negative Kronecker scale": ("kronecker", negative, "a scale is negative"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_law_of_another_shape_is_refused_by_its_tensor(case: str, copied: Copied) -> None:
    structure, change, words = MALFORMED[case]
    path, message = copied(structure)
    accomplice(path, message, change)
    with pytest.raises(InvalidCertificate, match=words):
        check(path)


@pytest.mark.parametrize("structure", LAWS)
def test_no_tensor_of_a_certificate_is_changed_without_its_digest(
    structure: Structure, copied: Copied
) -> None:
    path, _ = copied(structure)
    _, tensors = read_container(path)
    for name in (name for name, own in tensors.items() if own.numel()):
        tamper(path, _first_byte(name), sign=False)
        with pytest.raises(InvalidCertificate):
            check(path)
        copied(structure)
    assert check(path).verdict


def _first_byte(name: str) -> Change:
    def change(tensors: Tensors, metadata: dict[str, str]) -> None:
        bytes_ = tensors[name].clone().reshape(-1).view(torch.uint8)
        bytes_[0] ^= 1
        tensors[name] = bytes_.view(tensors[name].dtype).reshape(tensors[name].shape)

    return change


@pytest.mark.parametrize("structure", ["joined", "kronecker"])
@pytest.mark.parametrize(
    "change", [lambda own: own[:-1], lambda own: own.unsqueeze(0), lambda own: own.double()]
)
def test_a_witness_of_another_shape_is_refused_or_proves_no_more(
    structure: Structure, change: Callable[[Tensor], Tensor], copied: Copied
) -> None:
    """Sealed again; a tensor that the proof does not look at leaves it as it was."""
    path, _ = copied(structure)
    _, tensors = read_container(path)
    refused = 0
    for name in (name for name, own in tensors.items() if name.startswith("witness.") and own.numel()):
        reseal(path, lambda claim, own, name=name: own.update({name: change(own[name])}))
        refused += fails(path)
        copied(structure)
    assert refused > 0
    reseal(path, lambda claim, own: own["lower"].add_(1e-6))
    assert fails(path)
