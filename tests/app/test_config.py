import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from damage import damaged

from fedcert.app.config import RunConfig, load_config
from fedcert.app.presets import PRESETS
from fedcert.errors import InvalidConfig


def write(folder: Path, text: str, name: str = "run.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refused(path: Path | None, options: dict[str, Any], preset: str | None = None) -> str:
    """The message of the refusal, which is one line."""
    with pytest.raises(InvalidConfig) as caught:
        load_config(path, options, preset)
    message = str(caught.value)
    assert message
    assert len(message.splitlines()) == 1
    return message


def test_without_file_and_options_the_defaults_hold() -> None:
    assert load_config(None, {}) == RunConfig()


def test_by_default_the_learned_posterior_is_certified_by_projections_at_several_radii() -> None:
    config = RunConfig()
    assert (config.scale, config.events) == ("learned", ("projected",))
    assert (config.rule, config.compare, config.claims) == ("fedavg", (), ("transported", "direct"))
    assert config.epsilon == (0.001, 0.01, 0.03)
    assert (config.estimates, config.attack_samples) == (("attack-survival",), 300)
    assert (config.radius, config.softmax_margins, config.confidence_draws) == ((), (), 0)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ("first", "all")),
        ({"dataset": "mnist"}, ("first", 200)),
        ({"dataset": "fashion-mnist", "properties": "all"}, ("first", "all")),
        ({"properties": 7}, ("first", 7)),
        ({"inputs": "random"}, ("random", "all")),
        ({"dataset": "mnist", "inputs": "random"}, ("random", 200)),
        ({"inputs": "correct"}, ("correct", 200)),
        ({"inputs": "correct", "properties": 3}, ("correct", 3)),
    ],
)
def test_by_default_inputs_are_taken_as_they_come_and_all_of_a_small_test_set(
    settings: dict[str, Any], expected: tuple[str, Any]
) -> None:
    config = load_config(None, settings)
    assert (config.inputs, config.properties) == expected


def test_how_many_inputs_are_classified_correctly_is_not_known_in_advance() -> None:
    said = refused(None, {"inputs": "correct", "properties": "all"})
    assert said.startswith("properties: with inputs = correct, give their number")


def test_the_papers_preset_is_its_protocol() -> None:
    """What every run did before inputs were taken as they come."""
    assert list(PRESETS) == ["paper"]
    for dataset in ("digits", "mnist"):
        assert load_config(None, {"dataset": dataset}, "paper") == RunConfig(
            dataset=dataset,
            train_examples=12_000,
            test_examples=2_000,
            scale=1e-5,
            rule="fedavg",
            compare=("fedavg", "pog"),
            events=("paper-box",),
            claims=("local", "transported", "direct"),
            inputs="correct",
            properties=50,
            epsilon=1e-3,
            margin=0.0,
            radius=(),
            softmax_margins=(),
            confidence_draws=0,
            estimates=("mc-ibp", "attack-survival", "aggregated-sampling"),
            mc_samples=300,
            attack_samples=300,
            aggregate_samples=3_000,
            screen=True,
        )


def test_a_file_overrides_a_preset_and_options_override_both(tmp_path: Path) -> None:
    path = write(tmp_path, "scale = 1e-3\nclients = 5\n")
    config = load_config(path, {"clients": 4}, "paper")
    assert config == RunConfig(**PRESETS["paper"] | {"scale": 1e-3, "clients": 4})
    assert load_config(path, {"events": "box"}, "paper").events == ("box",)


@pytest.mark.parametrize("preset", ["papers", "", "Paper"])
def test_an_unknown_preset_is_refused_with_those_that_exist(preset: str) -> None:
    message = refused(None, {}, preset)
    assert "preset" in message
    assert "paper" in message


def test_a_toml_file_sets_values_and_options_override_it(tmp_path: Path) -> None:
    path = write(tmp_path, "clients = 5\nscale = 0.25\nhidden = [8, 4]\n[training]\nepochs = 2\n")
    config = load_config(path, {"clients": 4, "gamma": "3.5,7"})
    assert config == RunConfig(clients=4, scale=0.25, hidden=(8, 4), gamma=(3.5, 7.0), training={"epochs": 2})


