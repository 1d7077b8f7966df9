"""A job of a grid: one run, identified by a name that follows from its settings."""

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from fedcert.app.config import PLACE_SETTINGS, TRAINING_SETTINGS, RunConfig, make_config


@dataclass(frozen=True)
class Job:
    """A run of a grid.

    Attributes:
        config: the configuration of the run.
    """

    config: RunConfig

    @classmethod
    def of(cls, settings: dict[str, Any]) -> "Job":
        """The job with these settings."""
        return cls(make_config(settings))

    @cached_property
    def name(self) -> str:
        """A readable name, with a digest of all settings that determine the numbers."""
        scale = self.config.scale
        posterior = scale if isinstance(scale, str) else f"{scale:g}"
        return f"{self._federation()}-{posterior}-{self._digest(self.identity)}"

    @cached_property
    def training(self) -> str:
        """The name of the federation that the job trains; jobs with the same name share their posteriors."""
        trained = self.config.model_dump(mode="json", include=TRAINING_SETTINGS)
        return f"{self._federation()}-{self._digest(trained)}"

    @property
    def identity(self) -> dict[str, Any]:
        """The settings that determine the job's numbers."""
        return self.config.model_dump(mode="json", exclude=PLACE_SETTINGS)

    @property
    def effort(self) -> float:
        """Roughly how long the job takes, in units that only serve to compare jobs with each other."""
        network = self.config.architecture.network(784, 10, (28, 28))
        widths = [
            math.prod(shape)
            for shape, layer in zip(network.value_shapes[1:], network.layers, strict=True)
            if layer.shapes
        ]
        entries = sum(inputs * outputs for inputs, outputs in pairwise([784, *widths]))
        return entries * math.pow(self.config.clients, 0.6) * (2 * len(widths) - 3)

    def _federation(self) -> str:
        config = self.config
        hidden = "x".join(map(str, config.hidden))
        if config.architecture.channels:
            hidden = str(config.architecture).translate(str.maketrans(":,/", "-x-"))
        drawn = "" if config.concentration is None else f"-{config.concentration:g}"
        clients = f"{config.clients}-clients{drawn}"
        return f"{config.dataset}-{hidden}-{clients}-seed-{config.seed}"

    @staticmethod
    def _digest(settings: dict[str, Any]) -> str:
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
