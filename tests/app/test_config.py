import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from damage import damaged

from fedcert.app.config import PRESETS, RunConfig, load_config
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


def test_by_default_the_learned_posterior_is_certified_with_all_families_of_events() -> None:
    config = RunConfig()
    assert (config.scale, config.attack_samples) == ("learned", 300)
    assert config.events == ("paper-box", "box", "projected")


def test_the_papers_preset_is_its_fixed_scale_and_its_one_family_of_events() -> None:
    assert list(PRESETS) == ["paper"]
    assert load_config(None, {}, "paper") == RunConfig(scale=1e-5, events=("paper-box",))


def test_a_file_overrides_a_preset_and_options_override_both(tmp_path: Path) -> None:
    path = write(tmp_path, "scale = 1e-3\nclients = 5\n")
    config = load_config(path, {"clients": 4}, "paper")
    assert config == RunConfig(scale=1e-3, clients=4, events=("paper-box",))
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
    config = RunConfig(seed=7, gamma=(1 / 3, 2), scale=0.1, data_dir=Path("somewhere"), rule="pog")
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
    ],
)
def test_lists_and_scales_may_be_given_as_text(key: str, text: str, value: object) -> None:
    assert getattr(load_config(None, {key: text}), key) == value


BAD_VALUES: dict[str, list[Any]] = {
    "dataset": ["cifar", "", 3],
    "train_examples": [0, -1, 1.5],
    "test_examples": [0],
    "clients": [0, -1, 2.5, "three", 2**53 + 1],
    "concentration": [0, -1.0, float("nan"), float("inf")],
    "hidden": ["0", "-3", "8,x", [8, 0], [1.5]],
    "scale": [1e-46, 1e31, 0, -1e-5, "-1", float("nan"), "nan", float("inf"), "large", None, [1.0], 10**400],
    "rule": ["mode", "FedAvg", ""],
    "weights": ["random", [1e31, 1.0], [1.0, -1e31], [1e-31, 1.0], [float("nan")]],
    "trim": [-1, 0.5],
    "server_rate": [-1.0, float("nan"), float("inf"), 1e31, 1e-31],
    "events": ["boxes", "", [], "paper-box,boxes"],
    "claims": ["global", "", [], "local,global"],
    "properties": [0, -5],
    "epsilon": [-1e-3, float("nan"), float("inf")],
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
        ('{"config": {"clients": 0, "client": 3}}', "client: Extra inputs are not permitted (given 3)"),
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