def test_a_result_is_the_configuration_of_its_run(tmp_path: Path) -> None:
    config = RunConfig(
        seed=7,
        gamma=(1 / 3, 2),
        scale=0.1,
        data_dir=Path("somewhere"),
        rule="pog",
        inputs="random",
        epsilon=(0.1, 1e-9),
        radius=(0.5, 0.95),
        softmax_margins=(1, 2),
    )
    result = {"summary": [], "config": config.model_dump(mode="json")}
    path = write(tmp_path, json.dumps(result), "result.json")
    assert load_config(path, {}) == config
    assert load_config(path, {"seed": 8}) == config.model_copy(update={"seed": 8})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("train-examples = 10", {"train_examples": 10}),
        ("train_examples = 10", {"train_examples": 10}),
        pytest.param("[training]\nbatch-size = 10", {"training": {"batch_size": 10}}),
        ("[training]\nbatch_size = 10", {"training": {"batch_size": 10}}),
    ],
)
def test_keys_may_have_hyphens(tmp_path: Path, text: str, expected: dict[str, Any]) -> None:
    assert load_config(write(tmp_path, text), {}) == RunConfig(**expected)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("hidden", "64,64", (64, 64)),
        ("hidden", "8", (8,)),
        ("gamma", "3,4.5", (3.0, 4.5)),
        ("scale", "1e-3", 1e-3),
        ("scale", "learned", "learned"),
        ("events", "paper-box", ("paper-box",)),
        ("events", "projected,box", ("projected", "box")),
        ("events", "all", ("paper-box", "box", "projected")),
        ("epsilon", "0.01,1e-3", (0.01, 0.001)),
        ("epsilon", "0", (0.0,)),
        ("epsilon", 0.25, (0.25,)),
        ("epsilon", 1, (1.0,)),
        ("radius", "0.5,0.95", (0.5, 0.95)),
        ("radius", 0.5, (0.5,)),
        ("radius", "", ()),
        ("softmax_margins", "1,2.5,-1", (1.0, 2.5, -1.0)),
        ("compare", "pog,median", ("pog", "median")),
        ("estimates", "", ()),
        ("estimates", "mc-ibp", ("mc-ibp",)),
        ("properties", "17", 17),
        ("properties", "all", "all"),
    ],
)
def test_lists_and_scales_may_be_given_as_text(key: str, text: str, value: object) -> None:
    assert getattr(load_config(None, {key: text}), key) == value


BAD_VALUES: dict[str, list[Any]] = {
    "dataset": ["cifar", "", 3],
    "given": [5, {"file": "x.npz"}, {"layers": []}],
    "table": [5, {"data": "x.csv", "target": "y"}, {"data": "x.csv", "target": "y", "site": "z"}],
    "train_examples": [0, -1, 1.5],
    "test_examples": [0],
    "clients": [0, -1, 2.5, "three", 2**53 + 1],
    "concentration": [0, -1.0, float("nan"), float("inf")],
    "network": ["rnn:8", "", "mlp:0", "cnn:8,x", 3],
    "hidden": ["0", "-3", "8,x", [8, 0], [1.5]],
    "structure": ["full", "", None, 3],
    "prior_precision": [0, -1, float("nan"), float("inf"), "wide"],
    "scale": [1e-46, 1e31, 0, -1e-5, "-1", float("nan"), "nan", float("inf"), "large", None, [1.0], 10**400],
    "rule": ["mode", "FedAvg", ""],
    "weights": ["random", [1e31, 1.0], [1.0, -1e31], [1e-31, 1.0], [float("nan")]],
    "trim": [-1, 0.5],
    "server_rate": [-1.0, float("nan"), float("inf"), 1e31, 1e-31],
    "prior_scale": [0, -1, float("nan"), float("inf"), "wide"],
    "events": ["boxes", "", [], "paper-box,boxes"],
    "claims": ["global", "", [], "local,global"],
    "compare": ["mode", "fedavg,mode", 3],
    "inputs": ["last", "", "given", 3],
    "properties": [0, -5, "some", 1.5],
    "epsilon": [
        *[-1e-3, float("nan"), float("inf"), "", [], "0.1,x", "0.1,-0.1"],
        *["0.1,0.1", [0.5, 1e-3, 0.5]],
    ],
    "radius": [0, 1, -0.5, 1.5, "0.5,0.5", float("nan"), "half"],
    "softmax_margins": [float("inf"), float("nan"), "wide", [1.0, 1.0]],
    "confidence_draws": [-1, 0.5, "many"],
    "confidence": [0, 1, -0.5, 95, float("nan")],
    "estimates": ["mc-ibb", "attack-survival,sampling", 3],
    "margin": [float("inf"), float("-inf"), float("nan"), "wide"],
    "gamma": [
        *["0", "-1", "3,0", "nan", "inf", "3,x", [0.0]],
        *["", ",", []],
    ],
    "centers": [0],
    "cells": [0],
    "budget": [0],
    "screen": ["perhaps"],
    "mc_samples": [0],
    "attack_samples": [0, 1.5],
    "aggregate_samples": [0],
    "seed": [-1, 0.5, 2**64],
    "device": [
        *["no-such-device", "", "cpu:-1"],
        *["meta"],
        *["hpu"],
    ],
    "posterior": ["vi", "", None, 3],
    "laplace": [
        {"epochs": -1},
        {"prior_scale": 0.0},
        {"prior_precision": 0},
        {"kl_coefficient": 0},
        {"momentum": 1},
        5,
    ],
    "members": [0, -1, 1001, 2.5, "few"],
    "train_together": ["perhaps"],
    "training": [{"epochs": -1}, {"learning_rate": float("nan")}, {"kl_coefficient": -1}, {"momentum": 1}, 5],
}


