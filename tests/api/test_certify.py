"""The one way in: the same bounds come out, whatever states the problem, and what is wrong is named."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import fedcert
from fedcert import DiagonalGaussian, GaussianMixture, LinearRule, Message, TrimmedMean, linf_robustness, mlp
from fedcert.errors import (
    FedcertError,
    InvalidArgument,
    InvalidConfig,
    InvalidLaw,
    InvalidProperty,
    ShapeMismatch,
    UnsupportedLayer,
)
from fedcert.families.cells import Cells
from fedcert.families.registry import family_named
from fedcert_check import check

pytestmark = pytest.mark.slow

MEAN = np.array([2, 0, 0, 2, 1, 1, 1, -1, 0, 0, 0, 0, 1, -1, 0, 1, -1, 1, 0, -1, 0, 0], dtype=np.float64)
SCALE = np.full(22, 0.15)
CLIENTS = [(MEAN + 0.02 * i, SCALE) for i in range(3)]
X, Y = np.array([[0.65, 0.35], [0.4, 0.6]]), np.array([0, 1])
MODEL = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2))
PROPERTIES = linf_robustness(torch.from_numpy(X), torch.from_numpy(Y), 0.01, classes=2)


@pytest.fixture(scope="module")
def result() -> fedcert.Certification:
    return fedcert.certify(CLIENTS, "fedavg", mlp(2, 4, 2), PROPERTIES, claims=["direct"])


def laws() -> list[DiagonalGaussian]:
    return [DiagonalGaussian(torch.from_numpy(loc), torch.from_numpy(scale)) for loc, scale in CLIENTS]


def messages() -> list[Message]:
    return [Message(f"client-{i}", law, Cells.none(22), 10) for i, law in enumerate(laws())]


@pytest.mark.parametrize("stated", [0, 1, 3])
def test_weights_by_size_need_the_sizes_of_all_clients(stated: int) -> None:
    """A law does not say how many examples a client had."""
    sized = [Message(f"client-{i}", law, Cells.none(22), 1 + i) for i, law in enumerate(laws())]
    clients = [*sized[:stated], *laws()[stated:]]
    if stated < 3:
        with pytest.raises(InvalidConfig, match="weights: size needs the numbers of examples"):
            fedcert.certify(clients, "fedavg", MODEL, PROPERTIES, weights="size")
    else:
        found = fedcert.certify(clients, "fedavg", MODEL, PROPERTIES, claims=["direct"], weights="size")
        weights = found.problem.rule.weights.flatten().tolist()
        assert weights == pytest.approx([1 / 6, 1 / 3, 1 / 2], rel=1e-15)


@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize("posteriors", [laws()[0], messages()[0], None, 3])
def test_what_is_no_list_of_posteriors_is_refused_with_what_is(posteriors: object) -> None:
    with pytest.raises(InvalidLaw, match="give a list with one posterior a client"):
        fedcert.certify(posteriors, "fedavg", MODEL, PROPERTIES)  # type: ignore[arg-type]


def test_posteriors_may_come_one_by_one(result: fedcert.Certification) -> None:
    again = fedcert.certify((law for law in laws()), "fedavg", MODEL, PROPERTIES, claims=["direct"])
    assert again.lower.tolist() == result.lower.tolist()


def test_a_folder_of_messages_gives_the_bounds_of_arrays(
    result: fedcert.Certification, tmp_path: Path
) -> None:
    for message in messages():
        message.save(tmp_path / f"{message.client}.safetensors")
    for posteriors in (messages(), tmp_path):
        again = fedcert.certify(posteriors, "fedavg", MODEL, PROPERTIES, claims=["direct"])
        assert again.lower.tolist() == result.lower.tolist()
        assert again.upper.tolist() == result.upper.tolist()


def test_classification_takes_arrays_lists_and_single_precision(result: fedcert.Certification) -> None:
    single = [(torch.from_numpy(loc).float(), torch.from_numpy(scale).float()) for loc, scale in CLIENTS]
    for x, y in ((X, Y), (X.tolist(), Y.tolist()), (torch.from_numpy(X), torch.from_numpy(Y))):
        again = fedcert.certify_classification(CLIENTS, MODEL, x, y, epsilon=0.01, claims=["direct"])
        assert again.lower.tolist() == result.lower.tolist()
    rounded = fedcert.certify_classification(single, MODEL, X, Y, epsilon=0.01, claims=["direct"])
    assert rounded.lower == pytest.approx(result.lower, abs=1e-6)


def test_images_are_inputs() -> None:
    images = X.reshape(2, 1, 1, 2)
    flat = fedcert.certify_classification(CLIENTS, MODEL, X, Y, epsilon=0.01, claims=["direct"])
    assert fedcert.certify_classification(
        CLIENTS, MODEL, images, Y, epsilon=0.01, claims=["direct"]
    ).lower.tolist() == (flat.lower.tolist())


def test_bounds_are_the_best_of_the_claims_about_the_deployed_model(result: fedcert.Certification) -> None:
    every = fedcert.certify(
        CLIENTS,
        "fedavg",
        MODEL,
        PROPERTIES,
        events="box, projected",
        claims=("local", "transported", "direct"),
    )
    assert [own.claim.kind for own in every.certificates] == 2 * ["local", "transported", "direct"]
    deployed = [own.lower for own in every.certificates if own.claim.kind != "local"]
    assert every.lower.tolist() == torch.stack(deployed).amax(0).tolist() == result.lower.tolist()
    assert 0 < result.mean_lower <= result.mean_upper < 1


def test_rules_are_objects_or_names(result: fedcert.Certification) -> None:
    rule = LinearRule.fedavg([1, 1, 1])
    assert (
        fedcert.certify(CLIENTS, rule, MODEL, PROPERTIES, claims=["direct"]).lower.tolist()
        == result.lower.tolist()
    )
    median = fedcert.certify(CLIENTS, TrimmedMean.median(3), MODEL, PROPERTIES, events=family_named("box"))
    assert [own.claim.kind for own in median.certificates] == ["transported"]
    assert median.upper.tolist() == [1.0, 1.0]


def test_mixtures_are_certified() -> None:
    law = laws()[0]
    mixture = GaussianMixture((law, law), torch.ones(2, dtype=torch.float64))
    rule = LinearRule.fedavg([1, 1])
    one, two = (
        fedcert.certify(own, rule, MODEL, PROPERTIES, claims=["direct"]).lower
        for own in ([law, law], [mixture, law])
    )
    assert two == pytest.approx(one, abs=1e-9)


@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"posteriors": []}, InvalidLaw, "at least one client"),
        ({"rule": "fedsgd"}, InvalidConfig, "fedavg"),
        ({"rule": LinearRule.fedavg([1, 1])}, ShapeMismatch, "laws of 3 clients"),
        ({"network": mlp(2, 2)}, ShapeMismatch, "22 parameters, the network 6"),
        ({"network": nn.Conv1d(1, 1, 1)}, UnsupportedLayer, "Conv1d"),
        ({"events": "balls"}, InvalidConfig, "must be one of paper-box, box, projected"),
        ({"events": []}, InvalidConfig, "at least one family"),
        ({"claims": ["global"]}, InvalidConfig, "'global' is no kind"),
        ({"claims": "direct"}, InvalidConfig, "'direct'; give a list"),
        ({"claims": []}, InvalidConfig, "give a list"),
        ({"posteriors": dict(enumerate(CLIENTS))}, InvalidLaw, "no order of clients"),
        ({"properties": None}, InvalidConfig, "say what is safe"),
        ({"properties": linf_robustness([[0.5] * 3], [0], 0.1, classes=2)}, ShapeMismatch, "of 3 inputs"),
        ({"properties": linf_robustness([[0.5] * 2], [0], 0.1)}, ShapeMismatch, "and 10 outputs"),
        ({"rule": "median", "claims": ["direct"]}, InvalidConfig, "no direct claim under the rule median\n"),
        ({"rule": "median"}, InvalidConfig, 'under the rule median: choose events="box"\n'),
    ],
)
def test_what_is_wrong_is_named(change: dict, error: type[FedcertError], words: str) -> None:
    arguments = {"posteriors": CLIENTS, "rule": "fedavg", "network": mlp(2, 4, 2), "properties": PROPERTIES}
    with pytest.raises(error, match=words):
        fedcert.certify(**arguments | change)


@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"x": X[0], "y": 0}, ShapeMismatch, r"^x has shape \(2,\): one input a row, so x\[None\]"),
        ({"y": [0, 11]}, InvalidProperty, "^labels must lie in 0 … 1, the network has 2 outputs; found 11\n"),
        ({"y": [-1, 0]}, InvalidProperty, "found -1\n"),
        ({"model": mlp(2, 1), "y": [0, 0]}, InvalidProperty, "^one output: no classifier; use .*on_boxes\n"),
        ({"epsilon": [0.1] * 3}, ShapeMismatch, "for 2 inputs: give one number, or one for each input; for"),
        ({"epsilon": "0.01"}, ShapeMismatch, "^epsilon must be a number, not '0.01'\n"),
        ({"epsilon": None}, ShapeMismatch, "^epsilon must be a number, not None\n"),
        ({"x": [[0.1], [0.2, 0.3]]}, ShapeMismatch, "^inputs x must be numbers in rows of one length, not"),
        ({"x": 16 * X}, InvalidProperty, r"found 5.6 to 10.4: .*, or pass domain=\(0.0, 10.4\)\n"),
        ({"x": np.nan * X}, InvalidProperty, "found NaN or infinity\n"),
        ({"domain": 16}, InvalidProperty, r"^domain: 16: give the smallest and the largest value, such as"),
    ],
)
def test_what_is_wrong_with_a_classification_is_named(
    change: dict, error: type[FedcertError], words: str
) -> None:
    arguments = {"posteriors": CLIENTS, "model": MODEL, "x": X, "y": Y, "epsilon": 0.01}
    with pytest.raises(error, match=words):
        fedcert.certify_classification(**arguments | change)


def test_each_input_may_have_its_own_radius(result: fedcert.Certification) -> None:
    found = fedcert.certify_classification(CLIENTS, MODEL, X, Y, epsilon=[0.01, 0.02], claims=["direct"])
    assert found.lower[0] == result.lower[0]
    assert found.lower[1] < result.lower[1]


@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize("change", [{"events": "balls"}, {"claims": []}, {"rule": "fedsgd"}])
def test_an_argument_is_explained_by_the_page_about_python(change: dict) -> None:
    with pytest.raises(InvalidArgument) as raised:
        fedcert.certify(**{"posteriors": CLIENTS, "rule": "fedavg", "network": MODEL} | change)
    assert raised.value.explained_in == "docs/reference/api.md"


def test_a_result_does_not_change_with_the_callers_tensors(tmp_path: Path) -> None:
    clients = [tuple(torch.tensor(part).double() for part in own) for own in CLIENTS]
    found = fedcert.certify(clients, "fedavg", MODEL, PROPERTIES, claims=["direct"])
    clients[0][0].add_(1.0)
    (file,) = (found.save(tmp_path / "run") / "certificates").iterdir()
    assert check(file).verdict


def test_labels_must_be_whole() -> None:
    with pytest.raises(ShapeMismatch, match="integers"):
        fedcert.certify_classification(CLIENTS, MODEL, X, [0.5, 1], epsilon=0.01)
