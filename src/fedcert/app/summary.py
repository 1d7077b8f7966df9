"""What the files of a finished run say: result.json, properties.json and properties.csv."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from fedcert import __version__
from fedcert.app.conclusions import conclusions
from fedcert.app.config import RunConfig
from fedcert.app.proofs import Drawn, Proven, ProvenRadii
from fedcert.app.records import ChosenInputs, ConfidenceRow, Participant, Property, RadiusRow, Row, Summary
from fedcert.app.report.images import input_image
from fedcert.app.run import RunResult
from fedcert.app.table_records import ClientAccuracy, FeatureEntry, Measurements, TableParts
from fedcert.certificate import Certificate
from fedcert.confidence import ConfidenceBound
from fedcert.wire.message import Message
from fedcert.wire.subject import as_checked, checked_features, describe_features
from fedcert_check.balls import mean_down, median_down
from fedcert_check.features import measured
from fedcert_check.subject import CONSTRAINTS

HEADER = (
    *("property", "input", "label", "epsilon", "threshold"),
    *("claim", "rule", "events", "lower", "upper", "norm", "chosen"),
)
"""The columns of properties.csv."""

Reproved = Mapping[str, bool]
"""Whether the checker proved a certificate again, by its path in the run's folder; not tried if missing."""


def identity_of(config: RunConfig) -> dict[str, Any]:
    """What determines the numbers of a run: the part of result.json that is known before the run."""
    return {"fedcert": __version__, "config": config.model_dump(mode="json")}


def taking_part(message: Message) -> Participant:
    """A client's entry in result.json, with the digest by which certificates refer to its message."""
    return {"client": message.client, "examples": message.examples, "digest": message.digest}


def summarise(result: RunResult, reproved: Reproved) -> Summary:
    """The content of result.json.

    Args:
        result: of the run.
        reproved: what the checker said of the certificates.
    """
    config, identity = result.config, identity_of(result.config)
    return {
        "fedcert": identity["fedcert"],
        "config": identity["config"],
        "clients": [taking_part(message) for message in result.messages],
        "refused": dict(result.refused),
        "accuracy": result.accuracy.get(config.rule),
        "accuracy_by_rule": dict(result.accuracy.items()),
        "inputs": _inputs(result),
        "norm": result.subject.norm,
        "summary": [_row(one, reproved) for one in result.proven],
        "margins": [{**_row(one, reproved), "margin": one.margin} for one in result.proven_at_margins],
        "radii": [_radius_row(one, reproved) for one in result.radii],
        "confidence": [_confidence_row(one, reproved) for one in result.drawn],
        "conclusions": [one.entry() for one in conclusions(result)],  # type: ignore[misc]
        "estimates": [
            {
                "name": estimate.name,
                "rule": estimate.rule,
                "epsilon": epsilon,
                "value": estimate.value,
                "samples": estimate.samples,
                "confidence_interval": list(estimate.confidence_interval()),
            }
            for epsilon, estimate in result.estimates
        ],
        "timings": result.timings,
        "histograms": None if result.histograms is None else result.histograms.tolist(),
        **_table_parts(result),
        **({"subject": CONSTRAINTS} if result.subject.labels is None else {}),  # type: ignore[typeddict-item]
    }


def _table_parts(result: RunResult) -> TableParts:
    """What result.json says of measurements, and of the clients that they come from."""
    if result.inputs.features is None:
        return {}
    features: list[FeatureEntry] = describe_features(result.inputs.features)  # type: ignore[assignment]
    by_client: list[ClientAccuracy] = [
        {"client": name, "examples": count, "accuracy": accuracy}
        for name, count, accuracy in result.accuracy_by_client
    ]
    return {"features": features, "accuracy_by_client": by_client}


def _measurements(result: RunResult) -> list[Measurements] | None:
    """What was measured of each input, in units of measurement; None for images."""
    examples, features = result.inputs.examples, result.inputs.features
    clients = None if result.examples is None else result.examples.clients
    if features is None or examples is None or clients is None:
        return None
    if examples.error is None or examples.client is None:
        return None
    checked = checked_features(features)
    values = measured(examples.x.numpy(), checked).tolist()
    errors = (examples.error.numpy() * np.array([own.scale for own in checked])).tolist()
    whose = [clients[i] for i in examples.client.tolist()]
    return [
        {"client": client, "values": own, "errors": error}
        for client, own, error in zip(whose, values, errors, strict=True)
    ]


def _inputs(result: RunResult) -> ChosenInputs:
    origin = result.inputs.origin
    return {
        "dataset": origin.source,
        "chosen": origin.chosen,
        "count": len(result.inputs),
        "available": origin.available,
        "seed": origin.seed,
        "digest": as_checked(result.subject).digest,
        "accuracy": result.accuracy_on_inputs,
    }


