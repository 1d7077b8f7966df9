"""Many inputs of one federation: in one process, and on a Ray cluster whose worker is killed at work.

Both are runs of the command line, from training to report; every bound and every tensor of the certificates'
witnesses is compared bit for bit. The worker that is killed is the first one that is seen at work once some
pieces are done.

    FEDCERT_DATA=... python benchmarks/past_one_machine.py [--properties 10000] [--hidden 64] [--workers 2]
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from fedcert.wire.container import read_container

RUN = [sys.executable, "-m", "fedcert.app.cli", "run", "--dataset", "mnist", "--clients", "3"]
KILL_AFTER = 5  # pieces


def start(out: Path, options: argparse.Namespace, *more: str) -> subprocess.Popen[str]:
    asked = [
        "--hidden",
        options.hidden,
        "--properties",
        str(options.properties),
        "--epsilon",
        options.epsilon,
    ]
    fixed = ["--claims", "direct", "--estimates", "", "--out", str(out), *more]
    return subprocess.Popen(
        [*RUN, *asked, *fixed],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> None:
    _, errors = process.communicate()
    if process.returncode:
        raise SystemExit(errors)


def kill_a_worker(process: subprocess.Popen[str], out: Path) -> int:
    """Kill a worker that is at work once some pieces are done; returns how many pieces were."""
    while process.poll() is None:
        done = len(list(out.glob("unfinished/pieces/certificates/direct*/*.safetensors")))
        if done >= KILL_AFTER:
            search = ["pgrep", "--session", str(process.pid), "-f", "^ray::attempt"]
            found = subprocess.run(search, capture_output=True, text=True, check=False).stdout.split()
            if found:
                os.kill(int(found[0]), signal.SIGKILL)
                return done
        time.sleep(0.05)
    raise SystemExit("no worker was seen at work: ask for more --properties")


def tensors(out: Path) -> dict[str, torch.Tensor]:
    """Every tensor of every certificate."""
    return {
        f"{path.name}: {name}": tensor
        for path in sorted((out / "certificates").glob("*.safetensors"))
        for name, tensor in read_container(path)[1].items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--properties", type=int, default=10_000)
    parser.add_argument("--hidden", default="64")
    parser.add_argument("--epsilon", default="0.001")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()

    with TemporaryDirectory() as folder:
        alone, spread = Path(folder) / "alone", Path(folder) / "spread"
        seconds = []
        begin = time.perf_counter()
        finish(start(alone, options))
        seconds.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        process = start(spread, options, "--engine", "ray", "--jobs", str(options.workers))
        done = kill_a_worker(process, spread)
        finish(process)
        seconds.append(time.perf_counter() - begin)
        one, other = tensors(alone), tensors(spread)
        different = [name for name in one if not torch.equal(one[name], other[name])]
        assert one.keys() == other.keys()
        print(f"mnist, 3 clients, hidden {options.hidden}, radius {options.epsilon}, direct claim")
        print("| | inputs | mean L | wall s, all | certification, s |\n|---|---|---|---|---|")
        names = ("one process", f"Ray, {options.workers} workers, one killed after {done} pieces")
        for name, out, spent in zip(names, (alone, spread), seconds, strict=True):
            result = json.loads((out / "result.json").read_text(encoding="utf-8"))
            row, stage = result["summary"][0], result["timings"]["certification"]
            print(f"| {name} | {row['properties']} | {row['lower']!r} | {spent:.0f} | {stage:.0f} |")
        numbers = sum(tensor.numel() for tensor in one.values())
        print(f"{len(one)} tensors, {numbers} numbers: {len(different)} tensors differ {different}")


if __name__ == "__main__":
    main()
