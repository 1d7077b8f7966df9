"""Reading what is to be checked: anything malformed is a clean error, even under a fitting digest."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from saved import make_federation, make_rules
from torch import Tensor

from fedcert.certificate import Certificate, Claim
from fedcert.errors import InvalidCertificate, TooCostly
from fedcert.wire import tensorfile
from fedcert.wire.container import read_container, write_container
from fedcert.witness import Witness
from fedcert_check import check, files
from fedcert_check.container import VERSION, read_arrays
from fedcert_check.digest import digest
from fedcert_check.files import read
from fedcert_check.layers import MAX_LAYERS
from fedcert_check.rules import MAX_CLIENTS, TrimmedMean

FEDERATION = make_federation(widths=(2, 2))
RULES = make_rules(FEDERATION)


def save(folder: Path, name: str = "fedavg") -> Path:
    claim = Claim("transported", name, "box")
    certificate = Certificate(claim, torch.zeros(4, dtype=torch.float64), witness=Witness({}))
    return FEDERATION.save(folder, certificate, RULES[name])


def sealed(path: Path, change: Callable[[dict[str, Any], dict[str, Tensor]], object]) -> None:
    claim, tensors = read_container(path)
    change(claim, tensors)
    named = {n.removeprefix("properties."): t for n, t in tensors.items() if n.startswith("properties.")}
    if isinstance(claim.get("properties"), str):
        claim["properties"] = digest({}, named)
    write_container(path, claim, tensors)


def test_a_document_holds_what_was_saved(tmp_path: Path) -> None:
    for name, rule in RULES.items():
        document = read(save(tmp_path, name), tmp_path / "messages")
        assert (document.kind, document.events, document.rule.name) == ("transported", "box", name)
        assert document.dimension == FEDERATION.safe.network.parameters
        assert [client.name for client in document.clients] == ["client-0", "client-1", "client-2"]
        assert isinstance(document.rule, TrimmedMean) == (name in ("median", "trimmed-mean"))
        assert rule.clients == document.rule.clients
        assert (document.properties.d == FEDERATION.safe.properties.d.numpy()).all()


@pytest.mark.parametrize("value", [None, 3, -1, 2.5, "x", [], {}, [[]], [{}], True, {"type": []}, 10**30])
def test_no_value_of_a_field_crashes(value: object, tmp_path: Path) -> None:
    path = save(tmp_path)
    whole, tensors = read_container(path)
    for field in whole:
        write_container(path, {**whole, field: value}, tensors)
        harmless = (field == "events" and isinstance(value, str)) or (field, value) == ("subject", None)
        if not harmless:
            with pytest.raises(InvalidCertificate):
                read(path, tmp_path / "messages")
    for part, inner in (
        ("rule", whole["rule"]),
        ("network", whole["network"][0]),
        ("messages", whole["messages"][0]),
    ):
        for field in inner:
            changed = {**inner, field: value}
            held = changed if part == "rule" else [changed, *whole[part][1:]]
            write_container(path, {**whole, part: held}, tensors)
            if (part, field) != ("rule", "name") and not (field == "clients" and value == 3):
                with pytest.raises(InvalidCertificate):
                    read(path, tmp_path / "messages")


@pytest.mark.parametrize(
    "name", ["lower", "rule.weights", "properties.lower", "properties.upper", "properties.C", "properties.d"]
)
def test_no_tensor_may_be_missing_or_of_another_kind(name: str, tmp_path: Path) -> None:
    changes = [
        lambda claim, tensors: tensors.pop(name),
        lambda claim, tensors: tensors.update({name: tensors[name].float()}),
        lambda claim, tensors: tensors.update({name: tensors[name].half()}),
        lambda claim, tensors: tensors.update({name: tensors[name][None]}),
        lambda claim, tensors: tensors.update({name: tensors[name][:1].clone()}),
        lambda claim, tensors: tensors[name].fill_(float("nan")),
        lambda claim, tensors: tensors[name].fill_(float("inf")),
    ]
    for change in changes:
        path = save(tmp_path)
        sealed(path, change)
        with pytest.raises(InvalidCertificate):
            read(path, tmp_path / "messages")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda claim, tensors: tensors.update(more=torch.zeros(1)), "no place"),
        (lambda claim, tensors: tensors["lower"].fill_(1.5), "outside"),
        (lambda claim, tensors: tensors.update(upper=tensors["lower"] - 1), "upper bound"),
        (lambda claim, tensors: tensors["properties.lower"].add_(1.0), "above its upper end"),
        (lambda claim, tensors: claim["rule"].update(name="median"), "is not called median"),
        (lambda claim, tensors: claim["rule"].update(type="trimmed-mean", trim=1), "no weights"),
        (lambda claim, tensors: claim["messages"].pop(), "3 clients"),
        (lambda claim, tensors: claim["network"].append(claim["network"][0] | {"inputs": 9}), "follows"),
    ],
)
def test_what_does_not_fit_together_is_named(change, complaint: str, tmp_path: Path) -> None:
    path = save(tmp_path)
    sealed(path, change)
    with pytest.raises(InvalidCertificate, match=complaint):
        read(path, tmp_path / "messages")


@pytest.mark.parametrize(
    ("field", "value"),
    [("law.scale", 0.0), ("law.scale", -1.0), ("law.loc", float("nan")), ("cells.upper", -1e9)],
)
def test_a_message_that_is_no_law_is_refused_although_it_is_named(field, value, tmp_path: Path) -> None:
    path = save(tmp_path)
    message = tmp_path / "messages" / "client-2.safetensors"
    metadata, arrays = read_arrays(message)
    tensors = {name: torch.tensor(array) for name, array in arrays.items()}
    tensors[field].reshape(-1)[0] = value
    save_file(tensors, message, metadata=metadata)
    sealed(path, lambda claim, _: claim["messages"][2].update(digest=digest(metadata, tensors)))
    with pytest.raises(InvalidCertificate, match="client-2"):
        read(path, tmp_path / "messages")


@pytest.mark.parametrize(
    "name", ["\ud800", "[/nope]", "x" * 65, "fedavg box │100.00 │proved", "", "a b", "é\n"]
)
@pytest.mark.parametrize("field", ["rule", "events"])
def test_names_are_plain_for_they_are_shown_to_people(field: str, name: str, tmp_path: Path) -> None:
    path = save(tmp_path)
    sealed(
        path,
        lambda claim, _: claim["rule"].update(name=name) if field == "rule" else claim.update(events=name),
    )
    with pytest.raises(InvalidCertificate, match="plain name"):
        read(path, tmp_path / "messages")


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: tensors["rule.weights"].mul_(1e-300),
        lambda tensors: tensors["rule.weights"].copy_(torch.tensor([[2.0], [-0.5], [-0.5]])),
        lambda tensors: tensors.update({
            "rule.offset": torch.zeros(FEDERATION.safe.network.parameters).double()
        }),
    ],
    ids=["tiny", "negative", "offset"],
)
def test_what_is_called_an_average_is_one(change, tmp_path: Path) -> None:
    path = save(tmp_path)
    sealed(path, lambda _, tensors: change(tensors))
    with pytest.raises(InvalidCertificate, match="fedavg is a weighted average"):
        read(path, tmp_path / "messages")


def test_a_claim_that_says_two_things_is_refused(tmp_path: Path) -> None:
    """Two values of one name: one reader takes the first, another the last."""
    path = save(tmp_path)
    claim, tensors = read_container(path)
    text = f'{{"kind": "direct", {json.dumps(claim)[1:]}'
    header = {"format": "fedcert-certificate", "version": VERSION, "claim": text}
    tensorfile.write(path, {**header, "digest": digest(header, tensors)}, tensors)
    with pytest.raises(InvalidCertificate, match="twice"):
        read(path, tmp_path / "messages")


def test_a_relu_after_a_relu_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path)
    sealed(path, lambda claim, _: claim["network"].extend([{"type": "relu"}] * 2))
    with pytest.raises(InvalidCertificate, match="an activation follows another"):
        read(path, tmp_path / "messages")


@pytest.mark.parametrize(
    ("cells", "offsets"),
    [
        ([0, 0, 0, 0], [0, 2**31 - 1, -(2**31), -1, 1, 2, 4]),  # differences that wrap around
        ([0, 0, 0, 0], [0, 1, 1, 2, 3, 3, 4]),  # an empty set
        ([0, 0, 0, 7, 7, 7], [0, 1, 2, 3, 4, 5, 6]),  # cells that nobody has
    ],
)
def test_nodes_that_are_none_are_refused(cells: list[int], offsets: list[int], tmp_path: Path) -> None:
    witness = {
        "nodes.property": torch.zeros(2, dtype=torch.int32),
        "nodes.cells": torch.tensor(cells, dtype=torch.int32),
        "nodes.offsets": torch.tensor(offsets, dtype=torch.int32),
    }
    family = "+".join(sorted({message.events for message in FEDERATION.messages}))
    claim = Claim("transported", "fedavg", family)
    certificate = Certificate(claim, torch.full((4,), 0.5, dtype=torch.float64), witness=Witness(witness))
    path = FEDERATION.save(tmp_path, certificate, RULES["fedavg"])
    with pytest.raises(InvalidCertificate, match=r"offsets|no cell"):
        check(path)


@pytest.mark.parametrize("name", ["a[/b]", "\x1b[2K", "a\nproved", "\u202e", "", "x" * 65])
def test_clients_have_plain_names_too(name: str, tmp_path: Path) -> None:
    path = save(tmp_path)
    sealed(path, lambda claim, _: claim["messages"][1].update(client=name))
    with pytest.raises(InvalidCertificate, match="not a plain name") as refused:
        read(path, tmp_path / "messages")
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(("field", "complaint"), [("client", "is not in"), ("events", "not a plain name")])
def test_a_message_that_is_named_says_who_it_is_from_in_plain_words(
    field: str, complaint: str, tmp_path: Path
) -> None:
    path = save(tmp_path)
    message = tmp_path / "messages" / "client-2.safetensors"
    metadata, arrays = read_arrays(message)
    tensors = {name: torch.tensor(array) for name, array in arrays.items()}
    del metadata["digest"]
    metadata[field] = "a[/b]\x1b[2K"
    save_file(tensors, message, metadata=metadata)
    sealed(path, lambda claim, _: claim["messages"][2].update(digest=digest(metadata, tensors)))
    with pytest.raises(InvalidCertificate, match=complaint):
        read(path, tmp_path / "messages")


def test_files_that_are_not_wanted_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A foreign file, however large, costs its header; so does the message of another client."""
    path, folder = save(tmp_path), tmp_path / "messages"
    metadata, _ = read_arrays(folder / "client-2.safetensors")
    large = torch.zeros(10**6, dtype=torch.uint8)
    save_file({"noise": large}, folder / "foreign.safetensors", metadata={"format": "another"})
    save_file({"noise": large}, folder / "other.safetensors", metadata={**metadata, "client": "nobody"})
    names = []
    monkeypatch.setattr(files, "read_arrays", lambda path: names.append(path.name) or read_arrays(path))
    document = read(path, folder)
    assert names == ["client-0.safetensors", "client-1.safetensors", "client-2.safetensors"]
    (line,) = document.skipped
    assert "foreign.safetensors: not a fedcert message" in line


