"""The digits that scikit-learn ships: 1,797 images of 8×8 pixels, no download."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch

from fedcert.data.dataset import Dataset, Split
from fedcert.errors import DataError


def digits() -> Dataset:
    """The embedded digits, pixels scaled from 0 … 16 to [0, 1]."""
    rows = torch.from_numpy(np.loadtxt(_file(), delimiter=","))
    split = Split(rows[:, :-1] / 16, rows[:, -1].long())
    return Dataset(split, None, 10, (8, 8))


def _file() -> Path:
    """scikit-learn's file, found without importing scikit-learn, which takes far longer than reading it."""
    package = find_spec("sklearn")
    for folder in (package and package.submodule_search_locations) or ():
        if (file := Path(folder) / "datasets" / "data" / "digits.csv.gz").is_file():
            return file
    raise DataError("digits: scikit-learn, which brings them, is not installed")
