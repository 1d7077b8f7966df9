"""Networks as users write them down: a TOML file with a list of layers."""

import tomllib
from os import PathLike
from pathlib import Path

from fedcert.errors import FedcertError, InvalidConfig
from fedcert.model.layers.registry import read_layer
from fedcert.model.network import Network


def from_toml(path: str | PathLike[str]) -> Network:
    r"""The network that a TOML file describes, layer by layer; what is unknown in it is refused by its place.

    Each `[[layers]]` has a type and what that type needs: `type = "linear"` with `inputs` and `outputs`,
    `type = "relu"`, `type = "leaky-relu"` with `slope`, the others of docs/certificate-format.md, and what
    `register_layer` adds. θ holds the weights of each linear layer, row by row, then its biases, first layer
    first.

    Args:
        path: of the file.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "model.toml"
        >>> _ = path.write_text('[[layers]]\ntype = "linear"\ninputs = 2\noutputs = 3\n')
        >>> from_toml(path)
        Network(layers=(Linear(inputs=2, outputs=3),))
    """
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidConfig(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        raise InvalidConfig(f"{path}: not TOML ({error})") from error
    layers = content.get("layers")
    if set(content) != {"layers"} or not isinstance(layers, list) or not layers:
        raise InvalidConfig(f"{path}: a model is a list of [[layers]] and nothing else")
    for place, layer in enumerate(layers):
        if not isinstance(layer, dict):
            raise InvalidConfig(f"{path}: layers.{place}: {str(layer)[:40]!r} is not a table with a type")
        try:
            read_layer(layer)
        except FedcertError as error:
            raise InvalidConfig(f"{path}: layers.{place}: {error}") from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidConfig(f"{path}: layers.{place}: missing, unknown or malformed: {error}") from error
    try:
        return Network.from_description(layers)
    except FedcertError as error:
        raise InvalidConfig(f"{path}: {error}") from error
