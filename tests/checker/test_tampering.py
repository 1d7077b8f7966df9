"""A certificate that was changed is refused, or proves no more than is true."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file
from saved import Federation, certify_all, make_federation, make_rules
from terminal import exit_code
from torch import Tensor

from fedcert.app.cli import main
from fedcert.errors import FedcertError, InvalidCertificate
from fedcert.wire.container import read_container, write_container
from fedcert_check import check
from fedcert_check.container import read_arrays
from fedcert_check.digest import digest

Claim = dict[str, Any]
Tensors = dict[str, Tensor]
FEDERATION = make_federation(widths=(1, 2), scale=0.5)
BUDGET = 12  # products that are split for a property
CASES = {
    f"{certificate.claim.kind}-{name}-{certificate.claim.events}-{number}": (certificate, rule)
    for name, rule in make_rules(FEDERATION).items()
    if name in ("linear", "median")
    for number, certificate in enumerate(certify_all(FEDERATION, rule, BUDGET))
}


def save(case: str, folder: Path, federation: Federation = FEDERATION) -> Path:
    certificate, rule = CASES[case]
    return federation.save(folder, certificate, rule)


def reseal(path: Path, change: Callable[[Claim, Tensors], None]) -> None:
    """Change a certificate as somebody would who knows the format: all digests fit again."""
    claim, tensors = read_container(path)
    change(claim, tensors)
    for group in ("properties", "witness"):
        named = {n.removeprefix(f"{group}."): t for n, t in tensors.items() if n.startswith(f"{group}.")}
        claim[group] = digest({}, named)
    write_container(path, claim, tensors)


def fails(path: Path) -> bool:
    """Whether a check ends with a clean error or with less than is claimed."""
    try:
        return not check(path).verdict
    except FedcertError:
        return True


@pytest.mark.parametrize("case", CASES)
def test_no_part_can_be_changed_without_its_digest(case: str, tmp_path: Path) -> None:
    """Every field of the claim and every tensor: another value, a missing one, one too many."""
    path = save(case, tmp_path)
    metadata, arrays = read_arrays(path)
    tensors = {name: torch.tensor(array) for name, array in arrays.items()}
    claim = json.loads(metadata["claim"])
    changed: list[tuple[dict[str, str], Tensors]] = []
    others = [{**claim, field: "?"} for field in claim]
    others += [{k: v for k, v in claim.items() if k != field} for field in claim]
    others += [{**claim, "rule": {**claim["rule"], field: "?"}} for field in claim["rule"]]
    changed += [({**metadata, "claim": json.dumps(other)}, tensors) for other in others]
    changed += [({**metadata, field: "0"}, tensors) for field in metadata]
    changed += [({k: v for k, v in metadata.items() if k != field}, tensors) for field in metadata]
    for name, tensor in tensors.items():
        changed.append((metadata, {k: v for k, v in tensors.items() if k != name}))
        if tensor.numel():
            bytes_ = tensor.clone().reshape(-1).view(torch.uint8)
            bytes_[0] ^= 1
            changed.append((metadata, {**tensors, name: bytes_.view(tensor.dtype).reshape(tensor.shape)}))
    changed.append((metadata, {**tensors, "witness.more": torch.zeros(1)}))
    changed.append(({**metadata, "more": ""}, tensors))
    for header, content in changed:
        save_file(content, path, metadata=header)
        with pytest.raises(InvalidCertificate):
            check(path)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_sealed_again_a_claim_needs_its_own_proof(case: str, tmp_path: Path) -> None:
    """The file is consistent; what it claims is more than its witness gives, or of something else."""

    def everything(claim: Claim, tensors: Tensors) -> None:
        tensors["lower"][:] = 1.0

    def kind(name: str) -> Callable[[Claim, Tensors], None]:
        return lambda claim, tensors: claim.update(kind=name)

    def events(name: str) -> Callable[[Claim, Tensors], None]:
        return lambda claim, tensors: claim.update(events=name)

    def swapped(claim: Claim, tensors: Tensors) -> None:
        claim["messages"][0]["client"] = claim["messages"][1]["client"]

    def twice(claim: Claim, tensors: Tensors) -> None:
        claim["messages"][0] = claim["messages"][1]

    def unknown(claim: Claim, tensors: Tensors) -> None:
        claim["messages"][0]["digest"] = "0" * 64

    def harder(claim: Claim, tensors: Tensors) -> None:
        tensors["properties.d"] -= 100.0

    def wider(claim: Claim, tensors: Tensors) -> None:
        tensors["properties.upper"] += 100.0

    def stricter(claim: Claim, tensors: Tensors) -> None:
        tensors["properties.C"] *= -100.0

    def moved(claim: Claim, tensors: Tensors) -> None:
        tensors["rule.offset"] = torch.full_like(FEDERATION.laws[0].loc, 100.0)

    def fewer(claim: Claim, tensors: Tensors) -> None:
        tensors["lower"] = tensors["lower"][:-1]

    def reshaped(claim: Claim, tensors: Tensors) -> None:
        claim["network"][0]["outputs"] += 1

    def rectified(claim: Claim, tensors: Tensors) -> None:
        claim["network"].append({"type": "gelu"})

    def unclaimed(claim: Claim, tensors: Tensors) -> None:
        tensors["upper"] = tensors["lower"].clone()  # no upper bound below 1 is proven

    changes = [everything, swapped, twice, unknown, fewer, reshaped, rectified, unclaimed]
    changes += [kind(name) for name in ("local", "transported", "direct", "?") if not case.startswith(name)]
    changes += [events(name) for name in ("box", "paper-box", "cells", "?") if f"-{name}-" not in case]
    changes += [harder, stricter, wider]
    if not case.startswith("local"):
        changes.append(moved)
    for change in changes:
        path = save(case, tmp_path)
        reseal(path, change)
        assert fails(path), change


def exact_cases() -> list[str]:
    """Those whose claim is the mass of the witness up to rounding: lattices claim a bit less."""
    lattice = {
        c for c, (own, _) in CASES.items() if (own.witness.tensors.get("view", torch.zeros(1)) == 1).any()
    }
    return [case for case in CASES if case not in lattice]


@pytest.mark.parametrize("case", exact_cases())
def test_a_bound_raised_by_a_billionth_is_not_proved(case: str, tmp_path: Path) -> None:
    for p in (CASES[case][0].lower > 0).nonzero().squeeze(-1).tolist():
        path = save(case, tmp_path)

        def raised(claim: Claim, tensors: Tensors, p: int = p) -> None:
            tensors["lower"][p] = min(1.0, tensors["lower"][p].item() + 1e-9)

        reseal(path, raised)
        report = check(path)
        assert report.failures == (p,)
        assert report.proved[p].lower >= CASES[case][0].lower[p]  # the figure that does hold


def more_accepted(claim: Claim, tensors: Tensors) -> None:
    """Every cell or tuple is claimed to be safe for every property, with what it would weigh."""
    for name, tensor in tensors.items():
        if "accepted" in name:
            tensor[:] = True
    tensors["lower"] = (tensors["lower"] + 1e-6).clamp(max=1.0)


def repeated(claim: Claim, tensors: Tensors) -> None:
    """Each cell, tuple, node or tile is there twice."""
    for name in list(tensors):
        own = name.removeprefix("witness.")
        if own in ("tuples", "nodes.property", "nodes.cells") or "tiles." in own or own.startswith("cells."):
            tensors[name] = torch.cat([tensors[name], tensors[name]])
        elif own == "accepted":
            tensors[name] = torch.cat([tensors[name]] * 2, dim=0 if "witness.tuples" in tensors else 1)
        elif own == "nodes.offsets":
            tensors[name] = torch.cat([tensors[name], tensors[name][1:] + tensors[name][-1]])
    tensors["lower"] = (2 * tensors["lower"]).clamp(max=1.0)


def widened(claim: Claim, tensors: Tensors) -> None:
    """Radii, cells and tiles are made so large that they weigh everything."""
    for name, tensor in tensors.items():
        if "radius." in name and tensor.dtype == torch.float16:
            tensor[:] = 8.0
        if name.endswith(("cells.lower", "tiles.lower")):
            tensor -= 1e3
        if name.endswith(("cells.upper", "tiles.upper")):
            tensor += 1e3
    tensors["lower"] = (tensors["lower"] + 1e-6).clamp(max=1.0)


def other_view(claim: Claim, tensors: Tensors) -> None:
    """Products are counted as lattices, lattices as tiles, tiles as nothing."""
    for name in list(tensors):
        if name.endswith("view"):
            tensors[name] = (tensors[name] % 3) + 1
            if "transported" in claim["kind"] and claim["rule"]["type"] == "linear":
                tensors[name] = torch.full_like(tensors[name], 3)
    tensors["lower"] = (tensors["lower"] + 1e-6).clamp(max=1.0)


def out_of_range(claim: Claim, tensors: Tensors) -> None:
    """Indices of cells, rows and properties that do not exist."""
    for name, tensor in tensors.items():
        if tensor.dtype == torch.int32 and name.startswith("witness."):
            tensor += 1000
    tensors["lower"] = (tensors["lower"] + 1e-6).clamp(max=1.0)


def negative(claim: Claim, tensors: Tensors) -> None:
    """Negative radii, whose masses would have two wrong signs that cancel; reversed cells."""
    for name, tensor in tensors.items():
        if "radius." in name and tensor.dtype == torch.float16:
            tensor[:] = -8.0
        if name.endswith(("cells.lower", "tiles.lower")):
            tensor += 1e3
    tensors["lower"] = (tensors["lower"] + 1e-6).clamp(max=1.0)


@pytest.mark.parametrize(
    "change", [more_accepted, repeated, widened, other_view, out_of_range, negative], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("case", exact_cases())
def test_a_forged_witness_proves_nothing_more(case: str, change, tmp_path: Path) -> None:
    path = save(case, tmp_path)
    reseal(path, change)
    assert fails(path)


@pytest.mark.parametrize("name", ["law.loc", "law.scale", "cells.lower", "cells.upper"])
def test_a_changed_message_is_not_the_one_that_was_certified(name: str, tmp_path: Path) -> None:
    path = save(next(iter(CASES)), tmp_path)
    message = tmp_path / "messages" / "client-1.safetensors"
    metadata, arrays = read_arrays(message)
    tensors = {name: torch.tensor(array) for name, array in arrays.items()}
    tensors[name].reshape(-1)[0] *= 1 + 2e-16
    save_file(tensors, message, metadata=metadata)
    with pytest.raises(InvalidCertificate, match="client-1"):
        check(path)


@pytest.mark.slow
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_random_bytes_never_crash_nor_prove_another_claim(tmp_path: Path, data: st.DataObject) -> None:
    """Flipped, cut or inserted bytes: a clean error, or the very same certificate."""
    case = data.draw(st.sampled_from(sorted(CASES)))
    path = save(case, tmp_path)
    before, original = path.read_bytes(), read_container(path)
    content = bytearray(before)
    header = 8 + int.from_bytes(before[:8], "little")
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, header - 1) | st.integers(0, len(content) - 1))
        content[place] ^= data.draw(st.integers(1, 255))
    cut = data.draw(st.integers(0, 3))
    path.write_bytes(content[: len(content) - cut])
    try:
        report = check(path)
    except InvalidCertificate:
        return
    claim, tensors = read_container(path)
    assert report.verdict
    assert claim == original[0]
    assert tensors.keys() == original[1].keys()
    assert all(torch.equal(tensors[name], original[1][name]) for name in tensors)


def check_command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    return exit_code(monkeypatch, main, "fedcert", "check", "--jobs", "1", *arguments)


def test_the_command_says_what_holds_and_ends_with_0_1_or_2(monkeypatch, capsys, tmp_path: Path) -> None:
    case = next(case for case in exact_cases() if case.startswith("direct-linear-box"))
    path = save(case, tmp_path)
    assert check_command(monkeypatch, str(path)) == 0
    assert "proved" in capsys.readouterr().out
    (tmp_path / "messages").rename(tmp_path / "elsewhere")
    assert check_command(monkeypatch, str(path)) == 2
    assert "--messages" in capsys.readouterr().err
    assert check_command(monkeypatch, str(path), "--messages", str(tmp_path / "elsewhere")) == 0
    reseal(path, lambda claim, tensors: tensors["lower"][3:].add_(1 - tensors["lower"][3:]))
    capsys.readouterr()
    assert check_command(monkeypatch, str(path), "--messages", str(tmp_path / "elsewhere")) == 1
    printed = capsys.readouterr().out
    assert "NOT PROVED" in printed
    assert repr(check(path, tmp_path / "elsewhere").proved[3].lower) in printed
    path.write_bytes(b"\x80\x04pickle")
    assert check_command(monkeypatch, str(path)) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
