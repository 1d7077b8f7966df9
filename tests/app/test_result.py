import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from damage import damaged, extreme
from grid_runs import properties, summary
from report_samples import files, result

from fedcert.app.output import write_summary
from fedcert.app.result import read_properties, read_summary
from fedcert.errors import UnreadableFile

DAMAGED = 500  # files of each kind


def put(folder: Path, content: Any, entries: Any) -> None:
    (folder / "result.json").write_text(json.dumps(content), encoding="utf-8")
    (folder / "properties.json").write_text(json.dumps(entries), encoding="utf-8")


def complaint(folder: Path) -> str:
    """What the reader says of the files in a folder, without the name of the folder."""
    with pytest.raises(UnreadableFile) as caught:
        read_properties(folder, read_summary(folder))
    return str(caught.value).removeprefix(f"{folder}/")


def test_what_a_run_writes_is_what_is_read(tmp_path: Path) -> None:
    run = result(refused={"client-7.safetensors": "a\nreason"})
    write_summary(run, tmp_path, {})
    found = read_summary(tmp_path)
    assert (found, read_properties(tmp_path, found)) == files(run)


@pytest.mark.parametrize("seed", range(20))
def test_figures_at_the_ends_of_their_ranges_are_read(tmp_path: Path, seed: int) -> None:
    content = extreme(summary(clients=2), Random(seed))
    del content["config"]["network"]  # which follows from the hidden layers
    put(tmp_path, content, properties(content))
    found = read_summary(tmp_path)
    assert found["summary"] == content["summary"]
    assert len(read_properties(tmp_path, found)) == content["inputs"]["count"]


def test_a_run_on_another_machine_is_read_where_its_device_is_missing(tmp_path: Path) -> None:
    content = summary(clients=2)
    content["config"]["device"] = "cuda:7"
    put(tmp_path, content, properties(content))
    assert read_summary(tmp_path)["config"]["device"] == "cuda:7"


@pytest.mark.parametrize("name", ["fedcert", "histograms", "inputs", "norm", "radii", "conclusions"])
def test_a_result_of_an_earlier_version_is_told_from_a_damaged_one(tmp_path: Path, name: str) -> None:
    content, entries = files(result())
    del content[name]
    put(tmp_path, content, entries)
    assert complaint(tmp_path) == "result.json: written by an earlier version: remove it, or repeat the run"
    del content["clients"]
    put(tmp_path, content, entries)
    assert complaint(tmp_path).endswith(": Field required (and 1 more): repeat the run")


