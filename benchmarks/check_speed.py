"""How long `fedcert check` takes: every certificate of MNIST runs, 50 properties, two processes.

FEDCERT_DATA=... python benchmarks/check_speed.py [--hidden 64 --scale learned] [--out DIR]
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from fedcert.app.config import RunConfig
from fedcert.app.output import carry_out, identity_of
from fedcert.app.run import run
from fedcert_check import certificates, check
from fedcert_check.percent import percent_down

JOBS = 2


def rows(hidden: str, scale: str, folder: Path) -> None:
    config = RunConfig(dataset="mnist", hidden=hidden, scale=scale)
    summary = carry_out(lambda once: run(config, once=once), folder, identity_of(config))
    proving = {f"{row['claim']}-{row['rule']}-{row['events']}": row["seconds"] for row in summary["summary"]}
    for path in certificates(folder):
        start = time.perf_counter()
        report = check(path, jobs=JOBS)
        seconds = time.perf_counter() - start
        claimed, held = report.claimed_mean[0], report.proved_mean[0]
        verdict = "proved" if report.verdict else f"not proved: {percent_down(held)}"
        cells = (hidden, scale, path.stem, percent_down(claimed), verdict)
        size = path.stat().st_size / 1e6
        print(f"| {' | '.join(cells)} | {proving[path.stem]:.1f} | {seconds:.1f} | {size:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hidden", nargs="*", default=["64", "64,64"])
    parser.add_argument("--scale", nargs="*", default=["learned", "1e-5"])
    parser.add_argument("--out", type=Path, help="keeps the runs")
    options = parser.parse_args()
    print("| hidden | scale | certificate | L | verdict | proving, s | checking, s | MB |\n|" + "---|" * 8)
    for hidden in options.hidden:
        for scale in options.scale:
            with TemporaryDirectory() as folder:
                rows(hidden, scale, (options.out or Path(folder)) / f"{hidden}-{scale}")


if __name__ == "__main__":
    main()
