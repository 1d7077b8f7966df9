"""The words of a certificate are held against its properties."""

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

from fedcert.model.features import Feature
from fedcert.model.properties import linf_robustness
from fedcert.model.regions import on_boxes
from fedcert.model.robustness import Origin
from fedcert.wire.subject import describe_subject, subject_tensors
from fedcert_check.digest import digest
from fedcert_check.errors import InvalidCertificate
from fedcert_check.properties import Properties
from fedcert_check.subject import Subject
from fedcert_check.subject_file import read_subject

X = [[0.5, 0.25, 0.0], [0.1, 0.9, 1.0]]
LABELS = [2, 0]


def made(
    epsilon: object = 0.125, margin: float = 0.0, origin: Origin | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray], Properties]:
    """The entry, the tensors and the properties of two robust inputs of three classes."""
    asked = linf_robustness(X, LABELS, epsilon, margin, 3, origin=origin)
    assert asked.subject is not None
    arrays = {name: tensor.numpy() for name, tensor in subject_tensors(asked.subject).items()}
    regions = asked.regions
    checked = Properties(regions.lower.numpy(), regions.upper.numpy(), asked.C.numpy(), asked.d.numpy())
    return describe_subject(asked.subject), arrays, checked


def read(entry: Any, arrays: dict[str, np.ndarray], properties: Properties) -> Subject:
    found = read_subject(entry, arrays, properties)
    assert found is not None
    return found


def test_what_is_written_is_read_and_said_in_words() -> None:
    subject = read(*made(origin=Origin("mnist", "first", available=10_000)))
    named = digest({}, {"inputs": np.array(X), "labels": np.array(LABELS)})[:12]
    assert subject.describe() == (
        "the label wins on the whole ℓ∞ ball of radius 0.125 within [0, 1] around 2 inputs"
        f" (the first 2 of 10,000 of mnist, as they come, digest {named})"
    )
    assert subject.common_radius == 0.125
    assert subject.indices.tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        (Origin("mnist", "random", 10_000, 7), "2 of 10,000 of mnist, drawn at random with seed 7"),
        (Origin("mnist", "first", 2), "inputs (all 2 of mnist, digest"),
        (Origin("mnist", "correct"), "selected because the mean model classifies them correctly"),
        (Origin(), "of own-inputs, as given"),
    ],
)
def test_the_choice_of_inputs_is_said_in_words(origin: Origin, words: str) -> None:
    assert words in read(*made(origin=origin)).describe()


def test_each_input_may_have_its_own_radius() -> None:
    subject = read(*made([0.0, 0.25], margin=0.5))
    assert subject.common_radius is None
    assert "by a margin of 0.5" in subject.describe()
    assert "radii from 0 to 0.25" in subject.describe()


@pytest.mark.parametrize(
    ("tensor", "index", "value", "complaint"),
    [
        ("radius", 0, 0.1250001, "property 0 does not contain"),
        ("inputs", (1, 0), 0.1000001, "property 1 does not contain"),
        ("inputs", (1, 1), 0.8999999, "property 1 does not contain"),
        ("labels", 1, 1, "property 1 do not say that label 1 wins"),
        ("labels", 1, 3, "label outside"),
        ("labels", 1, -1, "label outside"),
        ("radius", 1, -0.1, "below 0"),
        ("radius", 1, np.nan, "not finite"),
        ("indices", 1, -2, "below −1"),
    ],
)
def test_words_that_say_more_than_the_properties_are_refused(
    tensor: str, index: Any, value: float, complaint: str
) -> None:
    entry, arrays, properties = made()
    arrays = {name: array.copy() for name, array in arrays.items()}
    arrays[f"subject.{tensor}"][index] = value
    with pytest.raises(InvalidCertificate, match=complaint):
        read_subject(entry, arrays, properties)


def test_words_that_say_less_than_the_properties_are_refused() -> None:
    """An upper bound speaks of a violation in the region: for a smaller ball it would say too much."""
    entry, arrays, properties = made(margin=0.25)
    smaller = {**arrays, "subject.radius": np.array([0.125, 0.1249999])}
    with pytest.raises(InvalidCertificate, match="property 1 is larger than the ball"):
        read_subject(entry, smaller, properties)
    for margin in (0.2499999, 0.2500001):
        with pytest.raises(InvalidCertificate, match="does not ask for the margin"):
            read_subject({**entry, "margin": margin}, arrays, properties)


