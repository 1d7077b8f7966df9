"""What `fedcert check` makes of files built to crash, stall or exhaust it: exit code, seconds, peak memory.

python benchmarks/hostile_certificates.py
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from hostile import FILES

PROGRAM = (
    "import resource, sys; from fedcert_check.cli import main\n"
    "try: main()\n"
    "finally: print('peak', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
)
KILOBYTE = 1024 if sys.platform == "linux" else 1


def row(name: str, path: Path) -> str:
    start, size = time.perf_counter(), path.stat().st_size
    size += sum(file.stat().st_size for file in (path.parents[1] / "messages").iterdir())
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), "--jobs", "1"],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"COLUMNS": "100"},
        check=False,
    )
    seconds = time.perf_counter() - start
    *lines, last = done.stdout.splitlines()
    peak = int(last.split()[-1]) * KILOBYTE / 1e6
    said = [line for line in lines if "│" in line] or done.stderr.strip().splitlines()
    shown = said[0].replace(str(path.parents[1]), "…").replace("|", "\\|")
    return f"| {name} | {size / 1e6:.1f} | {done.returncode} | {seconds:.1f} | {peak:.0f} | {shown} |"


def main() -> None:
    print("| file | MB | exit code | seconds | peak, MB | says |\n|" + "---|" * 6)
    for name, build in FILES.items():
        with TemporaryDirectory() as folder:
            print(row(name, build(Path(folder))), flush=True)


if __name__ == "__main__":
    main()
