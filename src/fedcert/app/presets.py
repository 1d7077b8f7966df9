"""Settings under a name: `fedcert run --preset NAME`."""

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "scale": 1e-5,
        "test_examples": 2_000,
        "events": ("paper-box",),
        "claims": ("local", "transported", "direct"),
        "compare": ("fedavg", "pog"),
        "inputs": "correct",
        "properties": 50,
        "epsilon": (1e-3,),
        "confidence_draws": 0,
        "estimates": ("mc-ibp", "attack-survival", "aggregated-sampling"),
    }
}
"""Named settings: the paper fixes the posterior scale, has one family of events and one radius, and asks only
about inputs that the mean model classifies correctly."""