def parameters() -> list[Any]:
    cases = []
    for key, values in BAD_VALUES.items():
        for case in values:
            value, marks = (case.values[0], case.marks) if hasattr(case, "marks") else (case, ())
            cases.append(pytest.param(key, value, id=f"{key}={value!r}", marks=marks))
    return cases


@pytest.mark.parametrize(("key", "value"), parameters())
def test_a_value_that_makes_no_sense_is_refused_by_name(key: str, value: object) -> None:
    assert key in refused(None, {key: value})


def test_every_field_has_bad_values_here_or_is_a_path() -> None:
    assert set(BAD_VALUES) == set(RunConfig.model_fields) - {"data_dir"}


def test_all_problems_are_named_at_once() -> None:
    message = refused(None, {"clients": 0, "rule": "mode", "training": {"epochs": -1}})
    for key in ("clients", "rule", "training"):
        assert key in message


@pytest.mark.parametrize("key", ["client", "Clients", "training.epochs"])
def test_an_unknown_key_is_refused_by_name(tmp_path: Path, key: str) -> None:
    assert key in refused(write(tmp_path, f'"{key}" = 3'), {})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.toml", "clients = "),
        ("run.toml", "clients: 3"),
        ("run.toml", "clients = 1\nclients = 2"),
        ("result.json", "{"),
        ("result.json", "{}"),
        pytest.param("result.json", "[1]"),
        pytest.param("result.json", '"config"'),
        pytest.param("result.json", '{"config": 5}'),
    ],
)
def test_a_malformed_file_is_refused_by_its_path(tmp_path: Path, name: str, text: str) -> None:
    path = write(tmp_path, text, name)
    assert str(path) in refused(path, {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"config": {"clients": 0, "seed": -1}}', "seed: Input should be greater than or equal to 0"),
        ('{"config": {"clients": 0, "client": 3}}', "no setting 'client': did you mean 'clients'?"),
        ('{"config": {"clients": 0, "scale": 1' + "0" * 400 + "}}", "scale: a posterior scale is a number"),
        ('{"config": {}, "config": {}}', "not readable as JSON (a name appears twice)"),
        ('{"config": {"epsilon": NaN}}', "not readable as JSON (expected value at line 1 column 24)"),
        ('{"config":' * 300, "not readable as JSON (recursion limit exceeded"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_the_file(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, text, "result.json")
    message = refused(path, {"clients": 3})
    assert message.startswith(f"{path}: {said}")
    assert ";" not in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("epsilom = 0.1", "no setting 'epsilom': did you mean 'epsilon'?"),
        ("train-exampels = 10", "no setting 'train-exampels': did you mean 'train-examples'?"),
        ("Clients = 3", "no setting 'Clients': did you mean 'clients'?"),
        ("[training]\nepoch = 3", "no setting 'epoch' in [training]: did you mean 'epochs'?"),
        (
            "training.learning_rat = 3",
            "no setting 'learning_rat' in [training]: did you mean 'learning-rate'?",
        ),
        ("colour = 3", "no setting 'colour': must be one of dataset, "),
    ],
)
def test_a_misspelt_setting_is_named_with_its_file_and_the_nearest_one(
    tmp_path: Path, text: str, said: str
) -> None:
    path = write(tmp_path, text, "run.toml")
    assert refused(path, {}).startswith(f"{path}: {said}")


@pytest.mark.slow
def test_whatever_is_in_a_result_it_is_a_configuration_or_named_in_one_line(tmp_path: Path) -> None:
    config = RunConfig(data_dir=Path("somewhere")).model_dump(mode="json")
    path, sound = tmp_path / "result.json", 0
    for i in range(500):
        content = damaged(config, Random(i))
        path.write_bytes(b'{"config": ' + content + b"}" if i % 2 else content)
        try:
            load_config(path, {})
            sound += 1
        except InvalidConfig as error:
            sound += str(error).startswith(f"{path}: ") and str(error).isprintable()
    assert sound == 500


def test_an_option_that_makes_no_sense_is_not_blamed_on_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, '{"config": {"seed": 3}}', "result.json")
    assert refused(path, {"seed": -1}).startswith("seed: ")


def test_bytes_that_are_no_text_are_refused_by_their_path(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes(b"\xff\xfe\x00")
    assert str(path) in refused(path, {})


@pytest.mark.parametrize("name", ["absent.toml", "."])
def test_a_file_that_cannot_be_read_is_refused_by_its_path(tmp_path: Path, name: str) -> None:
    assert str(tmp_path / name) in refused(tmp_path / name, {})


def test_a_configuration_cannot_be_changed_after_its_checks() -> None:
    with pytest.raises(ValueError, match="frozen"):
        RunConfig().clients = 0


def test_only_bayes_by_backprop_trains_clients_together() -> None:
    assert load_config(None, {"train_together": True}).train_together
    assert "train_together" in refused(None, {"train_together": True, "posterior": "laplace"})
