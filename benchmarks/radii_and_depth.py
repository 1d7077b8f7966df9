"""Radii and depths that people use: one table, each row a `fedcert run` in a folder of its own.

A row that is there already is read, not run again; a run that was interrupted resumes. Figures are [L, U] of
direct claims, L of transported ones and attack survival (an estimate), in %.

    FEDCERT_DATA=... python benchmarks/radii_and_depth.py [--only 128] [--device cuda] [--out RUNS] [--check]
"""

import argparse
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEADER = (
    "federation",
    "radius",
    "before [L, U]",
    "aim L",
    "direct [L, U]",
    "transported L",
    "survival",
    "U − survival",
    "transported / direct",
    "s a property",
)


@dataclass(frozen=True)
class Case:
    """One line of the table.

    Attributes:
        name: of the federation.
        options: of `fedcert run`.
        epsilon: the radius.
        before: [L, U] that an earlier version proved of such a federation, on other inputs of the same data.
        aim: the L to reach; None for none.
    """

    name: str
    options: str
    epsilon: float
    before: str
    aim: float | None


MNIST = "--dataset mnist --inputs correct --properties 50"
SKEWED, EVEN = f"{MNIST} --clients 5 --concentration 0.5", f"{MNIST} --clients 3 --concentration 1"
CASES = [
    Case("MNIST, 5 clients, Dir 0.5, 128", f"{SKEWED} --hidden 128", 0.01, "89.1, 93.0", 90.9),
    Case("MNIST, 5 clients, Dir 0.5, 128", f"{SKEWED} --hidden 128", 0.05, "39.1, 61.2", 50.0),
    Case("MNIST, 5 clients, Dir 0.5, 64,64", f"{SKEWED} --hidden 64,64", 0.001, "88.9, 97.0", 91.5),
    Case(
        "MNIST, 5 clients, Dir 10, 64,64",
        f"{MNIST} --clients 5 --concentration 10 --hidden 64,64",
        0.001,
        "96.3, 99.2",
        None,
    ),
    Case(
        "MNIST, 5 clients, Dir 0.5, 128,128,128", f"{SKEWED} --hidden 128,128,128", 0.001, "92.0, 100", 95.5
    ),
    Case("MNIST, 3 clients, Dir 1, 64,64,64,64", f"{EVEN} --hidden 64,64,64,64", 0.001, "86.4, 100", 93.0),
    Case("MNIST, 3 clients, Dir 1, 512,512", f"{EVEN} --hidden 512,512", 0.001, "97.0, 100", 98.8),
    Case("heart-disease, four hospitals, 16", "--dataset heart-disease", 1.0, "57.8, 68.4", 65.0),
    Case("heart-disease, four hospitals, 16", "--dataset heart-disease", 2.0, "33.1, 63.2", 50.0),
    Case(
        "MNIST, 1,000 clients, 64",
        f"{MNIST} --clients 1000 --concentration 10 --hidden 64",
        0.001,
        "89.9 (transported)",
        None,
    ),
]


def folder(case: Case, out: Path) -> Path:
    """Where a case's run lies: cases that differ in the radius alone share it."""
    return out / re.sub(r"[^a-z0-9.]+", "-", case.options.lower()).strip("-")


def run(case: Case, out: Path, device: str, check: bool) -> dict[str, Any]:
    """The result of a case's run, which is made if it is not there."""
    path = folder(case, out)
    if not (path / "result.json").exists():
        radii = ",".join(f"{c.epsilon:g}" for c in CASES if c.options == case.options)
        options = [*case.options.split(), "--epsilon", radii, "--device", device, "--out", str(path)]
        subprocess.run([sys.executable, "-m", "fedcert.app.cli", "run", *options], check=True)
    if check:
        subprocess.run([sys.executable, "-m", "fedcert_check", str(path)], check=True)
    return dict(json.loads((path / "result.json").read_text()))


def row(case: Case, result: dict[str, Any]) -> list[str]:
    """The figures of a case, as in `HEADER`."""
    at = [entry for entry in result["summary"] if entry["epsilon"] == case.epsilon]
    direct = next(entry for entry in at if entry["claim"] == "direct")
    transported = next(entry for entry in at if entry["claim"] == "transported")
    survival = next(
        (
            e["value"]
            for e in result["estimates"]
            if e["name"] == "attack-survival" and e["epsilon"] == case.epsilon
        ),
        float("nan"),
    )
    low, high, moved = direct["lower"], direct["upper"], transported["lower"]
    return [
        case.name,
        f"{case.epsilon:g}" if "heart" not in case.options else f"error × {case.epsilon:g}",
        f"[{case.before}]",
        "" if case.aim is None else f"{case.aim:g}",
        f"[{100 * low:.2f}, {100 * high:.2f}]",
        f"{100 * moved:.2f}",
        f"{100 * survival:.2f}",
        f"{100 * (high - survival):.2f}",
        f"{moved / low:.4f}",
        f"{(direct['seconds'] + transported['seconds']) / direct['properties']:.2f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="regular expression of the rows to show")
    parser.add_argument("--out", type=Path, default=Path("runs/radii"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--check", action="store_true", help="prove each run's certificates again")
    asked = parser.parse_args()
    chosen = [case for case in CASES if re.search(asked.only, case.name)]
    rows = [row(case, run(case, asked.out, asked.device, asked.check)) for case in chosen]
    for line in (list(HEADER), ["---"] * len(HEADER), *rows):
        print("| " + " | ".join(line) + " |")


if __name__ == "__main__":
    main()
