"""What a report knows of a run: the contents of its files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fedcert.app.result import Bound, Claimed, Property, Row, Summary
from fedcert.certificate import percent_down, percent_up


@dataclass(frozen=True)
class Job:
    """A run of a grid.

    Attributes:
        summary: the content of its result.json.
        properties: the content of its properties.json.
        link: where its own report lies, seen from the grid's; empty where there is none.
    """

    summary: Summary
    properties: Sequence[Property]
    link: str = ""


@dataclass(frozen=True)
class Bounds:
    """What is proven of a safety probability.

    Attributes:
        claim: kind, rule and events.
        lower: L.
        upper: U; None where none was proven.
        survival: the share of sampled networks that an attack does not break; None where none were drawn.
    """

    claim: str
    lower: float
    upper: float | None
    survival: float | None

    @property
    def text(self) -> str:
        """The bounds in per cent, rounded outward.

        >>> Bounds("direct", 0.99999, None, None).text, Bounds("direct", 0.5, 0.51234, None).text
        ('≥ 99.99 %', '50.00 – 51.24 %')
        """
        least = percent_down(self.lower)
        return (
            f"≥ {least}" if self.upper is None else f"{least.removesuffix(' %')} – {percent_up(self.upper)}"
        )


def claim_name(row: Claimed) -> str:
    """A claim in a few words.

    >>> claim_name({"claim": "direct", "rule": "fedavg", "events": "box"})
    'direct · fedavg · box'
    """
    return f"{row['claim']} · {row['rule']} · {row['events']}"


def strongest(summary: Summary) -> Row | None:
    """The row with the largest L that speaks of the deployed model; None where nothing is claimed of it."""
    deployed = [
        row
        for row in summary["summary"]
        if row["claim"] != "local" and row["rule"] == summary["config"]["rule"]
    ]
    return max(deployed, key=lambda row: row["lower"], default=None)


def bounds(row: Bound, survival: dict[str, float]) -> Bounds:
    """The bounds of a claim; local ones speak of no deployed model, so that no attack was made on it.

    Args:
        row: claim, rule, events, lower and upper.
        survival: the share of sampled networks that an attack does not break, by rule.
    """
    attacked = None if row["claim"] == "local" else survival.get(row["rule"])
    return Bounds(claim_name(row), row["lower"], row["upper"], attacked)


def estimate(summary: Summary, name: str) -> dict[str, float]:
    """The values of an estimate by rule.

    Args:
        summary: the content of result.json.
        name: such as "mc-ibp".
    """
    return {row["rule"]: row["value"] for row in summary["estimates"] if row["name"] == name}


def hidden(config: dict[str, Any]) -> str:
    """The widths of the hidden layers."""
    return "×".join(str(width) for width in config["hidden"])


def setting(config: dict[str, Any]) -> str:
    """A federation in a few words.

    Args:
        config: of a run.
    """
    return (
        f"{config['dataset']}, {config['clients']} clients, α\u00a0{config['concentration']:g},"
        f" hidden {hidden(config)}, scale {scale(config)}"
    )


def scale(config: dict[str, Any]) -> str:
    """The posterior scale, as people write it."""
    return (
        config["scale"] if isinstance(config["scale"], str) else f"{config['scale']:g}".replace("e-0", "e-")
    )


def distinct(values: Iterable[Any]) -> list[Any]:
    """Each value once, in order of appearance."""
    return list(dict.fromkeys(values))


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(0.31), duration(75.0), duration(3000.0), duration(4000.0)
    ('0.3 s', '1 min 15 s', '50 min', '1 h 07 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 10:
        return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