def test_what_takes_too_much_memory_to_read_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder = save(tmp_path), tmp_path / "messages"
    sizes = [file.stat().st_size for file in (path, *sorted(folder.iterdir()))]
    assert len(read(path, folder, 2 * sum(sizes)).clients) == 3
    with pytest.raises(TooCostly, match=r"client-2\.safetensors: reading .* raise --max-memory"):
        read(path, folder, 2 * sum(sizes) - 1)
    monkeypatch.setattr(files, "read_claim", lambda path: pytest.fail("it was read"))
    with pytest.raises(TooCostly, match=r"certificate\.safetensors: reading"):
        read(path, folder, sizes[0])


def test_the_lists_of_a_claim_are_bounded(tmp_path: Path) -> None:
    path = save(tmp_path)
    layers = [{"type": "linear", "inputs": 2, "outputs": 2}, {"type": "relu"}] * MAX_LAYERS
    sealed(path, lambda claim, _: claim.update(network=layers))
    with pytest.raises(InvalidCertificate, match="2000 layers"):
        read(path, tmp_path / "messages")
    path = save(tmp_path)
    sealed(path, lambda claim, _: claim["rule"].update(clients=MAX_CLIENTS + 1))
    with pytest.raises(InvalidCertificate, match="10001 clients"):
        read(path, tmp_path / "messages")


