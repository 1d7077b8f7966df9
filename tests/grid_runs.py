"""Runs of a grid by formula: figures that look like those of real federations, made in no time."""

import math
from functools import cache
from typing import Any

import numpy as np

from fedcert.app.config import RunConfig
from fedcert.app.report.images import input_image
from fedcert.app.report.runs import FinishedRun

EVENTS = ("paper-box", "box", "projected")
DEFAULTS: dict[str, Any] = {
    "dataset": "mnist",
    "scale": 1e-5,
    "test_examples": 2_000,
    "inputs": "correct",
    "properties": 50,
    "epsilon": 1e-3,
    "events": EVENTS,
    "claims": ("local", "transported", "direct"),
    "compare": ("fedavg", "pog"),
    "estimates": ("mc-ibp", "attack-survival"),
}
"""What the paper's evaluation asks, with every family of events."""
CONCENTRATIONS = (0.5, 0.6, 0.7, 0.9, 1.0, 2.0, 5.0, 7.0, 10.0)


def summary(**settings: Any) -> dict[str, Any]:
    """The content of a result.json."""
    config = RunConfig(**DEFAULTS | settings)
    skew = 1 / (1 + config.concentration)
    wide, deep = max(config.hidden) / 64, len(config.hidden)
    hard = 0.03 * (config.dataset == "fashion-mnist") + 0.04 * (deep - 1) + 0.002 * (config.seed % 3)
    scale = 2e-3 if config.scale == "learned" else config.scale
    safe = (1 - hard - 0.03 * skew) / (1 + (scale / 0.3) ** 2)
    local = max(0.0, safe - 0.5 * skew)
    lower = {
        ("local", "paper-box"): local * 0.96**wide / (1 + (scale / 3e-5) ** 2),
        ("transported", "paper-box"): local**config.clients * 0.96**wide / (1 + (scale / 3e-5) ** 2),
        ("direct", "paper-box"): safe * 0.96**wide / (1 + (scale / 3e-5) ** 2),
        ("local", "box"): local / (1 + (scale / 2e-4) ** 2),
        ("transported", "box"): safe * 0.998 / (1 + (scale / 2e-4) ** 2),
        ("direct", "box"): safe * 0.999 / (1 + (scale / 2e-4) ** 2),
        ("local", "projected"): local,
        ("transported", "projected"): safe * 0.99 / (1 + (scale / 0.03) ** 2),
        ("direct", "projected"): safe * 0.995 / (1 + (scale / 0.04) ** 2),
    }
    rows = [
        {
            "claim": claim,
            "rule": rule,
            "events": events,
            "lower": bound,
            "upper": min(1.0, safe * 1.002 + 0.001) if (claim, events) == ("direct", "projected") else None,
            "epsilon": epsilon,
            "properties": config.properties,
            "seconds": {"paper-box": 0.2, "box": 0.5, "projected": 2.0}[events] * math.sqrt(config.clients),
            "certificate": f"{claim}-{rule}-{events}-eps-{epsilon!r}.safetensors",
            "reproved": True,
        }
        for epsilon in config.epsilon
        for (claim, events), bound in lower.items()
        for rule in (("fedavg", "pog") if claim == "direct" else ("fedavg",))
        if events in config.events
    ]
    estimates = [
        {
            "name": name,
            "rule": rule,
            "epsilon": epsilon,
            "value": value,
            "samples": 300,
            "confidence_interval": [0.0, 1.0],
        }
        for epsilon in config.epsilon
        for rule in ("fedavg", "pog")
        for name, value in (("mc-ibp", safe / (1 + (scale / 0.05) ** 2)), ("attack-survival", safe))
    ]
    return {
        "fedcert": "0.1.0",
        "config": config.model_dump(mode="json"),
        "clients": [
            {"client": f"client-{i}", "examples": 30, "digest": f"{i:064x}"} for i in range(config.clients)
        ],
        "refused": {},
        "accuracy": safe - 0.1,
        "accuracy_by_rule": {"fedavg": safe - 0.1, "pog": safe - 0.1},
        "inputs": {
            "dataset": config.dataset,
            "chosen": config.inputs,
            "count": config.properties,
            "available": config.test_examples,
            "seed": None,
            "digest": f"{0:064x}",
            "accuracy": 1.0 if config.inputs == "correct" else safe - 0.1,
        },
        "norm": "linf",
        "summary": rows,
        "margins": [],
        "radii": [],
        "confidence": [],
        "conclusions": [],
        "estimates": estimates,
        "timings": {
            "data": 0.1,
            "training": 1.0 * wide + 0.02 * config.clients,
            "properties": 0.1,
            "messages": 0.3 * config.clients,
            "certification": sum(row["seconds"] for row in rows),  # type: ignore[misc]
            "estimates": 2.0 * wide,
        },
        "histograms": None,
    }


def properties(of: dict[str, Any]) -> list[dict[str, Any]]:
    """The content of the properties.json beside a result.json: properties that are all alike."""
    entry = {
        "label": 3,
        "index": 0,
        "image": input_image(np.zeros(4), (2, 2)),
        "bounds": [
            {key: row[key] for key in ("claim", "rule", "events", "epsilon", "lower", "upper")}
            for row in of["summary"]
        ],
        "survival": {"fedavg": 0.5},
        "attacked": False,
        "radii": [],
    }
    return [entry] * of["inputs"]["count"]


def run(**settings: Any) -> FinishedRun:
    """One run."""
    content = summary(**settings)
    return FinishedRun(content, properties(content))


@cache
def paper_grid(*scales: float | str, **settings: Any) -> list[FinishedRun]:
    """The paper's 162 federations at each scale."""
    return [
        run(
            dataset=dataset,
            hidden=hidden,
            clients=clients,
            concentration=concentration,
            scale=scale,
            **settings,
        )
        for dataset in ("mnist", "fashion-mnist")
        for hidden in ((64,), (128,), (64, 64))
        for clients in (2, 3, 5)
        for concentration in CONCENTRATIONS
        for scale in scales or (1e-5,)
    ]


def sweeps() -> list[FinishedRun]:
    """One federation at many scales, and with many clients."""
    scales = (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, "learned")
    counts = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
    return [run(clients=5, concentration=0.5, scale=scale, epsilon=0.01) for scale in scales] + [
        run(clients=count, concentration=1.0, scale=scale, epsilon=0.01)
        for count in counts
        for scale in (1e-5, "learned")
    ]
