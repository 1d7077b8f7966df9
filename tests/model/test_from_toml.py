"""Networks that users write down."""

from pathlib import Path

import pytest

from fedcert.errors import InvalidConfig
from fedcert.model.from_toml import from_toml
from fedcert.model.layers import Conv2d, LeakyReLU, Linear, ReLU, ResidualSum
from fedcert.model.network import Network

LINEAR = '[[layers]]\ntype = "linear"\ninputs = {}\noutputs = {}\n'
LEAKY = '[[layers]]\ntype = "leaky-relu"\nslope = 0.25\n'


def test_layers_are_read_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text(LINEAR.format(2, 3) + LEAKY + LINEAR.format(3, 1))
    assert from_toml(path) == Network((Linear(2, 3), LeakyReLU(0.25), Linear(3, 1)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a list of"),
        ("layers = 3", "a list of"),
        ("layers = [3]", r"layers\.0"),
        ("[[layers", "not TOML"),
        (LINEAR.format(2, 3) + "[training]\n", "nothing else"),
        ('[[layers]]\ntype = "conv9d"\n', r"layers\.0: a layer of type 'conv9d'"),
        ("[[layers]]\ninputs = 2\n", r"layers\.0: missing"),
        (LINEAR.format(2, 3) + '[[layers]]\ntype = "relu"\nwidth = 3\n', r"layers\.1"),
        (LINEAR.format(2, 0), r"layers\.0"),
        (LINEAR.format(2, 3) + LINEAR.format(4, 1), "widths differ"),
        (LEAKY, "at least one layer with a number of inputs"),
        (LINEAR.format(2, 3) + LEAKY.replace("0.25", "7.0"), r"layers\.1.*slope"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "model.toml"
    path.write_text(text)
    with pytest.raises(InvalidConfig, match=words) as found:
        from_toml(path)
    assert str(found.value).startswith(str(path))
    assert "\n" not in str(found.value).strip()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match=r"no\.toml: cannot be read"):
        from_toml(tmp_path / "no.toml")


def test_layers_on_images_and_residual_additions_are_read(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text(
        """
        [[layers]]
        type = "conv2d"
        image = [1, 3, 3]
        filters = 2
        kernel = [2, 2]

        [[layers]]
        type = "residual"
        body = [{ type = "relu" }, { type = "linear", inputs = 8, outputs = 8 }]

        [[layers]]
        type = "linear"
        inputs = 8
        outputs = 2
        """
    )
    block = ResidualSum((ReLU(), Linear(8, 8)))
    assert from_toml(path) == Network((Conv2d((1, 3, 3), 2, (2, 2)), block, Linear(8, 2)))


def test_a_layer_inside_is_refused_by_its_type(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text('[[layers]]\ntype = "residual"\nbody = [{ type = "gelu" }]\n')
    with pytest.raises(InvalidConfig, match=r"layers\.0: a layer of type 'gelu'"):
        from_toml(path)
