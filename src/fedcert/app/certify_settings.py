"""What the options of `fedcert certify` ask for: which files, which network, which inputs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fedcert.adapters.onnx import from_onnx
from fedcert.app.serve import message_files, named_files
from fedcert.errors import InvalidConfig
from fedcert.model.from_toml import from_toml
from fedcert.model.network import Network


def files_of(arguments: Sequence[Path] | None, folder: Path | None) -> Sequence[Path]:
    """The message files, which are arguments or in a folder.

    Args:
        arguments: files, or folders of them; None for none.
        folder: of messages; None for none.
    """
    if arguments and folder is not None:
        raise InvalidConfig("messages: give message files as arguments or a folder by --messages, not both")
    if folder is not None:
        return message_files(folder)
    if not arguments:
        raise InvalidConfig("messages: give message files as arguments, or a folder by --messages")
    return named_files(arguments)


def certify_settings(
    about: Mapping[str, Any], settings: Mapping[str, Any], config: Path | None, count: int
) -> dict[str, Any]:
    """The settings of a run, with the user's own network and inputs among them if there are any.

    Args:
        about: the options that say what is certified.
        settings: the options that are settings.
        config: the file that states settings too; None for none.
        count: the number of message files.
    """
    model, inputs, specification = about["model"], about["inputs"], about["properties"]
    if model is None:
        for name in ("inputs", "properties", "boxes", "domain"):
            if about[name]:
                raise InvalidConfig(
                    f"{name}: --{name} needs --model, the network that the messages are about"
                )
        if config is None:
            raise InvalidConfig(
                "model: give --model and --inputs or --properties, or a configuration by --config"
            )
        return dict(settings)
    if (inputs is None) == (specification is None):
        raise InvalidConfig("inputs: with --model give either --inputs (npz) or --properties (VNN-LIB)")
    if specification is not None and specification.suffix != ".vnnlib":
        raise InvalidConfig(f"properties: {specification}: a specification has the suffix .vnnlib")
    if inputs is not None and inputs.suffix != ".npz":
        raise InvalidConfig(f"inputs: {inputs}: arrays have the suffix .npz")
    given = {
        "layers": read_model(model).describe(),
        "file": inputs or specification,
        "boxes": about["boxes"],
        "domain": _domain(about["domain"]),
    }
    return {"clients": count, **settings, "given": given}


def read_model(path: Path) -> Network:
    """The network of a file.

    Args:
        path: of a TOML or an ONNX file.
    """
    match path.suffix:
        case ".toml":
            return from_toml(path)
        case ".onnx":
            return from_onnx(path).network
    raise InvalidConfig(f"model: {path}: give a file model.toml or model.onnx")


def _domain(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = map(float, text.split(","))
    except ValueError as error:
        raise InvalidConfig(f"domain: {text!r}: give two numbers, for example 0,1") from error
    return low, high
