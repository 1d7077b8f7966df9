"""What `fedcert check` is estimated to take against what it takes: the certificates of runs, one process.

python benchmarks/check_cost.py RUN [RUN ...]
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from fedcert_check import certificates
from fedcert_check.cost import size
from fedcert_check.cost.rates import PROCESS_BYTES
from fedcert_check.families import family_of
from fedcert_check.files import read

PROGRAM = """
import json, resource, sys, time
from pathlib import Path
from fedcert_check import check
start = time.process_time()
verdict = check(Path(sys.argv[1])).verdict
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([verdict, time.process_time() - start, used]))
"""
KILOBYTE = 1024 if sys.platform == "linux" else 1


def row(path: Path) -> str:
    document = read(path, path.parents[1] / "messages")
    cost = family_of(document).estimate(document, 1)
    memory = (PROCESS_BYTES + size(document) + cost.memory) / 1e6
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(path)], capture_output=True, check=True)
    verdict, seconds, used = json.loads(done.stdout)
    peak = used * KILOBYTE / 1e6
    cells = [path.parents[1].name, path.stem, "proved" if verdict else "not proved"]
    cells += [f"{seconds:.1f}", f"{cost.seconds:.1f}", f"{cost.seconds / seconds:.1f}"]
    cells += [f"{peak:.0f}", f"{memory:.0f}", f"{memory / peak:.2f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    head = ("run", "certificate", "verdict", "s", "estimated", "ratio", "peak, MB", "estimated", "ratio")
    options = parser.parse_args()
    print(f"| {' | '.join(head)} |\n|" + "---|" * len(head))
    for run in options.runs:
        for path in certificates(run):
            print(row(path), flush=True)


if __name__ == "__main__":
    main()
