"""What result.json records beside what certificates prove: it is held to its form alone."""

from fedcert_check.run_folder.entries import Entry
from fedcert_check.subject import CONSTRAINTS

MAX_COUNT = 2**53
SUBJECT = "subject"  # of a run with constraints of the user's own; labels win in all others
INPUTS = ("dataset", "chosen", "count", "available", "seed", "digest", "accuracy")


def require_recorded(result: Entry) -> None:
    """Refuse what no run writes among the entries that no certificate can prove.

    Args:
        result: the whole file.
    """
    if SUBJECT in result.value:
        result.below(SUBJECT).one_of(CONSTRAINTS)
    for accuracy in (result.below("accuracy"), result.below("inputs").fields(*INPUTS).below("accuracy")):
        if (accuracy.or_none(Entry.probability) is None) != (SUBJECT in result.value):
            accuracy.refuse(f"{accuracy.shown}: an accuracy needs labels, and labels have one")
    for name in ("accuracy_by_rule", "timings", "refused"):
        part = result.below(name).object()
        for key in part.value:
            entry = part.below(key)
            if name == "refused":
                entry.text()
            else:
                entry.number(0.0, 1.0 if name == "accuracy_by_rule" else float("inf"))
    for row in result.below("estimates").rows():
        row.fields("name", "rule", "epsilon", "value", "samples", "confidence_interval")
        row.below("name").name()
        row.below("rule").name()
        row.below("epsilon").number(0.0)
        row.below("value").probability()
        row.below("samples").natural(1, MAX_COUNT)
        ends = [end.probability() for end in row.below("confidence_interval").rows()]
        if len(ends) != 2 or ends[0] > ends[1]:
            row.below("confidence_interval").refuse("not the two ends of an interval")
    for row in result.below("accuracy_by_client").rows() if "accuracy_by_client" in result.value else []:
        row.fields("client", "examples", "accuracy")
        row.below("client").name()
        row.below("examples").natural(1, MAX_COUNT)
        row.below("accuracy").probability()
    histograms = result.below("histograms")
    for row in histograms.rows() if histograms.value is not None else []:
        for count in row.rows():
            count.natural(0, MAX_COUNT)
