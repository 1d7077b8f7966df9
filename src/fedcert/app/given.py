"""A user's own network and inputs: how a run is set up that trains nothing and chooses nothing."""

from dataclasses import dataclass, replace
from math import inf, prod
from pathlib import Path
from typing import Any, ClassVar

from jaxtyping import Float64, Int64
from torch import Tensor

from fedcert.adapters.vnnlib import specified
from fedcert.data import Split
from fedcert.data.csv_table import digest_of, read_bytes
from fedcert.data.npz import Arrays
from fedcert.errors import FedcertError, InvalidConfig, InvalidInputs
from fedcert.model.features import Feature
from fedcert.model.network import Network
from fedcert.model.properties import Properties, linf_robustness
from fedcert.model.regions import Constraints, on_boxes
from fedcert.model.robustness import Origin
from fedcert.numerics.convert import Numbers

SPECIFICATION = ".vnnlib"


@dataclass(frozen=True)
class GivenInputs:
    """Inputs or boxes of the user's own, each with its label or its constraints.

    Attributes:
        lower: the inputs; lower ends of boxes.
        upper: upper ends of boxes; None for inputs.
        label: the class of each; None where there are constraints.
        constraints: C and d; None where there are labels.
        domain: the smallest and largest value of an input coordinate, to which regions are cut.
        origin: where they come from.
    """

    lower: Float64[Tensor, "P p"]
    upper: Float64[Tensor, "P p"] | None
    label: Int64[Tensor, "P"] | None
    constraints: Constraints | None
    domain: tuple[float, float]
    origin: Origin

    features: ClassVar[tuple[Feature, ...] | None] = None

    def __len__(self) -> int:
        return len(self.lower)

    def __getitem__(self, part: slice) -> "GivenInputs":
        return replace(
            self,
            lower=self.lower[part],
            upper=None if self.upper is None else self.upper[part],
            label=None if self.label is None else self.label[part],
            constraints=self.constraints and (self.constraints[0][part], self.constraints[1][part]),
        )

    def properties_within(
        self, epsilon: Numbers, margin: float, classes: int, device: str = "cpu"
    ) -> Properties:
        """The properties on the balls of a radius around the inputs, or on the boxes widened by it.

        Args:
            epsilon: the radius, or one for each input.
            margin: of the logits, by which labels win.
            classes: the number of outputs.
            device: where the properties are needed.
        """
        radius = epsilon.cpu() if isinstance(epsilon, Tensor) else epsilon
        if self.label is not None and self.upper is None:
            asked = linf_robustness(self.lower, self.label, radius, margin, classes, self.domain, self.origin)
            return asked.to(device)
        C, d = self.constraints or (None, None)
        asked = on_boxes(
            self.lower, self.upper, label=self.label, classes=classes, margin=margin, C=C, d=d,
            epsilon=radius, domain=self.domain, origin=self.origin,
        )  # fmt: skip
        return asked.to(device)

    @property
    def examples(self) -> Split | None:
        """What accuracy is measured on: the inputs, or the centres of boxes; None without labels."""
        if self.label is None:
            return None
        upper = self.lower if self.upper is None else self.upper
        return Split(self.lower + (upper - self.lower) / 2, self.label)


@dataclass(frozen=True)
class Given:
    """A network and a file of inputs, boxes or properties.

    Attributes:
        layers: the network, as `Network.describe` does.
        file: an .npz file of arrays, or a specification in VNN-LIB.
        boxes: whether the arrays are the ends of boxes, `lower` and `upper`, instead of inputs `x`.
        domain: the smallest and largest value of an input coordinate; regions are cut to it. None for none.
        sha256: of the file; a file that was changed is refused. Empty for any content.
    """

    layers: tuple[dict[str, Any], ...]
    file: Path
    boxes: bool = False
    domain: tuple[float, float] | None = None
    sha256: str = ""

    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid"}  # misspelt settings raise

    def __post_init__(self) -> None:
        if self.domain is not None and not -inf < self.domain[0] <= self.domain[1] < inf:
            raise InvalidConfig(f"domain: {self.domain} are no two numbers, the smaller one first")
        if self.boxes and self.is_specification:
            raise InvalidConfig("boxes: a specification in VNN-LIB states its own boxes")

    @property
    def is_specification(self) -> bool:
        """Whether the file is a specification in VNN-LIB."""
        return self.file.suffix == SPECIFICATION

    @property
    def needs_radius(self) -> bool:
        """Whether it is still to be said how far inputs may vary."""
        return not (self.boxes or self.is_specification)

    @property
    def network(self) -> Network:
        """f_θ."""
        try:
            return Network.from_description(self.layers)
        except FedcertError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidConfig(f"layers: not a list of layers ({error!r})") from error

    def inputs(self, source: str) -> GivenInputs:
        """What the file holds, if it fits the network.

        Args:
            source: the name that certificates give the file.
        """
        content = read_bytes(self.file)
        if self.sha256 not in ("", digest_of(content)):
            raise InvalidInputs(
                f"{self.file}: not the file that the run was made from: its SHA-256 digest differs"
            )
        network, domain = self.network, self.domain or (-inf, inf)
        if self.is_specification:
            found = _of_specification(self.file, content, network, domain)
        else:
            found = _of_arrays(Arrays(self.file, content), self.boxes, network, domain)
        return replace(found, origin=Origin(source, "given", len(found)))