@pytest.mark.parametrize("domain", [[0.05, 1.0], [0.0, 0.95], [1.0, 0.0]])
def test_a_domain_without_the_inputs_is_refused(domain: list[float]) -> None:
    """Cut to it, a ball would be empty: whatever is said of it would be true."""
    entry, arrays, properties = made()
    with pytest.raises(InvalidCertificate, match="an input outside the domain"):
        read_subject({**entry, "domain": domain}, arrays, properties)


@pytest.mark.parametrize("radius", [0.1, 0.009999999999999998, 1e-07])
def test_a_radius_is_said_to_the_last_digit(radius: float) -> None:
    assert f"radius {radius!r} within" in read(*made(radius)).describe()


def test_a_missing_constraint_is_seen() -> None:
    entry, arrays, properties = made()
    fewer = replace(properties, C=properties.C[:, :1], d=properties.d[:, :1])
    with pytest.raises(InvalidCertificate, match="do not say"):
        read_subject(entry, arrays, fewer)


@pytest.mark.parametrize(
    "change",
    [
        {"type": "fairness"},
        {"norm": "l2"},
        {"domain": [0.0]},
        {"domain": [0.0, "1"]},
        {"domain": [0.0, float("inf")]},
        {"domain": [-1.0, 1.0]},
        {"margin": True},
        {"inputs": {"source": "mnist"}},
        {"inputs": {"source": "\x1b", "chosen": "first", "available": 1, "seed": None}},
        {"inputs": {"source": "mnist", "chosen": "best", "available": 1, "seed": None}},
        {"inputs": {"source": "mnist", "chosen": "first", "available": -1, "seed": None}},
        {"more": 1},
    ],
)
def test_malformed_words_are_refused(change: dict[str, Any]) -> None:
    entry, arrays, properties = made()
    with pytest.raises(InvalidCertificate):
        read_subject(entry | change, arrays, properties)


def test_tensors_without_a_subject_are_refused() -> None:
    _, arrays, properties = made()
    with pytest.raises(InvalidCertificate, match="without a subject"):
        read_subject(None, arrays, properties)
    assert read_subject(None, {}, properties) is None


FEATURES = (Feature("a", "mm", 10.0, 2.0), Feature("b"), Feature("c"))


def weighted(epsilon: object = 2.0) -> tuple[dict[str, Any], dict[str, np.ndarray], Properties]:
    """The same inputs in balls that are 0.5 wide in a, 0.25 in b, and have no width in c."""
    asked = linf_robustness(
        X, LABELS, epsilon, 0.0, 3, (-inf, inf), weights=[[0.25, 0.125, 0.0]] * 2, features=FEATURES
    )
    arrays = {name: tensor.numpy() for name, tensor in subject_tensors(asked.subject).items()}
    regions = asked.regions
    checked = Properties(regions.lower.numpy(), regions.upper.numpy(), asked.C.numpy(), asked.d.numpy())
    return describe_subject(asked.subject), arrays, checked


def test_weights_are_read_and_said_in_units_of_measurement() -> None:
    subject = read(*weighted())
    assert subject.domain is None
    assert subject.describe().startswith(
        "the label wins on the whole box of measurement error × 2 (a ± 1 mm, b ± 0.25; all else fixed) around"
    )
    assert subject.describe_ball() == "box of measurement error × 2"
    assert "× 0.5 to 1, a factor for each input (× 1: a ± 0.5 mm, " in read(*weighted([0.5, 1.0])).describe()


@pytest.mark.parametrize(
    ("tensor", "index", "value", "complaint"),
    [
        ("weights", (0, 0), 0.2500001, "property 0 does not contain"),
        ("weights", (1, 2), 1e-300, "property 1 does not contain"),
        ("weights", (1, 1), 0.1249999, "property 1 is larger than"),
        ("weights", (1, 1), 0.0, "property 1 is larger than"),
        ("weights", (1, 1), -0.125, "a weight below 0"),
        ("weights", (1, 1), np.inf, "not finite"),
        ("radius", 0, 2.0000001, "property 0 does not contain"),
        ("inputs", (0, 2), 1e-9, "property 0 does not contain"),
    ],
)
def test_weights_that_are_not_those_of_the_regions_are_refused(
    tensor: str, index: Any, value: float, complaint: str
) -> None:
    entry, arrays, properties = weighted()
    arrays = {name: array.copy() for name, array in arrays.items()}
    arrays[f"subject.{tensor}"][index] = value
    with pytest.raises(InvalidCertificate, match=complaint):
        read_subject(entry, arrays, properties)


