"""Pickles of strangers give arrays, and nothing that they ask for is done."""

import io
import os
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from published_pickles import RefusedPickle, loads, read_arrays

KERNEL = np.arange(6, dtype=np.float32).reshape(2, 3)
BIAS = np.array([1.5, -2.0, 0.0])

RECONSTRUCT = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR"
"""The opcodes that make an empty array."""


class Calls:
    """Pickled, it is a call."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self.function, self.arguments


@pytest.mark.parametrize("protocol", [0, 2, 3, 4, 5])
def test_arrays_in_lists_come_back(protocol: int) -> None:
    stored = [[KERNEL, BIAS], (np.asfortranarray(KERNEL), np.array([3, 4]))]
    if protocol == 5:  # arrays are then made by a function that the released files do not name
        with pytest.raises(RefusedPickle, match="_frombuffer"):
            loads(pickle.dumps(stored, protocol))
        return
    (kernel, bias), (fortran, counts) = loads(pickle.dumps(stored, protocol))
    assert np.array_equal(kernel, KERNEL)
    assert kernel.dtype == np.float32
    assert np.array_equal(bias, BIAS)
    assert bias.dtype == np.float64
    assert np.array_equal(fortran, KERNEL)
    assert counts.tolist() == [3, 4]


def test_a_malicious_pickle_is_refused_before_it_does_anything(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    for function, argument in ((os.system, f"touch {touched}"), (os.mkdir, str(touched))):
        attack = pickle.dumps([KERNEL, Calls(function, argument)])
        with pytest.raises(RefusedPickle, match="the pickle names"):
            loads(attack)
        assert not touched.exists()
    pickle.loads(attack)  # noqa: S301 - the attack is a real one
    assert touched.exists()


@pytest.mark.parametrize(
    "value",
    [
        OrderedDict(a=KERNEL),  # a class, if a harmless one
        np.memmap,
        np.dtype,
        Calls(np.fromfile, "/etc/passwd"),
        Calls(getattr, KERNEL, "tofile"),
        Path("/"),
        {"a": KERNEL},
        [1.0],
        "text",
        None,
        np.array(["text"]),
        np.array([True]),
        np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        np.array([1.0], dtype=">f8"),
        np.array([[KERNEL, None]], dtype=object),
    ],
    ids=lambda value: type(value).__name__,
)
def test_anything_but_arrays_of_numbers_is_refused(value: Any) -> None:
    with pytest.raises(RefusedPickle):
        loads(pickle.dumps(value, 4))


@pytest.mark.parametrize(
    ("attack", "reason"),
    [
        # numpy would take the bytes for pointers: the state denies that the type holds objects
        (
            RECONSTRUCT + b"(I1\n(I1\ntcnumpy\ndtype\n(S'O8'\nI00\nI01\ntR(I3\nS'|'\nNNNI-1\nI-1\nI0\ntbI00\n"
            b"S'AAAAAAAA'\ntb.",
            "objects",
        ),
        (RECONSTRUCT + b"(I1\n(I2\ntcnumpy\ndtype\n(S'V8'\ntRI00\nS''\ntb.", "data type"),
        (RECONSTRUCT + b"(I1\n(I-2\ntcnumpy\ndtype\n(S'f8'\ntRI00\nS''\ntb.", "shape"),
        (RECONSTRUCT + b"(I1\n(I1\ntcnumpy\ndtype\n(S'f8'\ntRI00\nI7\ntb.", "no bytes"),
        (RECONSTRUCT + b"I7\nb.", "five parts"),
        (RECONSTRUCT + b".", "where an array should be"),  # its state never comes
        (b"cnumpy\nndarray\n(I3\ntR.", "calls numpy.ndarray"),
        (b"cnumpy\ndtype\n(dS'name'\nS'x'\nsb.", "changes numpy.dtype"),
        (b"c_codecs\nencode\n(S'a'\nS'rot13'\ntR.", "latin1"),
        (b"ctensorflow.python.framework.ops\nconvert_to_tensor\n(I1\ntR.", "no array"),
        (b"(lp0\ng0\na.", "deep"),  # a list within itself
    ],
)
def test_forged_states_are_refused(attack: bytes, reason: str) -> None:
    with pytest.raises(RefusedPickle, match=reason):
        loads(attack)


def test_too_few_bytes_make_no_array() -> None:
    with pytest.raises(ValueError, match="reshape"):
        loads(RECONSTRUCT + b"(I1\n(I2\ntcnumpy\ndtype\n(S'f8'\ntRI00\nS'AAAAAAAA'\ntb.")


def test_a_tensor_is_the_array_that_it_was_made_of() -> None:
    tensor = b"ctensorflow.python.framework.ops\nconvert_to_tensor\n(" + RECONSTRUCT
    tensor += b"(I1\n(I1\ntcnumpy\ndtype\n(S'f4'\nI00\nI01\ntR(I3\nS'<'\nNNNI-1\nI-1\nI0\ntbI00\n"
    value = loads(tensor + b"S'\\x00\\x00\\x80?'\ntbtR.")
    assert value.tolist() == [1.0]


@given(st.binary(max_size=60))
@settings(max_examples=40)
def test_no_bytes_after_an_array_give_more_than_arrays(noise: bytes) -> None:
    try:
        value = loads(pickle.dumps([BIAS], 2)[:-1] + noise)
    except Exception:  # noqa: BLE001 - every error is a refusal
        return
    assert isinstance(value, list | np.ndarray)


def objects(*arrays: Any) -> np.ndarray[Any, Any]:
    held = np.empty(len(arrays), dtype=object)
    held[:] = arrays
    return held


def test_files_are_read_by_their_contents(tmp_path: Path) -> None:
    bare, numbers, held, packed = (tmp_path / name for name in ("a.h5", "b.npy", "c.npy", "d.npz"))
    bare.write_bytes(pickle.dumps([KERNEL, BIAS], 4))
    np.save(numbers, KERNEL)
    np.save(held, objects(KERNEL, BIAS), allow_pickle=True)
    np.savez_compressed(packed, objects(KERNEL, BIAS))
    assert np.array_equal(read_arrays(numbers), KERNEL)
    for path in (bare, held, packed):
        kernel, bias = read_arrays(path)
        assert np.array_equal(kernel, KERNEL), path.name
        assert np.array_equal(bias, BIAS), path.name


def test_attacks_inside_files_are_refused_as_well(tmp_path: Path) -> None:
    held, packed = tmp_path / "a.npy", tmp_path / "b.npz"
    attack = objects(Calls(os.system, f"touch {tmp_path / 'touched'}"), KERNEL)
    np.save(held, attack, allow_pickle=True)
    np.savez(packed, attack)
    for path in (held, packed):
        with pytest.raises(RefusedPickle, match="system"):
            read_arrays(path)
    assert not (tmp_path / "touched").exists()


def test_an_archive_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("published_pickles.MAX_BYTES", 1000)
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("arr_0.npy", b"0" * 100_000)
    assert path.stat().st_size < 1000
    with pytest.raises(RefusedPickle, match="unpacks"):
        read_arrays(path)
    path.write_bytes(io.BytesIO(bytes(1001)).getvalue())
    with pytest.raises(RefusedPickle, match="larger"):
        read_arrays(path)
