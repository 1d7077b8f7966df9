"""Data: images and labels, split among clients, and tables that say whose each row is."""

import os
from pathlib import Path

from fedcert.data.dataset import Dataset, Split
from fedcert.data.digits import digits
from fedcert.data.hospitals import heart_disease
from fedcert.data.idx import SOURCES, find_files, read_folder
from fedcert.data.mirrors import cached
from fedcert.data.table import Table
from fedcert.errors import DataError
from fedcert.progress import Tracker, silent

PACKAGED = {"digits": digits, "heart-disease": heart_disease}
"""Data sets that come with this package or with those it needs."""
DATASETS = (*PACKAGED, *SOURCES)


def load(name: str, data_dir: Path | None = None, track: Tracker = silent) -> Dataset:
    """The data set of this name, from a folder, the cache or the public mirrors.

    Args:
        name: one of `DATASETS`.
        data_dir: where the IDX files are; the environment variable FEDCERT_DATA stands in for it.
        track: shows progress of a download.
    """
    folder = folder_of(name, data_dir, track)
    return PACKAGED[name]() if folder is None else read_folder(SOURCES[name], folder)


def folder_of(name: str, data_dir: Path | None = None, track: Tracker = silent) -> Path | None:
    """The folder that holds a data set, downloaded if need be; None for one that comes with the package.

    Args:
        name: one of `DATASETS`.
        data_dir: where the IDX files are; the environment variable FEDCERT_DATA stands in for it.
        track: shows progress of a download.
    """
    if name in PACKAGED:
        return None
    if name not in SOURCES:
        raise DataError(f"no data set {name!r}: choose from {', '.join(DATASETS)}")
    folder = data_dir or (Path(os.environ["FEDCERT_DATA"]) if "FEDCERT_DATA" in os.environ else None)
    folder = (folder or cached(SOURCES[name], track)).absolute()
    find_files(SOURCES[name], folder)
    return folder


__all__ = ["DATASETS", "Dataset", "Split", "Table", "folder_of", "load"]