def _of_specification(
    path: Path, content: bytes, network: Network, domain: tuple[float, float]
) -> GivenInputs:
    try:
        asked = specified(content.decode(), network.inputs, network.outputs)
    except UnicodeDecodeError as error:
        raise InvalidInputs(f"{path}: not a text in UTF-8") from error
    except FedcertError as error:
        raise type(error)(f"{path}: {error}") from error
    regions = asked.regions
    return GivenInputs(regions.lower, regions.upper, None, (asked.C, asked.d), domain, Origin())


def _of_arrays(arrays: Arrays, boxes: bool, network: Network, domain: tuple[float, float]) -> GivenInputs:
    path, names = arrays.path, ("lower", "upper") if boxes else ("x",)
    if not boxes and "x" not in arrays.names and {"lower", "upper"} <= set(arrays.names):
        raise InvalidInputs(
            f"{path}: x: missing, but there are lower and upper: add --boxes to certify these boxes"
        )
    ends = []
    for name in names:
        own = arrays.real(name, *range(2, 6)).flatten(1)
        if own.shape[1] != network.inputs or len(own) == 0:
            raise InvalidInputs(
                f"{path}: {name}: {len(own)} rows of {own.shape[1]} numbers for {network.inputs} inputs"
            )
        _require_inside(path, name, own, domain)
        ends.append(own)
    if boxes and (ends[0].shape != ends[1].shape or not (ends[0] <= ends[1]).all()):
        raise InvalidInputs(
            f"{path}: lower, upper: not the two ends of boxes, the lower one at most the upper one"
        )
    label, constraints = None, None
    if ("y" in arrays.names) == ("C" in arrays.names):
        raise InvalidInputs(f"{path}: y: give either labels y, or constraints C and d")
    if "y" in arrays.names:
        label = _labels(arrays, len(ends[0]), network.outputs)
    else:
        constraints = _constraints(arrays, len(ends[0]), network.outputs)
    return GivenInputs(ends[0], ends[1] if boxes else None, label, constraints, domain, Origin())


def _require_inside(path: Path, name: str, own: Tensor, domain: tuple[float, float]) -> None:
    low, high = domain
    if not ((own >= low) & (own <= high)).all():
        raise InvalidInputs(f"{path}: {name}: a value outside the domain [{low}, {high}]")


def _labels(arrays: Arrays, count: int, classes: int) -> Int64[Tensor, "P"]:
    label = arrays.whole("y")
    if label.shape != (count,):
        raise InvalidInputs(f"{arrays.path}: y: {len(label)} labels for {count} inputs")
    if classes < 2 or not ((label >= 0) & (label < classes)).all():
        raise InvalidInputs(f"{arrays.path}: y: labels must be two or more classes 0 … {classes - 1}")
    return label


def _constraints(arrays: Arrays, count: int, outputs: int) -> Constraints:
    C, d = arrays.real("C", 2, 3), arrays.real("d", 1, 2)
    if C.dim() == 2 and d.dim() == 1:
        C, d = C.expand(count, -1, -1), d.expand(count, -1)
    rows = C.shape[1] if C.dim() == 3 else 0
    if C.shape != (count, rows, outputs) or d.shape != (count, rows) or prod(C.shape) == 0:
        raise InvalidInputs(
            f"{arrays.path}: C, d: shapes {tuple(C.shape)} and {tuple(d.shape)}, not ({count}, rows,"
            f" {outputs}) and"
            f" ({count}, rows), or (rows, {outputs}) and (rows)"
        )
    return C.contiguous(), d.contiguous()
