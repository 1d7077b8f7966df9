"""Where does the time of one federation go? Seconds by stage and claim, in one process and one thread.

FEDCERT_DATA=... python benchmarks/federation_speed.py --dataset mnist --clients 5 --hidden 64,64 --scale 1e-5
"""

import argparse
import time

import torch

from fedcert.app.config import load_config
from fedcert.app.run import run


def main() -> None:
    """Run a federation with all events; print its processor seconds, and wall-clock seconds of its parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--hidden", default="64")
    parser.add_argument("--scale", default="1e-5")
    parser.add_argument("--concentration", type=float, default=1.0)
    settings = vars(parser.parse_args())
    torch.set_num_threads(1)
    start = time.process_time()
    result = run(load_config(None, settings))
    print(f"{settings}: {time.process_time() - start:.1f} s of one core")
    for stage, seconds in result.timings.items():
        print(f"  {stage:15} {seconds:6.1f} s")
    for certificate, seconds in result.certificates:
        kind, rule, events = certificate.claim.kind, certificate.claim.rule, certificate.claim.events
        print(f"  {kind:11} {rule:6} {events:9} {seconds:6.2f} s  {certificate.mean_lower:.4f}")


if __name__ == "__main__":
    main()
