"""The interval and the linear bounds of the verifier that Batten et al. (AISTATS 2024) released.

Both are numpy and loops. TensorFlow, Keras and pathos are imported beside them for gradients, images and
processes, which no bound needs, so that stand-ins do where they are not installed.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock

import numpy as np
import torch
from torch import Tensor

from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.numerics.interval import Bounds
from fedcert.verify.interval import constraints


def released(clone: Path) -> ModuleType:
    """The module with their bounds.

    Args:
        clone: of benbatten/TightVerificationOfProbabilisticRobustnessInBNNs.
    """
    for name in ("tensorflow", "keras", "pathos", "pathos.pools"):
        sys.modules.setdefault(name, MagicMock())
    sys.path.insert(0, str(clone / "verifier"))
    return import_module("ProbabilisticReachability")


def intervals(module: ModuleType, network: Network, boxes: Box, asked: Properties) -> Callable[[], Tensor]:
    """Margins of the first property over the first box, from their intervals."""
    x, low, high = _theirs(network, boxes, asked)
    return lambda: _margins(asked, module.bayesian_interval_bound_pass(x, low, high)[len(low)].T)


def lines(module: ModuleType, network: Network, boxes: Box, asked: Properties) -> Callable[[], Tensor]:
    """Margins of the first property over the first box, from their linear bounds (Wicker et al. 2020)."""
    x, low, high = _theirs(network, boxes, asked)
    return lambda: _margins(asked, np.array(module.propogate_lines(x, low, high, 0)))


def _theirs(network: Network, boxes: Box, asked: Properties) -> tuple[np.ndarray, list, list]:
    """The first region, and the ends of the first weight box, as they want them."""
    low, high = (
        [(weight.mT.numpy(), bias.numpy()) for weight, bias in filter(None, network.unflatten(end[0]))]
        for end in (boxes.lower, boxes.upper)
    )
    return torch.stack([asked.regions.lower[0], asked.regions.upper[0]], -1).numpy(), low, high


def _margins(asked: Properties, ends: np.ndarray) -> Tensor:
    low, high = torch.from_numpy(ends.astype(float)).reshape(2, 1, 1, -1)
    return constraints(asked[:1], Bounds(low, high))