def change(*path: str | int, to: Any) -> Callable[[Any], None]:
    def apply(content: Any) -> None:
        for name in path[:-1]:
            content = content[name]
        content[path[-1]] = to

    return apply


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (change("summary", 2, "lower", to=1.5), "summary.2.lower: Input should be less than or equal to 1"),
        (change("summary", 2, "lower", to=True), "summary.2.lower: Input should be a valid number"),
        (change("summary", 2, "lower", to="0.5"), "summary.2.lower: Input should be a valid number"),
        (change("summary", 1, "upper", to=0.25), "summary.1: the lower bound "),
        (change("summary", 1, "seconds", to=-1), "summary.1.seconds: "),
        (change("summary", 1, "claim", to="global"), "summary.1.claim: "),
        (
            change("summary", 1, "rule", to="pog"),
            "summary.2: ('direct', 'pog', 'projected', 0.001) appears twice",
        ),
        (change("summary", 0, "events", to="a b"), "summary.0.events: "),
        (change("summary", 0, "properties", to=3), "summary.0.properties: not the 2 "),
        (change("summary", 1, "epsilon", to=0.5), "summary.1.epsilon: not a radius of the configuration"),
        (change("summary", 1, "epsilon", to=-0.5), "summary.1.epsilon: "),
        (change("summary", 1, "certificate", to="../a.safetensors"), "summary.1.certificate: "),
        (change("summary", 1, "reproved", to="yes"), "summary.1.reproved: "),
        (change("summary", 0, "more", to=3), "summary.0.more: Extra inputs are not permitted"),
        (change("summary", 0, "\x1b[31m", to=3), "summary.0.'\\x1b[31m': Extra inputs are not permitted"),
        (change("summary", to={}), "summary: "),
        (change("estimates", 0, "rule", to="pog"), "estimates.1: ('mc-ibp', 'pog', 0.001) appears twice"),
        (change("estimates", 0, "samples", to=0), "estimates.0.samples: "),
        (change("estimates", 0, "confidence_interval", to=[0.5]), "estimates.0.confidence_interval: "),
        (change("inputs", "count", to=3), "summary.0.properties: not the 3 inputs"),
        (change("inputs", "chosen", to="last"), "inputs.chosen: "),
        (change("inputs", "digest", to="0"), "inputs.digest: "),
        (change("inputs", "accuracy", to=1.5), "inputs.accuracy: "),
        (change("norm", to="l2"), "norm: "),
        (change("radii", to=[{}]), "radii.0"),
        (change("conclusions", 0, "value", to="x"), "conclusions.0.value: "),
        (change("conclusions", 0, "assumptions", to=[1]), "conclusions.0.assumptions.0: "),
        (change("config", "epsilon", to=[0.001, 0.001]), "config.epsilon: the same number twice"),
        (change("accuracy", to=0.5), "accuracy: not that of the deployed rule"),
        (change("accuracy_by_rule", to={}), "accuracy: not that of the deployed rule"),
        (change("timings", "data", to=1e999), "timings.data: "),
        (change("timings", "data", to=1e13), "timings.data: "),
        (change("clients", to=[]), "clients: "),
        (change("clients", 1, "client", to="client-0"), "clients.1: client-0 appears twice"),
        (change("clients", 1, "digest", to="0"), "clients.1.digest: "),
        (change("histograms", to=[[1]]), "histograms: 1 rows for 2 clients"),
        (change("histograms", 0, to=[1]), "histograms: rows of different lengths"),
        (change("histograms", to=[[], []]), "histograms.0: "),
        (change("histograms", 1, 3, to=-1), "histograms.1.3: "),
        (change("config", "clients", to=1), "clients: 2, more than the 1 "),
        (change("config", "clients", to=10**400), "config.clients: "),
        (change("config", "scale", to=10**400), "config.scale: "),
        (change("config", "weights", to=["x"]), "config.weights: "),
        (change("config", "training", to=[]), "config.training: "),
        (change("config", "training", "epochs", to="x"), "config.training.epochs: "),
        (change("config", "device", to=0), "config.device: "),
        (change("config", to=3), "config: "),
    ],
)
def test_what_is_wrong_in_result_json_is_named(
    tmp_path: Path, spoil: Callable[[Any], None], said: str
) -> None:
    content, entries = files(result())
    spoil(content)
    text = json.dumps(content).replace("Infinity", "1e999")
    (tmp_path / "result.json").write_text(text, encoding="utf-8")
    (tmp_path / "properties.json").write_text(json.dumps(entries), encoding="utf-8")
    assert complaint(tmp_path).startswith(f"result.json: {said}")
    assert complaint(tmp_path).endswith("repeat the run")
    assert len(complaint(tmp_path)) < 300


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (change(0, "label", to=-1), "0.label: "),
        (change(0, "label", to=2.0), "0.label: "),
        (change(0, "index", to=-2), "0.index: "),
        (change(0, "bounds", 1, "epsilon", to=0.5), "0.bounds: not those of the claims in result.json"),
        (change(0, "radii", to=[-1.0]), "0.radii.0: "),
        (change(0, "radii", to=[1.0]), "0.radii: not one for each of the 0 searches in result.json"),
        (change(1, "image", to="https://example.org/x.png"), "1.image: "),
        (change(1, "image", to="data:image/png;base64,PHN2Zz4="), "1.image: "),
        (change(1, "bounds", 1, "lower", to=None), "1.bounds.1.lower: "),
        (change(1, "bounds", 1, "lower", to=1.0 + 2**-52), "1.bounds.1.lower: "),
        (change(0, "bounds", 1, "upper", to=0.0), "0.bounds.1: the lower bound "),
        (change(0, "bounds", 1, "upper", to=None), "0.bounds: not those of the claims in result.json"),
        (change(0, "bounds", 1, "claim", to="local"), "0.bounds: not those of the claims in result.json"),
        (change(0, "bounds", to=[]), "0.bounds: not those of the claims in result.json"),
        (change(0, "survival", "fedavg", to=2), "0.survival.fedavg: "),
        (change(0, "survival", to=[]), "0.survival: "),
        (change(1, "attacked", to=1), "1.attacked: "),
        (change(1, to=[]), "1: "),
        (list.clear, "0 properties, but 2 in result.json"),
        (list.pop, "1 properties, but 2 in result.json"),
    ],
)
def test_what_is_wrong_in_properties_json_is_named(
    tmp_path: Path, spoil: Callable[[Any], None], said: str
) -> None:
    content, entries = files(result())
    spoil(entries)
    put(tmp_path, content, entries)
    assert complaint(tmp_path).startswith(f"properties.json: {said}")
    assert complaint(tmp_path).endswith("repeat the run")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["result.json", "properties.json"])
def test_whatever_is_in_a_file_it_is_read_or_named_in_one_line(tmp_path: Path, name: str) -> None:
    put(tmp_path, *files(result()))
    good = json.loads((tmp_path / name).read_text(encoding="utf-8"))
    sound = 0
    for i in range(DAMAGED):
        (tmp_path / name).write_bytes(damaged(good, Random(f"{name} {i}")))
        try:
            read_properties(tmp_path, read_summary(tmp_path))
        except UnreadableFile as error:
            text = str(error).removeprefix(f"{tmp_path}/")
            sound += name in text and text.isprintable() and len(text) < 300
        else:
            sound += 1
    assert sound == DAMAGED


def test_a_file_that_is_missing_or_a_folder_is_named(tmp_path: Path) -> None:
    content, entries = files(result())
    assert complaint(tmp_path) == "result.json: No such file or directory: repeat the run"
    put(tmp_path, content, entries)
    (tmp_path / "properties.json").unlink()
    (tmp_path / "properties.json").mkdir()
    assert complaint(tmp_path) == "properties.json: Is a directory: repeat the run"
