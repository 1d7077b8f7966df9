import gzip
import os
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fedcert.data import load
from fedcert.data.dataset import Dataset
from fedcert.data.idx import FILES, SOURCES, read_folder, read_idx
from fedcert.errors import DataError

MNIST = SOURCES["mnist"]
TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS = FILES
LAYOUTS = ("mnist", "MNIST/raw", ".")


def encode(array: np.ndarray) -> bytes:
    """The IDX file of an array of unsigned bytes, by the format's definition."""
    sizes = b"".join(struct.pack(">I", size) for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


def small_set() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        TRAIN_IMAGES: rng.integers(0, 256, (5, 4, 3), dtype=np.uint8),
        TRAIN_LABELS: np.array([0, 9, 3, 3, 7], dtype=np.uint8),
        TEST_IMAGES: rng.integers(0, 256, (2, 4, 3), dtype=np.uint8),
        TEST_LABELS: np.array([1, 2], dtype=np.uint8),
    }


def write_set(folder: Path, compressed: bool = False, **replaced: bytes) -> Path:
    """A folder of four small files, some of them replaced; names are given with underscores."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = {name: encode(array) for name, array in small_set().items()}
    contents |= {name.replace("_", "-"): content for name, content in replaced.items()}
    for name, content in contents.items():
        path = folder / (f"{name}.gz" if compressed else name)
        path.write_bytes(gzip.compress(content) if compressed else content)
    return folder


def underscored(name: str) -> str:
    return name.replace("-", "_")


def assert_is_small_set(data: Dataset) -> None:
    files = small_set()
    assert data.test is not None
    for split, images, labels in (
        (data.train, files[TRAIN_IMAGES], files[TRAIN_LABELS]),
        (data.test, files[TEST_IMAGES], files[TEST_LABELS]),
    ):
        assert (split.x * 255).round().byte().tolist() == images.reshape(len(images), -1).tolist()
        assert split.x.min() >= 0
        assert split.x.max() <= 1
        assert split.label.tolist() == labels.tolist()
    assert (data.classes, data.image_shape) == (10, (4, 3))


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_found_plain_or_gzipped(tmp_path: Path, layout: str, compressed: bool) -> None:
    write_set(tmp_path / layout, compressed)
    assert_is_small_set(read_folder(MNIST, tmp_path))


def test_an_incomplete_folder_is_passed_over_for_a_complete_one(tmp_path: Path) -> None:
    write_set(tmp_path / "mnist")
    (tmp_path / "mnist" / TEST_LABELS).unlink()
    write_set(tmp_path / "MNIST" / "raw")
    assert_is_small_set(read_folder(MNIST, tmp_path))


def test_plain_and_gzipped_files_may_be_mixed(tmp_path: Path) -> None:
    write_set(tmp_path)
    plain = tmp_path / TRAIN_IMAGES
    (tmp_path / f"{TRAIN_IMAGES}.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    assert_is_small_set(read_folder(MNIST, tmp_path))


@pytest.mark.parametrize("missing", FILES)
def test_a_missing_file_is_an_error_that_names_places_and_files(tmp_path: Path, missing: str) -> None:
    (write_set(tmp_path) / missing).unlink()
    with pytest.raises(DataError) as caught:
        read_folder(MNIST, tmp_path)
    for part in (*FILES, *(str(tmp_path / layout) for layout in LAYOUTS)):
        assert part in str(caught.value)


DAMAGE = [
    pytest.param(lambda raw: raw[:-1], id="last byte missing"),
    pytest.param(lambda raw: raw + b"\0", id="byte too many"),
    pytest.param(lambda raw: b"", id="empty"),
    pytest.param(lambda raw: raw[:3], id="cut in the magic number"),
    pytest.param(lambda raw: raw[:6], id="cut in the sizes"),
    pytest.param(lambda raw: raw[:8], id="cut between the sizes"),
    pytest.param(lambda raw: b"\1" + raw[1:], id="wrong magic number"),
    pytest.param(lambda raw: raw[:2] + b"\x0d" + raw[3:], id="floats"),
    pytest.param(lambda raw: encode(np.zeros((2, 2), np.uint8)), id="wrong axes"),
]


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", [TRAIN_IMAGES, TEST_LABELS])
def test_a_damaged_file_is_an_error_that_names_it(
    tmp_path: Path, name: str, compressed: bool, damage: Callable[[bytes], bytes]
) -> None:
    write_set(tmp_path, compressed, **{underscored(name): damage(encode(small_set()[name]))})
    with pytest.raises(DataError, match=name):
        read_folder(MNIST, tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda content: content[:-9], id="truncated"),
        pytest.param(lambda content: content[:15] + b"\xff\xff\xff" + content[18:], id="corrupt"),
        pytest.param(lambda content: gzip.decompress(content), id="not compressed at all"),
        pytest.param(lambda content: content[:-8] + bytes(8), id="wrong checksum"),
    ],
)
def test_a_damaged_gzip_file_is_an_error_that_says_to_fetch_it_again(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    path = write_set(tmp_path, compressed=True) / f"{TRAIN_IMAGES}.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match="again") as caught:
        read_folder(MNIST, tmp_path)
    assert str(path) in str(caught.value)


INCONSISTENT = [
    pytest.param(TRAIN_LABELS, np.zeros(4, np.uint8), "5 images but 4 labels", id="too few labels"),
    pytest.param(TEST_LABELS, np.zeros(3, np.uint8), "2 images but 3 labels", id="too many labels"),
    pytest.param(TEST_LABELS, np.array([1, 10], np.uint8), "label 10", id="label out of range"),
    pytest.param(
        TEST_IMAGES,
        np.zeros((2, 3, 3), np.uint8),
        "3",
        id="test images of another size",
    ),
]


@pytest.mark.parametrize(("name", "array", "problem"), INCONSISTENT)
def test_files_that_do_not_fit_together_are_an_error_that_names_the_folder(
    tmp_path: Path, name: str, array: np.ndarray, problem: str
) -> None:
    write_set(tmp_path, **{underscored(name): encode(array)})
    with pytest.raises(DataError, match=problem) as caught:
        read_folder(MNIST, tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_a_set_without_images_is_an_error(tmp_path: Path) -> None:
    images, labels = np.zeros((0, 4, 3), np.uint8), np.zeros(0, np.uint8)
    replaced = {underscored(TRAIN_IMAGES): encode(images), underscored(TRAIN_LABELS): encode(labels)}
    with pytest.raises(DataError):
        read_folder(MNIST, write_set(tmp_path, **replaced))


@given(
    array=st.sampled_from([1, 3]).flatmap(
        lambda axes: arrays(np.uint8, array_shapes(min_dims=axes, max_dims=axes, min_side=0, max_side=4))
    ),
    compressed=st.booleans(),
)
@settings(deadline=None, max_examples=50)
def test_read_idx_gives_back_the_encoded_array(array: np.ndarray, compressed: bool) -> None:
    name = TRAIN_IMAGES if array.ndim == 3 else TRAIN_LABELS
    content = encode(array)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / (f"{name}.gz" if compressed else name)
        path.write_bytes(gzip.compress(content) if compressed else content)
        result = read_idx(path, array.ndim)
    assert result.dtype == array.dtype
    assert np.array_equal(result, array)


@pytest.mark.slow
@pytest.mark.skipif("FEDCERT_DATA" not in os.environ, reason="FEDCERT_DATA names no folder of IDX files")
@pytest.mark.parametrize("name", sorted(SOURCES))
def test_the_real_data_sets_load_from_the_folder_in_the_environment(name: str) -> None:
    data = load(name)
    assert data.test is not None
    assert data.image_shape == (28, 28)
    for split in (data.train, data.test):
        assert split.x.shape == (len(split), 28 * 28)
        low, high = split.x.aminmax()
        assert 0 <= low < high <= 1
        assert set(split.label.tolist()) <= set(range(data.classes)) == set(range(10))
