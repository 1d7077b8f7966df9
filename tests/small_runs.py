"""Runs of seconds on embedded data, as settings and as a file of them."""

import json
from typing import Any

from fedcert.app.config import RunConfig

SMALL_RUN: dict[str, Any] = {
    "train_examples": 400,
    "test_examples": 80,
    "clients": 2,
    "hidden": [8],
    "properties": 3,
    "epsilon": [0.001],
    "events": ["paper-box", "box", "projected"],
    "claims": ["local", "transported", "direct"],
    "compare": ["fedavg", "pog"],
    "estimates": ["mc-ibp", "attack-survival", "aggregated-sampling"],
    "gamma": [3.0, 5.0],
    "centers": 4,
    "cells": 2,
    "mc_samples": 10,
    "attack_samples": 10,
    "aggregate_samples": 10,
    "training": {"epochs": 4, "batch_size": 64, "learning_rate": 0.03},
}


TIMED = ("summary", "margins", "radii", "confidence")  # parts of a result.json whose rows say how long


def small_config(**changes: Any) -> RunConfig:
    return RunConfig(**SMALL_RUN | changes)


def as_toml(settings: dict[str, Any]) -> str:
    """A configuration file, with names as users write them."""
    training = settings.get("training", {})
    flat = {name.replace("_", "-"): value for name, value in settings.items() if name != "training"}
    flat |= {f"training.{name}": value for name, value in training.items()}
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in flat.items())


def untimed(summary: dict[str, Any]) -> dict[str, Any]:
    """The content of a result.json without the times that the work took."""
    parts = {part: [row | {"seconds": None} for row in summary[part]] for part in TIMED}
    return summary | parts | {"timings": None}
