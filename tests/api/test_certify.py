"""The one way in: whatever states a posterior, the same bounds come out, and what is wrong is named."""

from pathlib import Path

import jaxtyping
import numpy as np
import pytest
import torch
from torch import nn

import fedcert
from fedcert import DiagonalGaussian, GaussianMixture, LinearRule, Message, TrimmedMean, linf_robustness, mlp
from fedcert.errors import FedcertError, InvalidConfig, InvalidLaw, InvalidMessage, ShapeMismatch
from fedcert.families.cells import Cells
from fedcert.families.registry import family_named

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


def test_laws_messages_paths_and_folders_give_the_bounds_of_arrays(
    result: fedcert.Certification, tmp_path: Path
) -> None:
    for message in messages():
        message.save(tmp_path / f"{message.client}.safetensors")
    files = [tmp_path / f"client-{i}.safetensors" for i in range(3)]
    for posteriors in (laws(), messages(), files, [str(file) for file in files], str(tmp_path), tmp_path):
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


@pytest.fixture
def unchecked():
    """As in a user's program, annotations are not checked."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"posteriors": []}, InvalidLaw, "at least one client"),
        ({"posteriors": [*CLIENTS[:2], 3.0]}, InvalidLaw, "posterior 2 is a float"),
        ({"posteriors": [(MEAN, -SCALE), *CLIENTS[:2]]}, InvalidLaw, "scale"),
        ({"posteriors": ["/nowhere/client.safetensors"]}, InvalidMessage, "nowhere"),
        ({"posteriors": "/nowhere"}, InvalidMessage, "no message"),
        ({"rule": "fedsgd"}, InvalidConfig, "fedavg"),
        ({"rule": LinearRule.fedavg([1, 1])}, ShapeMismatch, "laws of 3 clients"),
        ({"network": mlp(2, 2)}, ShapeMismatch, "22 parameters, the network 6"),
        ({"network": nn.Conv1d(1, 1, 1)}, FedcertError, "Conv1d"),
        ({"events": "balls"}, InvalidConfig, "known are paper-box, box, projected"),
        ({"claims": ["global"]}, InvalidConfig, "'global' is no kind"),
        ({"rule": "median", "claims": ["direct"]}, InvalidConfig, "no direct claim under the rule median"),
    ],
)
def test_what_is_wrong_is_named(change: dict, error: type[FedcertError], words: str) -> None:
    arguments = {"posteriors": CLIENTS, "rule": "fedavg", "network": mlp(2, 4, 2), "properties": PROPERTIES}
    with pytest.raises(error, match=words):
        fedcert.certify(**arguments | change)


def test_labels_must_be_whole() -> None:
    with pytest.raises(ShapeMismatch, match="integers"):
        fedcert.certify_classification(CLIENTS, MODEL, X, [0.5, 1], epsilon=0.01)
