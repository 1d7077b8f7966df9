"""What the numbers of one federation mean: accuracy, certified accuracy, survival, confidence, decisions.

    python benchmarks/meaning.py --draws 10000 --device cuda

MNIST, 5 clients, Dirichlet 0.5, one hidden layer of 128, the first 200 test inputs as they come; beside it
the figure that this project used to open with: 50 inputs that the mean model classifies correctly.
"""

import argparse

from common import percent

from fedcert.app.config import make_config
from fedcert.app.records import Summary
from fedcert.app.run import run
from fedcert.app.summary import summarise
from fedcert_check.percent import bounds

SHARED = {"dataset": "mnist", "clients": 5, "concentration": 0.5, "hidden": [128], "claims": ["direct"]}
MARGINS = [1, 2, 4]


def summary(settings: dict[str, object]) -> Summary:
    return summarise(run(make_config(SHARED | settings)), {})


def value(found: Summary, name: str, epsilon: float) -> int:
    """The number of inputs that a conclusion states."""
    rows = [row for row in found["conclusions"] if (row["name"], row["epsilon"]) == (name, epsilon)]
    return int(rows[0]["value"] or 0)


def line(found: Summary, i: int) -> str:
    """One radius: the claim, the estimate, the confidence bound, and how many decisions are robust."""
    row, drawn, count = found["summary"][i], found["confidence"][i], found["inputs"]["count"]
    epsilon = row["epsilon"]
    survival = next(own["value"] for own in found["estimates"] if own["epsilon"] == epsilon)
    columns = [
        f"{epsilon:g}",
        bounds(row["lower"], row["upper"]),
        percent(survival),
        bounds(drawn["lower"], drawn["upper"]),
        f"{percent(drawn['proven'])}, {percent(drawn['broken'])}",
        *(f"{value(found, name, epsilon)} of {count}" for name in ("vote", "mean-softmax")),
        f"{row['seconds']:.1f}, {drawn['seconds']:.1f}",
    ]
    return f"| {' | '.join(columns)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--inputs", type=int, default=200)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.001, 0.01, 0.05])
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    asked = {"properties": options.inputs, "epsilon": options.epsilon, "device": options.device}
    drawn = {"confidence_draws": options.draws, "softmax_margins": MARGINS}
    found = summary(asked | drawn)
    print(
        f"accuracy, %: test set {percent(found['accuracy'])}, inputs {percent(found['inputs']['accuracy'])}"
    )
    print("| radius | certified | survival | confidence bound | proven, broken | vote | mean softmax | s |")
    for i in range(len(found["summary"])):
        print(line(found, i))
    print("seconds:", {stage: round(seconds, 1) for stage, seconds in found["timings"].items()})
    old = summary({"inputs": "correct", "properties": 50, "epsilon": 0.001, "device": options.device})
    first = old["summary"][0]
    print(f"50 inputs selected because correct, radius 0.001: {bounds(first['lower'], first['upper'])}")
    for conclusion in (*found["conclusions"], *old["conclusions"][:1]):
        print(f"- radius {conclusion['epsilon']:g}: {conclusion['sentence']}")


if __name__ == "__main__":
    main()
