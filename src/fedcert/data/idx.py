"""IDX files, the format of MNIST and Fashion-MNIST, gzipped or plain."""

import gzip
import zlib
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt8

from fedcert.data.dataset import Dataset, Split
from fedcert.errors import InvalidImages

FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
UNSIGNED_BYTE = 0x08


@dataclass(frozen=True)
class Source:
    """Where a data set of four IDX files comes from.

    Attributes:
        name: the data set.
        torchvision_name: the folder that torchvision keeps it in.
        mirrors: addresses of folders that hold the four gzipped files.
        sha256: the digest of each gzipped file, in the order of `FILES`.
    """

    name: str
    torchvision_name: str
    mirrors: tuple[str, ...]
    sha256: tuple[str, str, str, str]


SOURCES = {
    "mnist": Source(
        "mnist",
        "MNIST",
        (
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ),
        (
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    ),
    "fashion-mnist": Source(
        "fashion-mnist",
        "FashionMNIST",
        (
            "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        ),
        (
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        ),
    ),
}


def read_folder(source: Source, folder: Path) -> Dataset:
    """Read the four files, wherever a user may keep them below the folder."""
    paths = find_files(source, folder)
    place = paths[0].parent
    images, test_images = (read_idx(path, axes=3) for path in paths[::2])
    labels, test_labels = (read_idx(path, axes=1) for path in paths[1::2])
    height, width = images.shape[1:]
    if test_images.shape[1:] != (height, width):
        raise InvalidImages(
            f"{place}: training images of {height}×{width} pixels, test images of another size:"
            f" {'×'.join(map(str, test_images.shape[1:]))}"
        )
    train, test = _split(place, images, labels), _split(place, test_images, test_labels)
    return Dataset(train, test, 10, (height, width))


def find_files(source: Source, folder: Path) -> list[Path]:
    """The four files, in the order of `FILES`.

    Looked for in `folder/<dataset>/`, in torchvision's `folder/<Name>/raw/` and in `folder` itself.
    """
    places = (folder / source.name, folder / source.torchvision_name / "raw", folder)
    for place in places:
        paths = [path for name in FILES if (path := _find(place, name))]
        if len(paths) == len(FILES):
            return paths
    raise InvalidImages(
        f"{source.name}: no complete set of files in {' or '.join(str(p) for p in places)};"
        f" put {', '.join(FILES)} (each plain or .gz) into one of them"
    )


def _find(place: Path, name: str) -> Path | None:
    candidates = (place / f"{name}.gz", place / name)
    return next((path for path in candidates if path.is_file()), None)


def _split(folder: Path, images: UInt8[np.ndarray, "n h w"], labels: UInt8[np.ndarray, "m"]) -> Split:
    if len(images) != len(labels):
        raise InvalidImages(f"{folder}: {len(images)} images but {len(labels)} labels")
    if len(images) == 0:
        raise InvalidImages(f"{folder}: the files hold no images")
    if labels.max() > 9:
        raise InvalidImages(f"{folder}: label {labels.max()} is out of range 0 … 9")
    x = torch.from_numpy(images.reshape(len(images), prod(images.shape[1:])) / 255.0)
    return Split(x, torch.from_numpy(labels.astype(np.int64)))


def read_idx(path: Path, axes: int) -> UInt8[np.ndarray, "..."]:
    """Read an IDX file of unsigned bytes: zero, zero, type, axes; one big-endian size an axis; data.

    Args:
        path: the file, gzipped where its name ends in .gz.
        axes: how many axes the array must have.
    """
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidImages(f"{path}: cannot be read ({error}); fetch the file again") from error
    if len(raw) < 4 or raw[:2] != b"\0\0" or raw[2] != UNSIGNED_BYTE:
        raise InvalidImages(f"{path}: not an IDX file of unsigned bytes")
    if raw[3] != axes:
        raise InvalidImages(f"{path}: an array of {raw[3]} axes where {axes} are expected")
    if len(raw) < 4 + 4 * axes:
        raise InvalidImages(f"{path}: the header is cut off; truncated?")
    shape = tuple(np.frombuffer(raw[4 : 4 + 4 * axes], dtype=">u4").tolist())
    if len(raw) != 4 + 4 * axes + prod(shape):
        raise InvalidImages(f"{path}: {len(raw)} bytes do not hold an array of {shape}; truncated?")
    return np.frombuffer(raw, dtype=np.uint8, offset=4 + 4 * axes).reshape(shape)
