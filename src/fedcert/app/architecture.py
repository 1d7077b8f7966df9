"""The network that clients train, as a user names it: mlp:64,64 or cnn:16,32/64."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fedcert.app.settings import split
from fedcert.errors import DataError, ShapeMismatch
from fedcert.model.network import Network, cnn, mlp

WIDTHS = r"[1-9]\d{0,15}(?:,[1-9]\d{0,15})*"
FORMS = re.compile(rf"mlp:(?P<mlp>{WIDTHS})?|cnn:(?P<channels>{WIDTHS})(?:/(?P<dense>{WIDTHS}))?")
CHOICES = "mlp:WIDTHS, cnn:CHANNELS or cnn:CHANNELS/WIDTHS, such as mlp:64,64, cnn:16,32 or cnn:8,16/32"


@dataclass(frozen=True)
class Architecture:
    """Convolutions, if there are any, and fully connected hidden layers; ReLU after each.

    Attributes:
        channels: of each convolution; none for an MLP.
        hidden: widths of the fully connected hidden layers.

    Examples:
        >>> Architecture.read("cnn:8,16/32")
        Architecture(channels=(8, 16), hidden=(32,))
        >>> str(Architecture((), (64, 64)))
        'mlp:64,64'
    """

    channels: tuple[int, ...]
    hidden: tuple[int, ...]

    @classmethod
    def read(cls, text: object) -> "Architecture":
        """The architecture of a name; any other text raises `ValueError`, which lists the choices.

        Args:
            text: such as mlp:64,64.
        """
        found = FORMS.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise ValueError(f"network: must be {CHOICES} (given {str(text)[:80]!r})")
        return cls(_numbers(found["channels"]), _numbers(found["mlp"] or found["dense"]))

    def __str__(self) -> str:
        hidden = ",".join(map(str, self.hidden))
        if not self.channels:
            return f"mlp:{hidden}"
        return f"cnn:{','.join(map(str, self.channels))}" + (f"/{hidden}" if hidden else "")

    def network(self, inputs: int, outputs: int, image: tuple[int, int] | None) -> Network:
        """The network for some data.

        Args:
            inputs: the length of an input.
            outputs: the number of classes.
            image: rows and columns of an input; None for measurements.
        """
        if not self.channels:
            return mlp(inputs, *self.hidden, outputs)
        if image is None:
            raise DataError(f"network: {self} needs images, and these inputs are measurements: take an mlp")
        try:
            return cnn((inputs // math.prod(image), *image), self.channels, *self.hidden, outputs)
        except ShapeMismatch as error:
            raise DataError(
                f"network: {self} has more convolutions than images of {image[0]} × {image[1]} can be halved"
            ) from error


def with_network(given: Mapping[str, Any], filled: Mapping[str, Any]) -> dict[str, Any]:
    """Settings in which `network` and `hidden` agree: either may be left out.

    Args:
        given: the settings that a user states.
        filled: the same with the defaults of the data.
    """
    if given.get("given") is not None:
        return {**filled, "network": None}
    if given.get("network") is None:
        hidden = split(filled.get("hidden", (64,)))
        if not isinstance(hidden, list | tuple):
            return dict(filled)  # what is wrong with it is said by the validation
        return {**filled, "network": f"mlp:{','.join(map(str, hidden))}"}
    own = Architecture.read(given["network"])
    stated = split(given.get("hidden"))
    if isinstance(stated, list | tuple) and [*map(str, stated)] != [*map(str, own.hidden)]:
        raise ValueError(f"hidden: {str(given['hidden'])[:80]!r}, but network {own}: give one of the two")
    return {**filled, "network": str(own), "hidden": own.hidden}


def overriding(settings: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with others in their place: a network replaces hidden layers, and the other way round.

    Args:
        settings: by name.
        overrides: those that take precedence.

    Examples:
        >>> overriding({"network": "mlp:64", "hidden": [64], "seed": 1}, {"hidden": "32"})
        {'seed': 1, 'hidden': '32'}
    """
    both = {"network", "hidden"}
    replaced = both if both & overrides.keys() else set()
    return {name: own for name, own in settings.items() if name not in replaced} | dict(overrides)


def _numbers(text: str | None) -> tuple[int, ...]:
    return tuple(map(int, text.split(","))) if text else ()
