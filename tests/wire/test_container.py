"""The envelope of certificate files: what is read is what was written, or an error."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from problems import vector
from torch import Tensor

from fedcert.errors import InvalidCertificate
from fedcert.wire import tensorfile
from fedcert.wire.container import read_container, write_container
from fedcert_check.container import FORMAT, MAX_CLAIM_CHARACTERS, VERSION
from fedcert_check.digest import digest

CLAIM = {"kind": "direct", "rule": {"name": "fedavg", "clients": 3}, "share": 0.1, "ünï": [None, True]}
TENSORS = {"lower": vector(0.0, 5e-324, 1 / 3), "member": torch.tensor([[True, False]])}
DTYPES = (torch.float64, torch.float32, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool)
NUMBERS = st.integers(-(2**64), 2**64) | st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(TEXT, part, max_size=3),
    max_leaves=8,
)
files = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "certificates" / "one.safetensors"


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    """Any bits of any type, also with no entry at all or no axis."""
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    dtype = draw(st.sampled_from(DTYPES))
    count = math.prod(shape) * dtype.itemsize
    content = bytearray(draw(st.binary(min_size=count, max_size=count)) or b"\0")
    if dtype == torch.bool:
        content = bytearray(byte % 2 for byte in content)
    return torch.frombuffer(content, dtype=torch.uint8)[:count].view(dtype).reshape(shape)


def identical(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
    """To the last bit, NaN included."""
    return one.keys() == other.keys() and all(
        (a.dtype, a.shape) == (b.dtype, b.shape) and a.numpy().tobytes() == b.numpy().tobytes()
        for a, b in ((one[name], other[name]) for name in one)
    )


@files
@given(
    st.dictionaries(TEXT, JSON, max_size=4),
    st.dictionaries(st.sampled_from(["lower", "upper", "witness.a", "ü"]), tensors()),
)
def test_what_is_read_is_what_was_written(path: Path, claim: dict, content: dict[str, Tensor]) -> None:
    write_container(path, claim, content)
    read, found = read_container(path)
    assert json.dumps(read, sort_keys=True) == json.dumps(claim, sort_keys=True)
    assert identical(found, content)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_views_and_tensors_that_are_trained_are_written_as_their_numbers(path: Path) -> None:
    wide = torch.arange(12.0).double().reshape(3, 4).requires_grad_()
    write_container(path, {}, {"column": wide[:, 1], "turned": wide.mT, "spread": wide[:1].expand(2, 4)})
    found = read_container(path)[1]
    assert found["column"].tolist() == [1.0, 5.0, 9.0]
    assert torch.equal(found["turned"], wide.detach().mT)
    assert found["spread"].tolist() == 2 * [[0.0, 1.0, 2.0, 3.0]]


def test_equal_contents_are_equal_files_in_whatever_order(path: Path) -> None:
    write_container(path, CLAIM, TENSORS)
    first = path.read_bytes()
    write_container(path, dict(reversed(CLAIM.items())), dict(reversed(TENSORS.items())))
    assert path.read_bytes() == first


def test_what_is_read_is_the_readers_own(path: Path) -> None:
    write_container(path, CLAIM, TENSORS)
    claim, found = read_container(path)
    claim["kind"] = "local"
    found["lower"].fill_(1.0)
    again, kept = read_container(path)
    assert again == CLAIM
    assert identical(kept, TENSORS)


@files
@given(st.data())
def test_a_damaged_file_is_refused_or_says_the_same(path: Path, data: st.DataObject) -> None:
    """A blank between the parts of the header may be another blank: nothing else may change."""
    write_container(path, CLAIM, TENSORS)
    content = path.read_bytes()
    at = data.draw(st.integers(0, len(content) - 1))
    damaged = data.draw(
        st.sampled_from([content[:at], content + b"\0", content[:at] + content[at + 1 :]])
        | st.integers(1, 255).map(lambda bits: content[:at] + bytes([content[at] ^ bits]) + content[at + 1 :])
    )
    path.write_bytes(damaged)
    try:
        claim, found = read_container(path)
    except InvalidCertificate:
        return
    assert claim == CLAIM
    assert identical(found, TENSORS)


def sealed(path: Path, claim: str, **metadata: str) -> None:
    """A file with a digest that fits its header, whatever that says."""
    header = {"format": FORMAT, "version": VERSION, "claim": claim, **metadata}
    told = {name: header[name] for name in ("format", "version", "claim")}
    tensorfile.write(path, {**header, "digest": digest(told, tensorfile.arrays(TENSORS))}, TENSORS)


@pytest.mark.parametrize(
    ("claim", "metadata", "words"),
    [
        ("{}", {"format": "fedcert-message"}, "not a fedcert certificate"),
        ("{}", {"version": "1"}, "certificate format '1', but this version reads"),
        ("{}", {"version": 900 * "9"}, "certificate format '9{20}',"),
        ("{}", {"comment": "more than there is a place for"}, "its digest differs"),
        ("", {}, "not JSON"),
        ('{"kind": "direct"', {}, "not JSON"),
        ('{"kind": "direct", "kind": "local"}', {}, "twice"),
        (20_000 * "[", {}, "not JSON"),
        ("[]", {}, "not a JSON object"),
        ("null", {}, "not a JSON object"),
        (f'{{"x": "{MAX_CLAIM_CHARACTERS * "x"}"}}', {}, "characters, more than"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_header_that_says_something_else_is_refused_under_a_fitting_digest(
    path: Path, claim: str, metadata: dict[str, str], words: str
) -> None:
    sealed(path, "{}")
    assert read_container(path)[0] == {}
    sealed(path, claim, **metadata)
    with pytest.raises(InvalidCertificate, match=words) as caught:
        read_container(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("make", [Path.exists, Path.mkdir, Path.touch], ids=["absent", "folder", "empty"])
def test_what_is_no_file_of_tensors_is_refused(tmp_path: Path, make) -> None:
    make(tmp_path / "x.safetensors")
    with pytest.raises(InvalidCertificate, match=r"x\.safetensors"):
        read_container(tmp_path / "x.safetensors")


def test_a_claim_that_is_no_json_leaves_the_file_as_it_was(path: Path) -> None:
    write_container(path, CLAIM, TENSORS)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        write_container(path, {"kind": object()}, TENSORS)
    assert path.read_bytes() == before
