"""Files of JSON damaged by one change: a slip of the hand or of the disk, or on purpose."""

import copy
import json
from random import Random
from typing import Any

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 10**6, 2**53, 2**64, 10**30, 10**400, -(10**400),
    0.0, 0.25, 0.5, 1.0, 1.5, -0.5, 5e-324, 1e-310, 1e-200, 1e13, 1e308, -1e308,
    float("nan"), float("inf"), float("-inf"),
    "", "x", "0.5", "5,5", "learned", "nan", "fedavg", "direct", "box", "a\nb",
    "\0", "\ud800", "$x_{", "[red]", "é" * 99,
    [], {}, [[]], [{}], [None], [0], [0.5, 0.5], [1, 2, 3], ["box"], {"x": 1}, {"": ""},
)  # fmt: skip

PROBABILITIES = (0.0, 5e-324, 1e-310, 1e-99, 1e-9, 0.5, 1.0)
SECONDS = (0.0, 5e-324, 1e-99, 1e-3, 5.0, 1e12)
SETTINGS: tuple[dict[str, Any], ...] = (
    {"hidden": []}, {"hidden": [1] * 40}, {"hidden": [2**53]}, {"hidden": [2**53] * 3}, {"clients": 2**53},
    {"concentration": 5e-324}, {"concentration": 1e308}, {"scale": 1e-45}, {"scale": 1e30},
    {"epsilon": [1e308]}, {"epsilon": [5e-324]}, {"radius": [5e-324]},
    {"margin": -1e308}, {"gamma": [1e-300]}, {"weights": [1e30, -1e30]},
    {"seed": 2**64 - 1}, {"training": {"epochs": 10**400}}, {"trim": 2**53}, {"events": ["box"]},
    {"device": "cuda:7$x_{"}, {"data_dir": "$x_{"},
)  # fmt: skip


def damaged(content: Any, random: Random) -> bytes:
    """A file of this content with one thing wrong, or with nothing that matters.

    Args:
        content: what the file says.
        random: chooses the place and the change.
    """
    if random.random() < 0.2:
        return _bytes(json.dumps(content).encode(), random)
    changed = copy.deepcopy(content)
    parent, key = _place(changed, random)
    return json.dumps(_change(changed, parent, key, random)).encode()


def extreme(summary: dict[str, Any], random: Random) -> dict[str, Any]:
    """The content of a result.json with figures at the ends of what they may be, and parts left out.

    Args:
        summary: of a result.json.
        random: chooses what is changed.
    """
    changed, often = copy.deepcopy(summary), random.choice([0.05, 0.2, 0.6])

    def spoil(record: dict[str, Any], name: str, values: tuple[float, ...]) -> None:
        if random.random() < often:
            record[name] = random.choice(values)

    for row in changed["summary"]:
        spoil(row, "lower", PROBABILITIES)
        spoil(row, "seconds", SECONDS)
        if row["upper"] is not None:
            row["upper"] = max(row["lower"], random.choice([row["upper"], *PROBABILITIES]))
    for row in changed["estimates"]:
        spoil(row, "value", PROBABILITIES)
    for stage in changed["timings"]:
        spoil(changed["timings"], stage, SECONDS)
    for name in ("summary", "estimates"):
        if random.random() < often / 2:
            changed[name] = random.sample(changed[name], random.randrange(len(changed[name]) + 1))
    if random.random() < often:
        changed["timings"] = {}
    if random.random() < often:
        changed["histograms"] = [[random.choice([0, 1, 2**53])] * 2 for _ in changed["clients"]]
    if random.random() < often:
        changed["config"] |= random.choice(SETTINGS)
    for row in (*changed["summary"], *changed["estimates"]):
        row["epsilon"] = changed["config"]["epsilon"][0]
    return changed


def _place(content: Any, random: Random) -> tuple[Any, Any]:
    """Some entry: a list or an object, and the index or the name of the entry in it."""
    parent, key = None, None
    node = content
    while isinstance(node, dict | list) and node and (parent is None or random.random() < 0.8):
        parent, key = node, random.choice(list(node) if isinstance(node, dict) else range(len(node)))
        node = parent[key]
    return parent, key


def _change(content: Any, parent: Any, key: Any, random: Random) -> Any:
    kind = random.choice(["replace"] * 6 + ["delete", "add", "swap", "rename", "wrap", "empty", "whole"])
    match kind:
        case "replace":
            parent[key] = random.choice(VALUES)
        case "delete":
            del parent[key]
        case "add" if isinstance(parent, list):
            parent.insert(key, copy.deepcopy(parent[key]))
        case "add":
            parent["unheard-of"] = random.choice(VALUES)
        case "swap":
            other = random.choice(list(parent) if isinstance(parent, dict) else range(len(parent)))
            parent[key], parent[other] = parent[other], parent[key]
        case "rename" if isinstance(parent, dict):
            parent[random.choice([key.upper(), "", "\0", "a\nb", "fedavg", "$x_{"])] = parent.pop(key)
        case "wrap" | "rename":
            parent[key] = [parent[key]]
        case "empty" if isinstance(parent[key], dict | list | str):
            parent[key] = type(parent[key])()
        case _:
            return random.choice([*VALUES, parent, parent[key], [content], {"config": content}])
    return content


def _bytes(text: bytes, random: Random) -> bytes:
    at, to = sorted(random.randrange(len(text) + 1) for _ in range(2))
    return random.choice([
        text[:at],
        text[:at] + text[to:],
        text[:at] + random.randbytes(random.choice([1, 20])) + text[at + 1 :],
        text.replace(b"0.", random.choice([b"1", b"1e999", b"-0.", b"0.0"]), random.choice([1, -1])),
        text.replace(b":", b": NaN, ", 1),
        b"[" * 100_000,
        b'{"config":' * 500 + text + b"}" * 500,
        text[:1] + text[1:-1] + b"," + text[1:],
        b"\xef\xbb\xbf" + text,
        text.decode().encode("utf-16"),
        b"9" * 5000,
    ])  # fmt: skip
