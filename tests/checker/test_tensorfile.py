import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedcert.errors import FedcertError, UnreadableFile
from fedcert.wire.tensorfile import write
from fedcert_check import tensorfile
from fedcert_check.tensorfile import Limits

SMALL = Limits(file_bytes=10_000, header_bytes=1000, tensor_bytes=800, tensors=3)
ENTRY = {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}


def file(header: object, body: bytes = bytes(16), length: int | None = None) -> bytes:
    """A safetensors file by hand."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + body


def test_what_is_written_is_read(tmp_path: Path) -> None:
    tensors = {
        "weights": torch.rand(3, 2, dtype=torch.float64),
        "transposed": torch.rand(3, 2, dtype=torch.float64).mT,
        "count": torch.tensor([3, -4]),
        "flag": torch.tensor(True),
        "none": torch.zeros(2, 0),
        "small": torch.tensor([1, -1], dtype=torch.int8),
        "half": torch.tensor([0.5, 8.0], dtype=torch.float16),
    }
    write(tmp_path / "deep" / "file", {"key": "Wert, ümlaut"}, tensors)
    metadata, arrays = tensorfile.read(tmp_path / "deep" / "file")
    assert metadata == {"key": "Wert, ümlaut"}
    assert arrays.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(torch.tensor(arrays[name]), tensor)
        assert arrays[name].dtype == tensor.numpy().dtype


def test_equal_contents_give_equal_bytes_in_any_order(tmp_path: Path) -> None:
    metadata = {f"key {k}": f"value {k}" for k in range(20)}
    tensors = {f"tensor {k}": torch.full((k,), float(k)) for k in range(5)}
    write(tmp_path / "one", metadata, tensors)
    write(tmp_path / "other", dict(reversed(metadata.items())), dict(reversed(tensors.items())))
    content = (tmp_path / "one").read_bytes()
    assert content == (tmp_path / "other").read_bytes()
    assert (8 + int.from_bytes(content[:8], "little")) % 8 == 0
    assert tensorfile.read(tmp_path / "one")[0] == metadata


def test_a_file_without_metadata_has_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(file({"x": ENTRY}))
    metadata, arrays = tensorfile.read(tmp_path / "file", SMALL)
    assert metadata == {}
    assert np.array_equal(arrays["x"], np.zeros(2))


def entry(**changes: Any) -> dict[str, Any]:
    return {"x": ENTRY | changes}


HUGE = 10**12
BROKEN = [
    pytest.param(b"", "header", id="empty"),
    pytest.param(b"\x00" * 7, "header", id="no length"),
    pytest.param(b"\x00" * 8, "header", id="no header"),
    pytest.param(file({"x": ENTRY}, length=2**63), "header", id="header longer than the file"),
    pytest.param(file(b" " * 1001), "header: 1001 bytes, more than 1000", id="huge header"),
    pytest.param(file({}, bytes(10_000)), "file: 10010 bytes, more than 10000", id="huge file"),
    pytest.param(file(b"[" * 900), "header", id="deep nesting"),
    pytest.param(file(b'{"x":' * 190), "header", id="deep objects"),
    pytest.param(file(b"\xff\xfe"), "header", id="no UTF-8"),
    pytest.param(file(b"[]"), "header", id="no object"),
    pytest.param(file(b'{"x": 1, "x": 2}'), "twice", id="a name twice"),
    pytest.param(file({"__metadata__": [1]}), "metadata", id="metadata of another kind"),
    pytest.param(file({"__metadata__": {"version": 1}}), "metadata", id="metadata that is no text"),
    pytest.param(file({str(i): ENTRY for i in range(4)}), "4 tensors, more than 3", id="many tensors"),
    pytest.param(file({"x": 1}), "'x'", id="entry of another kind"),
    pytest.param(file({"x": {"dtype": "F64"}}), "'x'", id="entry without shape"),
    pytest.param(file(entry(dtype="F16")), "'x'", id="unknown type"),
    pytest.param(file(entry(dtype=["F64"])), "'x'", id="type of another kind"),
    pytest.param(file(entry(shape=[HUGE])), "'x'", id="huge axis"),
    pytest.param(file(entry(shape=[HUGE, 0])), "'x'", id="huge axis of nothing"),
    pytest.param(file(entry(shape=[700, 700])), "'x': 3920000 bytes, more than 800", id="huge tensor"),
    pytest.param(file(entry(shape=[1] * 9)), "'x'", id="many axes"),
    pytest.param(file(entry(shape=[-2])), "'x'", id="negative shape"),
    pytest.param(file(entry(shape=[True, 2])), "'x'", id="truth value in the shape"),
    pytest.param(file(entry(shape=[2.0])), "'x'", id="fraction in the shape"),
    pytest.param(file(b'{"x": {"shape": [' + b"9" * 900 + b"]}}"), "'x'", id="a number of 900 digits"),
    pytest.param(file(entry(shape=[3])), "'x'", id="shape beyond the bytes"),
    pytest.param(file(entry(data_offsets=[0, 8])), "'x'", id="bytes short of the shape"),
    pytest.param(file(entry(data_offsets=[16, 0])), "'x'", id="bytes backward"),
    pytest.param(file(entry(data_offsets=[8, 24])), "", id="bytes beyond the file"),
    pytest.param(file({"x": ENTRY}, bytes(17)), "", id="bytes that nobody owns"),
    pytest.param(file({"x": ENTRY, "y": ENTRY}), "", id="bytes that two own"),
    pytest.param(
        file({"x": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}}, b"\x01\x02"), "'x'", id="bool 2"
    ),
]


@pytest.mark.parametrize(("content", "field"), BROKEN)
def test_a_broken_file_is_refused_by_name_and_field_and_takes_no_memory(
    tmp_path: Path, content: bytes, field: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableFile) as caught:
            tensorfile.read(path, SMALL)
        assert tracemalloc.get_traced_memory()[1] < 10 * SMALL.file_bytes
    finally:
        tracemalloc.stop()
    assert str(caught.value).startswith(f"{path}: ")
    assert field in str(caught.value)
    assert len(str(caught.value)) < len(str(path)) + 300


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: None], ids=["folder", "pipe", "nothing"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "file")
    with pytest.raises(UnreadableFile, match="file"):
        tensorfile.read(tmp_path / "file")


def test_a_device_without_end_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="not a regular file"):
        tensorfile.read(Path("/dev/zero"))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)
entries = st.fixed_dictionaries({
    "dtype": st.sampled_from([*tensorfile.DTYPES, "F16", None]),
    "shape": st.lists(st.integers(-1, 5), max_size=3),
    "data_offsets": st.lists(st.integers(-1, 40), min_size=1, max_size=3),
})


@pytest.mark.slow
@given(
    header=st.dictionaries(st.sampled_from(["x", "y", "__metadata__"]), entries | json_values) | json_values,
    body=st.binary(max_size=40),
)
def test_any_header_gives_arrays_no_larger_than_the_file_or_a_clean_error(
    header: object, body: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "random"
    path.write_bytes(file(header, body))
    try:
        _, arrays = tensorfile.read(path, SMALL)
    except FedcertError:
        return
    assert sum(array.nbytes for array in arrays.values()) == len(body)


def test_the_metadata_are_read_without_the_tensors(tmp_path: Path) -> None:
    path = tmp_path / "file.safetensors"
    write(path, {"who": "me"}, {"x": torch.zeros(1000)})
    size = path.stat().st_size
    assert tensorfile.read_metadata(path, Limits()) == ({"who": "me"}, size)
    with open(path, "r+b") as file:
        file.truncate(size - 4000)
    assert tensorfile.read_metadata(path, Limits()) == ({"who": "me"}, size - 4000)
    for limits in (Limits(file_bytes=10), Limits(header_bytes=10)):
        with pytest.raises(UnreadableFile, match="file"):
            tensorfile.read_metadata(path, limits)
    with pytest.raises(UnreadableFile, match="nowhere"):
        tensorfile.read_metadata(tmp_path / "nowhere", Limits())


@pytest.mark.parametrize(
    "header",
    [{"__metadata__": {"a": "\ud800"}}, {"__metadata__": {"\ud800": "a"}}, {"\ud800": ENTRY}],
)
def test_half_a_character_is_no_text(header: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(file(header))
    with pytest.raises(UnreadableFile, match="is no text"):
        tensorfile.read(tmp_path / "file")
