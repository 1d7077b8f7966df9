"""What a run's settings say of the weights of its rules is what the certificates are about."""

from typing import Any

import numpy as np
import pytest
import torch

from fedcert.laws import DiagonalGaussian
from fedcert.rules import RuleContext, build_rule
from fedcert_check.layers import Linear, Network
from fedcert_check.rules import read_rule
from fedcert_check.run_folder.evidence import Evidence, Source
from fedcert_check.run_folder.stated import Stated, StatedClient, StatedInputs
from fedcert_check.run_folder.weighing import compare_weighing

SIZES = (10, 30)
NETWORK = Network((Linear(1, 1),))
USUAL: dict[str, Any] = {"weights": "size", "trim": 0, "server_rate": 0.5, "prior_scale": 4.0}
NUMBERS = [0.25, 0.75]


def findings(name: str, config: dict[str, Any], **made_with: Any) -> list[str]:
    """What is wrong with settings, where the one certificate is about a rule that was made with others."""
    laws = [DiagonalGaussian(*torch.tensor([[0.1 * i, 1.0], [1.0, 2.0]]).double()) for i in range(2)]
    settings = {**USUAL, **made_with}
    context = RuleContext(
        laws, SIZES, settings["weights"], settings["trim"], torch.ones(2).double(), settings["server_rate"],
        settings["prior_scale"],
    )  # fmt: skip
    header, coefficients = build_rule(name, context).describe()
    arrays = {f"rule.{key}": tensor.numpy() for key, tensor in coefficients.items()}
    source = Source(read_rule(header, arrays, 2), NETWORK, None, None, np.zeros(1), None)
    clients = tuple(StatedClient(f"client-{i}", size, "0" * 64) for i, size in enumerate(SIZES))
    inputs = StatedInputs("digits", "first", 1, None, None, "0" * 64, None)
    stated = Stated({"rule": name} | config, clients, inputs, "linf", (), (), (), (), ())
    found = compare_weighing(stated, Evidence({}, confidence={"one.safetensors": source}))
    return [own.place for own in found]


WEIGHTED = (
    "fedavg",
    "pooling",
    "wasserstein",
    "averaged-variances",
    "forward-kl",
    "reverse-kl",
    "server-step",
)
TAKES_NUMBERS = tuple(name for name in WEIGHTED if name != "server-step")


@pytest.mark.parametrize("name", [*WEIGHTED, "pog", "median", "trimmed-mean", "prior-corrected"])
@pytest.mark.parametrize("weights", ["uniform", "size"])
def test_the_settings_that_a_rule_was_made_with_agree(name: str, weights: str) -> None:
    assert findings(name, {**USUAL, "weights": weights}, weights=weights) == []
    assert findings(name, {}, weights=weights) == []


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize(
    "said", ["uniform", [0.75, 0.25], "sizes", [1.0], [True, 3.0], [10**400, 3.0], {"size": 1}]
)
def test_other_weights_are_named(name: str, said: object) -> None:
    assert findings(name, {**USUAL, "weights": said}) == ["config.weights"]


@pytest.mark.parametrize("name", [*TAKES_NUMBERS, "linear"])
def test_numbers_are_weights_of_the_deployed_rule_alone(name: str) -> None:
    numbers = [0.4, -1.5] if name == "linear" else NUMBERS
    assert findings(name, {**USUAL, "weights": numbers}, weights=numbers) == []
    wrong = findings(name, {**USUAL, "weights": [own * 1.01 + 0.1 for own in numbers]}, weights=numbers)
    assert wrong == ["config.weights"]
    if name != "linear":
        beside = {**USUAL, "weights": numbers, "rule": "median"}
        assert findings(name, beside, weights="uniform") == []
        assert findings(name, beside, weights="size") == ["config.weights"]


@pytest.mark.parametrize(
    ("name", "field", "said"),
    [
        ("trimmed-mean", "trim", 1),
        ("server-step", "server_rate", 1.0),
        ("prior-corrected", "prior_scale", 2.0),
    ],
)
def test_other_settings_of_a_rule_are_named(name: str, field: str, said: float) -> None:
    assert findings(name, {**USUAL, field: said}) == [f"config.{field}"]
    assert findings("fedavg", {**USUAL, field: said}) == []
