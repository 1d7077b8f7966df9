"""A job of a grid: one run, known by a name that follows from its settings."""

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
    """A run.

    Attributes:
        config: what to run.
    """

    config: RunConfig

    @classmethod
    def of(cls, settings: dict[str, Any]) -> "Job":
        """The job with these settings."""
        return cls(make_config(settings))

    @cached_property
    def name(self) -> str:
        """A name for people, with a digest of every setting."""
        scale = self.config.scale
        posterior = scale if isinstance(scale, str) else f"{scale:g}"
        return f"{self._federation()}-{posterior}-{self._digest(self.identity)}"

    @cached_property
    def training(self) -> str:
        """The name of the federation whose clients it needs; jobs that share it share their posteriors."""
        trained = self.config.model_dump(mode="json", include=TRAINING_SETTINGS)
        return f"{self._federation()}-{self._digest(trained)}"

    @property
    def identity(self) -> dict[str, Any]:
        """What determines its numbers."""
        return self.config.model_dump(mode="json", exclude=PLACE_SETTINGS)

    @property
    def effort(self) -> float:
        """About how long it takes, in units that only compare jobs with each other."""
        widths = [784, *self.config.hidden, 10]
        parameters = sum(inputs * outputs for inputs, outputs in pairwise(widths))
        return parameters * math.pow(self.config.clients, 0.6) * (2 * len(self.config.hidden) - 1)

    def _federation(self) -> str:
        config = self.config
        hidden = "x".join(map(str, config.hidden))
        clients = f"{config.clients}-clients-{config.concentration:g}"
        return f"{config.dataset}-{hidden}-{clients}-seed-{config.seed}"

    @staticmethod
    def _digest(settings: dict[str, Any]) -> str:
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
