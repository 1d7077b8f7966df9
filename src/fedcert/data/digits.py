"""The digits that scikit-learn ships: 1,797 images of 8×8 pixels, no download."""

import torch

from fedcert.data.dataset import Dataset, Split


def digits() -> Dataset:
    """The embedded digits, pixels scaled from 0 … 16 to [0, 1]."""
    from sklearn.datasets import load_digits

    raw = load_digits()
    split = Split(torch.from_numpy(raw.data / 16), torch.from_numpy(raw.target).long())
    return Dataset(split, None, 10, (8, 8))