@pytest.mark.parametrize(
    "change",
    [{"norm": "linf"}, {"features": []}, {"features": "a"}, {"features": [{}] * 3}, {"domain": [0.0, 0.5]}],
)
def test_malformed_words_about_weights_are_refused(change: dict[str, Any]) -> None:
    entry, arrays, properties = weighted()
    with pytest.raises(InvalidCertificate):
        read_subject(entry | change, arrays, properties)


def test_weights_and_their_norm_come_together() -> None:
    entry, arrays, properties = weighted()
    with pytest.raises(InvalidCertificate, match="weights of the norm"):
        read_subject(entry, {n: a for n, a in arrays.items() if n != "subject.weights"}, properties)
    plain = {name: value for name, value in entry.items() if name != "features"} | {"norm": "linf"}
    with pytest.raises(InvalidCertificate, match="weights of the norm"):
        read_subject(plain, arrays, properties)


def test_features_need_not_be_named() -> None:
    entry, arrays, properties = weighted()
    assert "(x0 ± 0.5, x1 ± 0.25; all else" in read(entry | {"features": None}, arrays, properties).describe()


def on(
    labels: bool, boxes: bool, epsilon: float = 0.0
) -> tuple[dict[str, Any], dict[str, np.ndarray], Properties]:
    """The entry, the tensors and the properties of two boxes or inputs, with labels or constraints."""
    asks: dict[str, Any] = (
        {"label": LABELS, "classes": 3} if labels else {"C": [[1.0, 0.0, -2.0]], "d": [0.5]}
    )
    asked = on_boxes(X, (np.array(X) + 0.25) if boxes else None, epsilon=epsilon, **asks)
    assert asked.subject is not None
    arrays = {name: tensor.numpy() for name, tensor in subject_tensors(asked.subject).items()}
    regions = asked.regions
    checked = Properties(regions.lower.numpy(), regions.upper.numpy(), asked.C.numpy(), asked.d.numpy())
    return describe_subject(asked.subject), arrays, checked


@pytest.mark.parametrize(
    ("labels", "boxes", "epsilon", "words"),
    [
        (
            True,
            True,
            0.0,
            "the label wins on the whole stated box of each of 2 boxes (of own-inputs, as given",
        ),
        (True, True, 0.5, "on the whole stated box, widened by 0.5 on every side, of each of 2 boxes"),
        (
            False,
            True,
            0.0,
            "the constraints C f(x) + d ≥ 0 of each of 2 properties hold on the whole stated box (",
        ),
        (False, False, 0.5, "2 properties hold on the whole ℓ∞ ball of radius 0.5 around its input ("),
    ],
)
def test_boxes_and_constraints_are_named_for_what_they_are(
    labels: bool, boxes: bool, epsilon: float, words: str
) -> None:
    subject = read(*on(labels, boxes, epsilon))
    assert words in subject.describe()
    assert (subject.labelled, subject.boxed) == (labels, boxes)


def test_a_box_that_is_larger_than_its_region_is_refused() -> None:
    entry, arrays, properties = on(labels=False, boxes=True)
    arrays["subject.upper"] = arrays["subject.upper"] + 1e-9
    with pytest.raises(InvalidCertificate, match="does not contain"):
        read(entry, arrays, properties)
    arrays["subject.upper"] = arrays["subject.upper"] - 2e-9
    with pytest.raises(InvalidCertificate, match="larger than"):
        read(entry, arrays, properties)
    arrays["subject.upper"] = arrays["subject.inputs"] - 1
    with pytest.raises(InvalidCertificate, match="upper end is below"):
        read(entry, arrays, properties)


def test_constraints_are_not_labels_and_labels_no_constraints() -> None:
    entry, arrays, properties = on(labels=False, boxes=True)
    with pytest.raises(InvalidCertificate, match="labels of the norm box"):
        read(entry | {"type": "robustness"}, arrays, properties)
    with pytest.raises(InvalidCertificate, match="do not say that labels win"):
        read(entry | {"type": "robustness"}, arrays | {"subject.labels": np.array(LABELS)}, properties)
    with pytest.raises(InvalidCertificate, match="without labels"):
        read(entry | {"margin": 1.0}, arrays, properties)
    with pytest.raises(InvalidCertificate, match="upper of the norm linf"):
        read(entry | {"norm": "linf"}, arrays, properties)
    with pytest.raises(InvalidCertificate, match="a subject of type"):
        read(entry | {"type": "accuracy"}, arrays, properties)


def test_other_constraints_have_another_digest() -> None:
    entry, arrays, properties = on(labels=False, boxes=True)
    changed = replace(properties, d=properties.d - 1)
    assert read(entry, arrays, properties).digest != read(entry, arrays, changed).digest
