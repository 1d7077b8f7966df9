"""Networks by name: what is read is what is built, and anything else is refused."""

from pathlib import Path

import pytest

from fedcert.app.architecture import Architecture, overriding, with_network
from fedcert.app.config import RunConfig, load_config, make_config
from fedcert.errors import DataError, InvalidConfig
from fedcert.model.network import cnn, mlp


@pytest.mark.parametrize("name", ["mlp:64", "mlp:64,32", "mlp:", "cnn:16,32", "cnn:8", "cnn:8,16/32,16"])
def test_a_name_is_read_and_written(name: str) -> None:
    assert str(Architecture.read(name)) == name


@pytest.mark.parametrize(
    "name", ["rnn:8", "cnn:", "cnn:8/", "mlp:0", "mlp:8,", "mlp:-3", "64", "", 64, "mlp:8 "]
)
def test_another_name_is_refused_with_the_choices(name: object) -> None:
    with pytest.raises(
        InvalidConfig, match=r"network: must be mlp:WIDTHS, cnn:CHANNELS or cnn:CHANNELS/WIDTHS"
    ):
        make_config({"network": name})


def test_the_network_fits_the_data() -> None:
    assert Architecture.read("mlp:5,4").network(7, 3, None) == mlp(7, 5, 4, 3)
    assert Architecture.read("mlp:5").network(64, 10, (8, 8)) == mlp(64, 5, 10)
    assert Architecture.read("cnn:4,8/6").network(64, 10, (8, 8)) == cnn((1, 8, 8), (4, 8), 6, 10)
    assert Architecture.read("cnn:4").network(3 * 64, 10, (8, 8)) == cnn((3, 8, 8), (4,), 10)


def test_mnist_has_some_thousands_of_parameters() -> None:
    sizes = [
        Architecture.read(name).network(784, 10, (28, 28)).parameters for name in ("cnn:16,32", "cnn:8,16/32")
    ]
    assert sizes == [24_186, 27_650]


def test_convolutions_need_images_large_enough() -> None:
    with pytest.raises(DataError, match="cnn:4 needs images"):
        Architecture.read("cnn:4").network(13, 2, None)
    assert Architecture.read("cnn:2,2,2").network(64, 10, (8, 8)).parameters > 0
    with pytest.raises(DataError, match="more convolutions than images of 8 × 8"):
        Architecture.read("cnn:2,2,2,2").network(64, 10, (8, 8))


def test_hidden_is_short_for_an_mlp() -> None:
    assert (
        RunConfig(hidden=(5, 4)) == RunConfig(network="mlp:5,4") == RunConfig(network="mlp:5,4", hidden="5,4")
    )
    assert (RunConfig().network, RunConfig(dataset="heart-disease").network) == ("mlp:64", "mlp:16")
    assert (RunConfig(network="cnn:8/5").hidden, RunConfig(network="cnn:8").hidden) == ((5,), ())
    assert RunConfig(dataset="heart-disease", network="mlp:3").hidden == (3,)


def test_both_must_agree() -> None:
    with pytest.raises(InvalidConfig, match="hidden: '5', but network mlp:4: give one of the two"):
        make_config({"network": "mlp:4", "hidden": "5"})
    with pytest.raises(InvalidConfig, match=r"hidden: '\(5,\)', but network cnn:4"):
        make_config({"network": "cnn:4", "hidden": (5,)})


def test_a_later_word_replaces_an_earlier_one(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('network = "cnn:8"\n')
    assert load_config(file, {"hidden": "3"}).network == "mlp:3"
    file.write_text("hidden = [3]\n")
    assert load_config(file, {"network": "cnn:8"}).hidden == ()
    assert overriding({"hidden": [3]}, {"seed": 1}) == {"hidden": [3], "seed": 1}


def test_a_recorded_configuration_is_the_same_again() -> None:
    config = RunConfig(
        network="cnn:8/5", posterior="laplace", structure="last-layer-kron", prior_precision=30
    )
    assert RunConfig(**config.model_dump()) == config
    recorded = RunConfig(hidden=(7,)).model_dump(mode="json")
    assert make_config({name: own for name, own in recorded.items() if name != "network"}).network == "mlp:7"


@pytest.mark.parametrize("dataset", ["heart-disease"])
def test_measurements_have_no_convolutions(dataset: str) -> None:
    with pytest.raises(InvalidConfig, match="network: cnn:8 needs images; heart-disease has measurements"):
        make_config({"dataset": dataset, "network": "cnn:8"})


def test_a_network_of_ones_own_has_no_name() -> None:
    assert with_network({"given": {}}, {"hidden": (3,)}) == {"hidden": (3,), "network": None}
