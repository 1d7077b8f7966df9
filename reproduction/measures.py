"""What the paper measures about a run, beyond bounds and estimates."""

from fedcert.app.report.measures import Measure, bound, proving, ratio, stage
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.table import Column


def retention(events: str) -> Measure:
    """100 L^tr / L^dir under FedAvg of each run in which something was certified directly."""
    transported, direct = bound("transported", "fedavg", events), bound("direct", "fedavg", events)

    def of(run: FinishedRun) -> float | None:
        part, whole = transported.of(run), direct.of(run)
        return None if part is None or whole is None else ratio(100 * part, whole)

    return Measure(Column("L^tr / L^dir (%)"), of)


def law_seconds(rule: str, events: str) -> Measure:
    """Seconds for a law: training, properties, the clients' cells where the events need them, its claims."""
    claims = proving(events, rule)
    before = stage("", "training", "properties", *(["messages"] if events == "paper-box" else []))

    def of(run: FinishedRun) -> float | None:
        own = claims.of(run)
        return None if own is None else own + (before.of(run) or 0.0)

    return Measure(Column("Time (s)"), of)