@pytest.mark.parametrize("value", ["y" * 100_000, [[]] * 10_000, {"z" * 5000: 1}])
def test_an_error_quotes_no_more_than_a_line(value: object, tmp_path: Path) -> None:
    path = save(tmp_path)
    whole, tensors = read_container(path)
    others = [{**whole, field: value} for field in ("kind", "rule", "network", "messages")]
    others += [{**whole, "y" * 100_000: 0}, {**whole, "rule": {**whole["rule"], "type": value}}]
    others += [{**whole, "network": [{**whole["network"][0], "inputs": value}]}]
    others += [{**whole, "messages": [{"client": value, "digest": ""}] * 3}]
    for claim in others:
        write_container(path, claim, tensors)
        with pytest.raises(InvalidCertificate) as refused:
            read(path, tmp_path / "messages")
        assert len(str(refused.value)) < 400 + len(str(path))


def test_what_lies_beside_the_messages_is_skipped_with_a_note(tmp_path: Path) -> None:
    path = save(tmp_path)
    folder = tmp_path / "messages"
    (folder / "a-torn.safetensors").write_bytes(b"\x80\x04pickle")
    (folder / "certificate.safetensors").write_bytes(path.read_bytes())
    (folder / "copy.safetensors").write_bytes((folder / "client-0.safetensors").read_bytes())
    save_file({"x": torch.zeros(1)}, folder / "foreign.safetensors")
    document = read(path, folder)
    assert [client.name for client in document.clients] == ["client-0", "client-1", "client-2"]
    names = ("a-torn", "certificate", "foreign")
    assert len(document.skipped) == len(names)
    for line, name in zip(document.skipped, names, strict=True):
        assert line.startswith("skipped: ")
        assert f"{name}.safetensors" in line


def test_a_named_message_that_is_torn_is_missing(tmp_path: Path) -> None:
    path = save(tmp_path)
    message = tmp_path / "messages" / "client-1.safetensors"
    message.write_bytes(message.read_bytes()[:100])
    with pytest.raises(InvalidCertificate, match=r"'client-1' is not in .* skipped: .*client-1.safetensors"):
        read(path, tmp_path / "messages")
