"""How long `fedcert-check` takes for each certificate of MNIST runs, 50 properties, beside another checkout.

Times are processor times of the whole command, all its processes together, so that ratios mean something on a
busy machine. With --before the runs are made by that checkout, since an earlier checker cannot read what a
later one writes, and both checkers prove the same files. --sample proves some random properties of each.

    FEDCERT_DATA=... python benchmarks/check_speed.py [--before CHECKOUT] [--hidden 64 64,64] [--sample 16]
"""

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parents[1]


def command(checkout: Path, *arguments: str) -> tuple[float, int]:
    """Processor seconds and exit code of a command of a checkout."""
    paths = os.pathsep.join(str(checkout / part) for part in ("src", "checker/src"))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.returncode


def rows(hidden: str, scale: str, folder: Path, options: argparse.Namespace) -> None:
    asked = ["--dataset", "mnist", "--hidden", hidden, "--scale", scale, "--properties", "50"]
    claims = ["--inputs", "correct", "--epsilon", "0.001", "--claims", "local,transported,direct"]
    maker = options.before or HERE
    if not (folder / "result.json").exists():
        command(maker, "fedcert.app.cli", "run", *asked, *claims, "--events", "all", "--out", str(folder))
    for path in sorted((folder / "certificates").glob(options.only)):
        sample = ["--sample", str(options.sample), "--seed", "1"] if options.sample else []
        check = ["fedcert_check", str(path), "--jobs", str(options.jobs), *sample]
        cells = [hidden, scale, path.stem]
        spent, code = command(HERE, *check)
        cells.append("not proved" if code else "not refuted" if options.sample else "proved")
        if options.before:
            earlier, earlier_code = command(options.before, *check)
            assert code == earlier_code, path
            cells += [f"{earlier:.1f}", f"{spent:.1f}", f"**{earlier / spent:.1f}**"]
        else:
            cells += ["–", f"{spent:.1f}", "–"]
        print(f"| {' | '.join(cells)} | {path.stat().st_size / 1e6:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hidden", nargs="*", default=["64", "64,64"])
    parser.add_argument("--scale", nargs="*", default=["learned", "1e-5"])
    parser.add_argument("--before", type=Path, help="an earlier checkout to compare with")
    parser.add_argument("--sample", type=int, help="properties of each certificate; all by default")
    parser.add_argument("--only", default="*.safetensors", help="which certificates")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="keeps the runs, and uses those that are there")
    options = parser.parse_args()
    print("| hidden | scale | certificate | verdict | before, s | now, s | ratio | MB |\n|" + "---|" * 8)
    for hidden in options.hidden:
        for scale in options.scale:
            with TemporaryDirectory() as folder:
                rows(hidden, scale, (options.out or Path(folder)) / f"{hidden}-{scale}", options)


if __name__ == "__main__":
    main()
