"""Whether any bound of a folder of runs is lower than in another one: two versions, the same commands.

Runs are matched by their folders' names without the digest at the end, bounds by property, radius, claim,
rule and events. A lower bound that fell by more than --most is a regression, and so is an upper bound that
rose; those of `paper-box` events, whose candidates are drawn, are shown and not judged.

    python benchmarks/compare_bounds.py BEFORE AFTER [--most 1e-6]
"""

import argparse
import csv
import re
import sys
from collections import defaultdict
from pathlib import Path

Key = tuple[str, ...]
KEYS = ("property", "input", "epsilon", "threshold", "claim", "rule", "events")


def bounds(folder: Path) -> dict[Key, tuple[float, float]]:
    """Every lower and upper bound below a folder, by its run and what it is of."""
    found = {}
    for path in sorted(folder.rglob("properties.csv")):
        run = re.sub(r"-[0-9a-f]{8}$", "", path.parent.name) if path.parent != folder else ""
        with path.open() as file:
            for line in csv.DictReader(file):
                key = (run, *(line[name] for name in KEYS))
                found[key] = float(line["lower"]), float(line["upper"] or 1.0)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--most", type=float, default=1e-6)
    asked = parser.parse_args()
    before, after = bounds(asked.before), bounds(asked.after)
    shared = before.keys() & after.keys()
    changes: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for key in sorted(shared):
        (low, high), (lower, higher) = before[key], after[key]
        changes[key[-3], key[-1]].append((lower - low, higher - high))
    print("| claim | events | bounds | L fell by at most | mean change of L | U rose by at most |")
    print("|---|---|---|---|---|---|")
    worst = 0.0
    for (claim, events), found in sorted(changes.items()):
        fell, rose = max(-change for change, _ in found), max(change for _, change in found)
        mean = sum(change for change, _ in found) / len(found)
        print(
            f"| {claim} | {events} | {len(found)} | {max(fell, 0):.1e} | {mean:+.1e} | {max(rose, 0):.1e} |"
        )
        worst = max(worst, fell, rose) if events != "paper-box" else worst
    missing = len(before.keys() - shared)
    print(f"{len(shared)} bounds of both; {missing} of the first alone; worst change {worst:.1e}")
    return int(not shared or worst > asked.most)


if __name__ == "__main__":
    sys.exit(main())
