"""What properties mean, as a part of a certificate file in the format of `fedcert_check.subject`."""

from collections.abc import Mapping, Sequence
from math import inf, isinf
from typing import Any

from torch import Tensor

from fedcert.model.features import Feature
from fedcert.model.robustness import Origin, Robustness
from fedcert_check.features import Feature as CheckedFeature
from fedcert_check.subject import CONSTRAINTS, LABELS, PREFIX, TENSORS, Subject


def describe_subject(subject: Robustness) -> dict[str, Any]:
    """What the JSON of a claim says of its subject.

    Args:
        subject: what the properties mean.
    """
    origin = subject.origin
    more = {} if subject.weights is None else {"features": describe_features(subject.features)}
    return {
        "type": CONSTRAINTS if subject.labels is None else LABELS,
        "norm": subject.norm,
        "domain": None if isinf(subject.domain[0]) else list(subject.domain),
        "margin": subject.margin,
        "inputs": {
            "source": origin.source,
            "chosen": origin.chosen,
            "available": origin.available,
            "seed": origin.seed,
        },
        **more,
    }


def describe_features(features: Sequence[Feature] | None) -> list[dict[str, Any]] | None:
    """Features as JSON objects.

    Args:
        features: one for each input coordinate; None where they are unknown.
    """
    return None if features is None else [own.entry() for own in checked_features(features)]


def checked_features(features: Sequence[Feature]) -> tuple[CheckedFeature, ...]:
    """Features as the checker would read them from a file.

    Args:
        features: one for each input coordinate.
    """
    return tuple(CheckedFeature(own.name, own.unit, own.shift, own.scale) for own in features)


def subject_tensors(subject: Robustness | None) -> dict[str, Tensor]:
    """The tensors of a subject, by their names in a file; none without a subject.

    Args:
        subject: what the properties mean.
    """
    if subject is None:
        return {}
    return {PREFIX + name: own for name in TENSORS if (own := getattr(subject, name)) is not None}


def as_checked(subject: Robustness) -> Subject:
    """The subject as the checker would read it from a file.

    Args:
        subject: what the properties mean.
    """
    origin = subject.origin
    own = {name: tensor.cpu().numpy() for name, tensor in subject_tensors(subject).items()}
    asked = subject.constraints
    return Subject(
        own[PREFIX + "inputs"],
        own.get(PREFIX + "labels"),
        own[PREFIX + "indices"],
        own[PREFIX + "radius"],
        subject.norm,
        subject.margin,
        None if isinf(subject.domain[0]) else subject.domain,
        origin.source,
        origin.chosen,
        origin.available,
        origin.seed,
        own.get(PREFIX + "weights"),
        None if subject.features is None else checked_features(subject.features),
        own.get(PREFIX + "upper"),
        None if asked is None else (asked[0].cpu().numpy(), asked[1].cpu().numpy()),
    )


def read_subject(entry: Mapping[str, Any] | None, tensors: Mapping[str, Tensor]) -> Robustness | None:
    """The subject that a claim and its tensors describe; nothing is verified here.

    Args:
        entry: what the JSON of the claim says of it.
        tensors: of the file, which hold the properties too.
    """
    if entry is None:
        return None
    indices = tensors[PREFIX + "indices"]
    origin = Origin(**entry["inputs"], indices=None if (indices == -1).all() else indices)
    low, high = entry["domain"] or (-inf, inf)
    named, labels = entry.get("features"), tensors.get(PREFIX + "labels")
    return Robustness(
        tensors[PREFIX + "inputs"],
        labels,
        tensors[PREFIX + "radius"],
        float(entry["margin"]),
        (float(low), float(high)),
        origin,
        tensors.get(PREFIX + "weights"),
        None if named is None else tuple(Feature(**own) for own in named),
        tensors.get(PREFIX + "upper"),
        (tensors["properties.C"], tensors["properties.d"]) if labels is None else None,
    )