def _row(one: Proven, reproved: Reproved) -> Row:
    certificate = one.certificate
    return {
        "claim": certificate.claim.kind,
        "rule": certificate.claim.rule,
        "events": certificate.claim.events,
        "epsilon": one.epsilon,
        "lower": certificate.mean_lower,
        "upper": certificate.mean_upper,
        "properties": len(certificate.lower),
        "seconds": one.seconds,
        "certificate": PurePosixPath(one.file).name,
        "reproved": reproved.get(one.file, False),
    }


def _radius_row(one: ProvenRadii, reproved: Reproved) -> RadiusRow:
    claim, radii = one.found.certificate.claim, one.found.radius.tolist()
    return {
        "claim": claim.kind,
        "rule": claim.rule,
        "events": claim.events,
        "threshold": one.threshold,
        "mean": mean_down(radii),
        "median": median_down(radii),
        "properties": len(radii),
        "seconds": one.seconds,
        "certificate": PurePosixPath(one.file).name,
        "reproved": reproved.get(one.file, False),
    }


def _confidence_row(one: Drawn, reproved: Reproved) -> ConfidenceRow:
    found = one.bound
    everything = found.draws * len(found.lower)
    return {
        "rule": found.rule,
        "epsilon": one.epsilon,
        "lower": found.mean_lower,
        "upper": found.mean_upper,
        "draws": found.draws,
        "confidence": found.confidence,
        "proven": int(found.proven.sum()) / everything,
        "broken": int(found.broken.sum()) / everything,
        "properties": len(found.lower),
        "seconds": one.seconds,
        "certificate": PurePosixPath(one.file).name,
        "reproved": reproved.get(one.file, False),
    }


def describe_properties(result: RunResult) -> list[Property]:
    """The content of properties.json: what a report shows about each property."""
    first = result.config.epsilon[0]
    at_first = [one for epsilon, one in result.estimates if epsilon == first]
    survival = {one.rule: one for one in at_first if one.name == "attack-survival"}
    rows, images, subject = _measurements(result), _images(result), result.subject
    described: list[Property] = [
        {
            "label": None if subject.labels is None else int(subject.labels[i]),
            "index": int(subject.indices[i]),
            "image": images[i],
            "bounds": [
                {
                    "claim": one.certificate.claim.kind,
                    "rule": one.certificate.claim.rule,
                    "events": one.certificate.claim.events,
                    "epsilon": one.epsilon,
                    "lower": one.certificate.lower[i].item(),
                    "upper": None if one.certificate.upper is None else one.certificate.upper[i].item(),
                }
                for one in result.proven
            ],
            "survival": {rule: int(e.successes[i]) / e.samples for rule, e in survival.items()},
            "attacked": bool(result.attacked[first][i]),
            "radii": [one.found.radius[i].item() for one in result.radii],
        }
        for i in range(len(result.inputs))
    ]
    for entry, row in zip(described, rows or (), strict=False):
        entry["row"] = row
    return described


def _images(result: RunResult) -> list[str | None]:
    """Each input as a picture; None where it is no image."""
    shape, examples = None if result.examples is None else result.examples.image_shape, result.inputs.examples
    if shape is None or examples is None:
        return [None] * len(result.inputs)
    return [input_image(own.numpy(), shape) for own in examples.x]


def properties_table(result: RunResult) -> str:
    """The content of properties.csv: one row per property, claim and radius."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for one in result.proven:
        radii = [one.epsilon] * len(result.inputs)
        writer.writerows(_rows(result, radii, "", _claim(one.certificate), one.certificate))
    for found in result.radii:
        certificate = found.found.certificate
        radii = found.found.radius.tolist()
        writer.writerows(_rows(result, radii, repr(found.threshold), _claim(certificate), certificate))
    for drawn in result.drawn:
        radii = [drawn.epsilon] * len(result.inputs)
        writer.writerows(_rows(result, radii, "", ("confidence", drawn.bound.rule, ""), drawn.bound))
    return text.getvalue()


def _rows(
    result: RunResult,
    radii: Iterable[float],
    threshold: str,
    claim: tuple[str, str, str],
    bounds: Certificate | ConfidenceBound,
) -> Iterator[list[object]]:
    subject = result.subject
    labels = [""] * len(result.inputs) if subject.labels is None else subject.labels.tolist()
    uppers = None if bounds.upper is None else bounds.upper.tolist()
    for i, (radius, lower) in enumerate(zip(radii, bounds.lower.tolist(), strict=True)):
        upper = "" if uppers is None else repr(uppers[i])
        about = [i, int(subject.indices[i]), labels[i], repr(radius), threshold]
        yield [*about, *claim, repr(lower), upper, subject.norm, result.inputs.origin.chosen]


def _claim(certificate: Certificate) -> tuple[str, str, str]:
    claim = certificate.claim
    return claim.kind, claim.rule, claim.events
