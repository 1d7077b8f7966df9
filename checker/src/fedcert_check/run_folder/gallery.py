"""properties.json, from which pages are made: labels, measurements, bounds and radii of each property.

Its images and what attacks did are not checked.
"""

from collections.abc import Iterator

import numpy as np

from fedcert_check.features import measured
from fedcert_check.run_folder.entries import Entry
from fedcert_check.run_folder.evidence import Evidence, PerProperty
from fedcert_check.run_folder.findings import Finding
from fedcert_check.run_folder.stated import Row, Stated
from fedcert_check.subject import Subject

GALLERY = "properties.json"
FIELDS = ("label", "index", "image", "bounds", "survival", "attacked", "radii")
TABLE_FIELDS = ("row",)  # of an input that is a row of measurements
BOUND = ("claim", "rule", "events", "epsilon", "lower", "upper")


def compare_gallery(whole: Entry, stated: Stated, evidence: Evidence) -> Iterator[Finding]:
    """Properties whose labels, bounds or radii are others than the certificates'.

    Args:
        whole: the content of the file.
        stated: what result.json says.
        evidence: the certificates.
    """
    properties = whole.rows()
    if len(properties) != stated.inputs.count:
        yield Finding(GALLERY, "", f"{len(properties)} properties, but {stated.inputs.count} in result.json")
    for p, entry in enumerate(properties):
        entry.fields(*FIELDS, or_these=TABLE_FIELDS)
        bounds, radii = entry.below("bounds").rows(), entry.below("radii").rows()
        for place, own, rows in (("bounds", bounds, stated.bounds), ("radii", radii, stated.radii)):
            if len(own) != len(rows):
                says = f"{len(own)} of them, but {len(rows)} claims in result.json"
                yield Finding(GALLERY, f"{p}.{place}", says)
        for said, row in zip(bounds, stated.bounds, strict=False):
            yield from _compare_bound(said.fields(*BOUND), row, evidence.of(row), p)
        for said, row in zip(radii, stated.radii, strict=False):
            proven = evidence.of(row)
            if proven is not None and p < len(proven.subject):
                yield from _equal(said, float(proven.subject.radius[p]), row.certificate)
        yield from _compare_input(entry, stated, evidence, p)


def _compare_bound(said: Entry, row: Row, proven: PerProperty | None, p: int) -> Iterator[Finding]:
    for field in ("claim", "rule", "events", "epsilon"):
        yield from _equal(said.below(field), getattr(row, field), row.place)
    if proven is not None and p < len(proven.lower):
        upper = None if proven.upper is None else float(proven.upper[p])
        yield from _equal(said.below("lower"), float(proven.lower[p]), row.certificate)
        yield from _equal(said.below("upper"), upper, row.certificate)


def _compare_input(entry: Entry, stated: Stated, evidence: Evidence, p: int) -> Iterator[Finding]:
    for row in stated.rows:
        proven = evidence.of(row)
        if proven is not None and p < len(proven.subject):
            labels = proven.subject.labels
            label = None if labels is None else int(labels[p])
            yield from _equal(entry.below("label"), label, row.certificate)
            yield from _equal(entry.below("index"), int(proven.subject.indices[p]), row.certificate)
            yield from _compare_row(entry, proven.subject, p, row.certificate)
            return


def _compare_row(entry: Entry, subject: Subject, p: int, where: str) -> Iterator[Finding]:
    """The measurements of an input and their errors; whose it is, no certificate says."""
    weights, features = subject.weights, subject.features
    if ("row" in entry.value) != (features is not None):
        yield Finding(GALLERY, entry.place, f"measurements where there are none in {where}, or the reverse")
    elif weights is not None and features is not None:
        own = entry.below("row").fields("client", "values", "errors")
        own.below("client").name()
        scale = np.array([feature.scale for feature in features])
        yield from _equal(own.below("values"), measured(subject.inputs[p], features).tolist(), where)
        yield from _equal(own.below("errors"), (weights[p] * scale).tolist(), where)


def _equal(said: Entry, proven: object, where: str) -> Iterator[Finding]:
    if type(said.value) is bool or said.value != proven:
        yield Finding(GALLERY, said.place, f"{said.shown}, but {proven!r} in {where}")
