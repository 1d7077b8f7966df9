"""The subject of a certificate, read from its file and held against its properties.

Every region must contain the ball or box that the subject names, cut to the domain, and must not be larger.
Of labels the constraints must say that they beat every other class by the margin; constraints of the maker's
own are those of the certificate, whatever they mean.
"""

from typing import Any

import numpy as np

from fedcert_check.features import read_features
from fedcert_check.properties import Properties
from fedcert_check.regions import outward, require_regions
from fedcert_check.subject import (
    BOX,
    CHOICES,
    CONSTRAINTS,
    LABELS,
    NORMS,
    PREFIX,
    TENSORS,
    UNKNOWN,
    WEIGHTED,
    Subject,
)
from fedcert_check.validation import Array, finite, plain_name, quoted, require, require_fields, shaped


def read_subject(entry: Any, arrays: dict[str, Array], properties: Properties) -> Subject | None:
    """The subject of a claim, if it has one and the properties are what it says.

    Args:
        entry: what the claim's JSON says of it; None for no subject.
        arrays: all tensors of the file.
        properties: the properties of the claim.
    """
    own = {name: arrays.get(PREFIX + name) for name in TENSORS}
    if entry is None:
        stray = [PREFIX + name for name, tensor in own.items() if tensor is not None]
        require(not stray, f"tensors {quoted(stray)} without a subject")
        return None
    require(isinstance(entry, dict), f"the subject is {quoted(entry)}, not a JSON object")
    weighted, boxed = entry.get("norm") == WEIGHTED, entry.get("norm") == BOX
    more = {"features"} if weighted else set()
    require_fields(entry, {"type", "norm", "domain", "margin", "inputs", *more}, "the subject")
    kinds = (LABELS, CONSTRAINTS)
    require(entry["type"] in kinds, f"a subject of type {quoted(entry['type'])}, not {' or '.join(kinds)}")
    require(entry["norm"] in NORMS, f"the norm {quoted(entry['norm'])}, not {', '.join(NORMS)}")
    labelled = entry["type"] == LABELS
    domain = _domain(entry["domain"])
    for name, needed in (("weights", weighted), ("upper", boxed), ("labels", labelled)):
        require(
            needed == (own[name] is not None),
            f"{name} of the norm {entry['norm']} and the type {entry['type']}",
        )
    origin = entry["inputs"]
    require_fields(origin, {"source", "chosen", "available", "seed"}, "the inputs of the subject")
    require(origin["chosen"] in CHOICES, f"inputs chosen by {quoted(origin['chosen'])}")
    count, width = properties.lower.shape
    subject = Subject(
        shaped("subject.inputs", own["inputs"], np.float64, count, width),
        shaped("subject.labels", own["labels"], np.int64, count) if labelled else None,
        shaped("subject.indices", own["indices"], np.int64, count),
        shaped("subject.radius", own["radius"], np.float64, count),
        entry["norm"],
        finite(entry["margin"], "the margin"),
        domain,
        plain_name(origin["source"], "the source of the inputs"),
        origin["chosen"],
        _count(origin["available"], "the number of available inputs"),
        _count(origin["seed"], "the seed"),
        shaped("subject.weights", own["weights"], np.float64, count, width) if weighted else None,
        read_features(entry["features"], width) if weighted and entry["features"] is not None else None,
        shaped("subject.upper", own["upper"], np.float64, count, width) if boxed else None,
        None if labelled else (properties.C, properties.d),
    )
    _require_inside(subject)
    require(bool((subject.radius >= 0).all()), "a radius below 0")
    require(bool((subject.indices >= UNKNOWN).all()), "an index below −1")
    reach = outward(subject.radius[:, None], subject.weights)
    require_regions(properties, subject.boxes, reach, domain)
    if subject.labels is None:
        require(subject.margin == 0, f"a margin of {subject.margin} without labels")
    else:
        _require_labels_win(subject, subject.labels, properties)
    return subject


def _domain(entry: Any) -> tuple[float, float] | None:
    if entry is None:
        return None
    require(isinstance(entry, list) and len(entry) == 2, "domain: two numbers are needed, or null")
    low, high = (finite(end, "an end of the domain") for end in entry)
    return low, high


def _require_inside(subject: Subject) -> None:
    """Inputs lie in the domain: cut to it, a ball would be empty, and anything is true of nothing."""
    least, most = subject.boxes
    require(bool((least <= most).all()), "a box whose upper end is below its lower end")
    if subject.domain is not None:
        low, high = subject.domain
        inside = (least >= low) & (most <= high)
        require(bool(inside.all()), f"an input outside the domain [{low}, {high}]")
    if subject.weights is not None:
        require(bool((subject.weights >= 0).all()), "a weight below 0")


def _count(value: Any, what: str) -> int | None:
    require(value is None or (type(value) is int and 0 <= value < 2**64), f"{what} is {quoted(value)}")
    return value if value is None else int(value)


def _require_labels_win(subject: Subject, labels: Array, properties: Properties) -> None:
    """C_p has the rows e_c − e_r for all classes r ≠ c, and d_p is −margin."""
    classes = properties.C.shape[2]
    inside = (labels >= 0) & (labels < classes)
    require(bool(inside.all()), f"a label outside 0 … {classes - 1}")
    enough = properties.C.shape[1] >= classes - 1  # before anything as large as classes² is made
    require(enough, f"{properties.C.shape[1]} constraints do not say that labels win, one of {classes}")
    unit = np.eye(classes)
    for p, label in enumerate(labels):
        wanted = unit[label] - np.delete(unit, label, axis=0)
        rows = {row.tobytes() for row in properties.C[p] + 0.0}
        require(
            rows == {row.tobytes() for row in wanted + 0.0},
            f"the constraints of property {p} do not say that label {label} wins",
        )
    fits = bool((properties.d == -subject.margin).all())
    require(fits, f"a constraint does not ask for the margin of {subject.margin}")
