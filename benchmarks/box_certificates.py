"""Box certificates beside the paper's construction, on the paper's hardest federations.

Five clients, concentration 0.5, posterior scale 1e-5, 50 properties; for each data set and architecture the
transported and direct certificates of both families, and MC–IBP, with the same seed.

    FEDCERT_DATA=... python benchmarks/box_certificates.py [--seed 0] [--datasets mnist,fashion-mnist]
"""

import argparse

from fedcert.app.config import load_config
from fedcert.app.run import run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--datasets", default="mnist,fashion-mnist")
    options = parser.parse_args()
    print("| data | hidden | MC–IBP | paper-box tr. | paper-box dir. | box tr. | box dir. | box tr./dir. |")
    print("|---|---|---|---|---|---|---|---|")
    for dataset in options.datasets.split(","):
        for hidden in ("64", "64,64", "128"):
            settings = {"dataset": dataset, "hidden": hidden, "clients": 5, "concentration": 0.5}
            settings |= {"scale": 1e-5, "events": "paper-box,box"}
            result = run(load_config(None, settings | {"seed": options.seed, "aggregate_samples": 100}))
            lower = {
                (c.claim.kind, c.claim.rule, c.claim.events): c.mean_lower for c, _ in result.certificates
            }
            mc = next(e.value for e in result.estimates if e.name == "mc-ibp" and e.rule == "fedavg")
            cells = [
                lower[kind, "fedavg", family]
                for family in ("paper-box", "box")
                for kind in ("transported", "direct")
            ]
            figures = " | ".join(f"{100 * value:.2f}" for value in (mc, *cells))
            print(f"| {dataset} | {hidden} | {figures} | {cells[2] / cells[3]:.4f} |", flush=True)


if __name__ == "__main__":
    main()
