"""Settings, claims and times in a few words, the same in tables, figures, pages and the terminal."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from fedcert.app.result import Claimed, Summary

DATASET_NAMES = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST", "digits": "Digits"}
RULE_NAMES = {"fedavg": "FedAvg", "pog": "PoG"}
T = TypeVar("T")


def architecture(hidden: Iterable[int]) -> str:
    """Hidden layers as depth times width, where all are equally wide.

    >>> architecture([64, 64]), architecture([64, 32]), architecture([])
    ('2×64', '64-32', 'linear')
    """
    widths = list(hidden)
    if len(set(widths)) == 1:
        return f"{len(widths)}×{widths[0]}"
    return "-".join(map(str, widths)) or "linear"


def claim_name(row: Claimed) -> str:
    """A claim in a few words.

    >>> claim_name({"claim": "direct", "rule": "fedavg", "events": "box"})
    'direct · fedavg · box'
    """
    return f"{row['claim']} · {row['rule']} · {row['events']}"


def hidden(config: Mapping[str, Any]) -> str:
    """The widths of the hidden layers."""
    return "×".join(str(width) for width in config["hidden"])


def participants(summary: Summary) -> str:
    """How many clients took part, and of how many.

    Args:
        summary: the content of result.json.
    """
    present, expected = len(summary["clients"]), summary["config"]["clients"]
    return f"{present} clients" if present == expected else f"{present} of {expected} clients"


def scale_name(scale: float | str) -> str:
    """A posterior scale.

    >>> scale_name(1e-5), scale_name("learned")
    ('1e-05', 'learned')
    """
    return scale if isinstance(scale, str) else f"{scale:g}"


def setting(config: Mapping[str, Any]) -> str:
    """A federation in a few words.

    Args:
        config: of a run.
    """
    return (
        f"{config['dataset']}, {config['clients']} clients, α\u00a0{config['concentration']:g},"
        f" hidden {hidden(config)}, scale {scale_name(config['scale'])}"
    )


def distinct(values: Iterable[T]) -> list[T]:
    """Each value once, in order of appearance."""
    return list(dict.fromkeys(values))
