"""A result.json by hand, for the tests of what a terminal shows of it."""

from typing import Any


def summary() -> dict[str, Any]:
    """Figures that show which of them went where: two radii, of which the second halves all bounds."""
    rows = [
        ("local", "pog", "paper-box", 0.99999, None),
        ("transported", "pog", "paper-box", 0.12345, None),
        ("direct", "pog", "projected", 0.5, 0.99991),
        ("direct", "fedavg", "projected", 0.0, 0.00001),
    ]
    estimates = {
        ("mc-ibp", "pog"): 0.75,
        ("attack-survival", "pog"): 0.875,
        ("attack-survival", "fedavg"): 0.375,
        ("aggregated-sampling", "pog"): 0.11,
    }
    return {
        "config": {
            "dataset": "digits",
            "clients": 7,
            "hidden": [64, 32],
            "posterior": "bbb",
            "scale": "learned",
            "rule": "pog",
            "epsilon": [0.001, 0.125],
        },
        "norm": "linf",
        "accuracy": 0.9375,
        "accuracy_by_rule": {"pog": 0.9375, "fedavg": 0.625},
        "clients": [{"client": f"client-{i}"} for i in range(7)],
        "inputs": {
            "dataset": "digits",
            "chosen": "first",
            "count": 50,
            "available": 360,
            "seed": None,
            "accuracy": 0.98,
        },
        "summary": [
            {
                "claim": claim,
                "rule": rule,
                "events": events,
                "epsilon": epsilon,
                "lower": lower * share,
                "upper": None if upper is None else upper * share,
                "seconds": 1.25,
                "reproved": False,
            }
            for epsilon, share in ((0.001, 1.0), (0.125, 0.5))
            for claim, rule, events, lower, upper in rows
        ],
        "margins": [],
        "radii": [],
        "confidence": [],
        "conclusions": [
            {"epsilon": epsilon, "sentence": f"What [{verb}] at {epsilon}."}
            for epsilon in (0.001, 0.125)
            for verb in ("follows", "is said next")
        ],
        "estimates": [
            {"name": name, "rule": rule, "epsilon": epsilon, "value": value * share}
            for epsilon, share in ((0.001, 1.0), (0.125, 0.5))
            for (name, rule), value in estimates.items()
        ],
    }
