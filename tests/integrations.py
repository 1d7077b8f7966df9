"""Libraries whose posteriors are read; the tests that need one are skipped where it is missing."""

import importlib
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from fedcert import Posterior

ALL_NEEDED = "FEDCERT_INTEGRATIONS"
"""Set by `make test-integrations`: a library that is missing is a failure then."""
NOISE = 6.0  # standard errors: one false alarm in a hundred million


def library(name: str) -> Any:
    """Import a library, whose own warnings while it is imported are not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            if ALL_NEEDED in os.environ:
                raise
            pytest.skip(f"{name} is not installed: make test-integrations", allow_module_level=True)


def small_module(seed: int = 0) -> nn.Sequential:
    """A module with weights that a seed decides."""
    module = nn.Sequential(nn.Linear(2, 5), nn.ReLU(), nn.Linear(5, 3))
    generator = torch.Generator().manual_seed(seed)
    for own in module.parameters():
        own.data = torch.randn(own.shape, generator=generator)
    return module


def small_data(seed: int = 0) -> tuple[Tensor, Tensor]:
    """Inputs of three classes."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(30, 2, generator=generator)
    return x, torch.arange(30) % 3


def assert_law(posterior: Posterior, names: Sequence[str], draws: Mapping[str, Tensor]) -> None:
    """What the library draws has the means and deviations of the law that was read, parameter by parameter.

    Args:
        posterior: what was read.
        names: the parameters in the order of θ.
        draws: many draws of each parameter, the library's own.
    """
    law, position = posterior.law, 0
    for name in names:
        drawn = draws[name].double().flatten(1)
        count, size = drawn.shape
        loc, scale = law.loc[position : position + size], law.scale[position : position + size]
        position += size
        assert ((drawn.mean(0) - loc).abs() <= NOISE * scale / count**0.5 + 1e-6 * loc.abs()).all(), name
        error = NOISE / (2 * count) ** 0.5 + 1e-6
        assert ((drawn.std(0) - scale).abs() <= error * scale).all(), name
    assert position == law.dimension
