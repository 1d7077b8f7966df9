"""From the steps of a module to a network and the sources of its parameters."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import nn

from fedcert.errors import ShapeMismatch, UnsupportedLayer
from fedcert.model.layers import Conv2d, Layer, Linear, ResidualSum
from fedcert.model.layers.chain import chain_inputs
from fedcert.model.layers.conv2d import image_shape
from fedcert.model.layers.registry import layer_of_module, qualified
from fedcert.model.network import Network
from fedcert.model.torch_module.batch_norm import BatchNorm
from fedcert.model.torch_module.functions import Rows
from fedcert.model.torch_module.graph import Addition, Step
from fedcert.model.torch_module.probe import check_against_module
from fedcert.model.torch_module.reading import Entry, Reading, Source
from fedcert.model.torch_module.trace import Chain, steps_of

NOTHING_IN_EVAL = (nn.Dropout, nn.AlphaDropout, nn.Identity)
NORMALISED: dict[type[nn.Module], type[Linear] | type[Conv2d]] = {
    nn.BatchNorm1d: Linear,
    nn.BatchNorm2d: Conv2d,
}
"""The layers that a normalisation is folded into."""
ALSO = (
    "batch normalisation, Dropout, Identity and Flatten in eval mode, residual additions, and chains and"
    " nn.Sequential of these"
)


def read_module(
    module: nn.Module, shape: tuple[int, ...] | None = None, chain: Chain | None = None
) -> Reading:
    """Read a torch module: its network, and how its named parameters become θ.

    The result is compared with the module itself on random parameters and inputs before it is returned.

    Args:
        module: a module whose forward is a chain of supported modules and functions.
        shape: of one input, without the batch; layers that act on images need it.
        chain: the steps of the forward, where it cannot be traced: names of submodules, and modules without
            parameters.

    Examples:
        >>> reading = read_module(nn.Sequential(nn.Linear(2, 3, bias=False), nn.BatchNorm1d(3)).eval())
        >>> reading.parameters, len(reading.theta)
        (['0.weight', '1.weight', '1.bias'], 9)
    """
    draft = _Draft(shape, [name for name, _ in module.named_parameters()])
    for step in steps_of(module, chain):
        draft.take(step)
    network = Network(tuple(draft.layers))
    inputs = None if shape is None else math.prod(shape)
    if inputs not in (None, network.inputs):
        raise ShapeMismatch(f"inputs of length {inputs} for a network of {network.inputs}")
    if draft.first_width not in (None, network.inputs):
        raise ShapeMismatch(f"a view as rows of {draft.first_width} for a network of {network.inputs} inputs")
    values = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    reading = Reading(network, tuple(draft.sources), {name: own.detach() for name, own in values.items()})
    check_against_module(reading, module, chain, shape)
    return reading


@dataclass
class _Draft:
    """A network in the making.

    Attributes:
        shape: of the values so far; None where it is unknown.
        order: the names of the module's parameters, as it holds them.
        layers: the layers so far.
        sources: where their parameters come from.
        used: the parameters that belong to some layer already.
        first_width: the width that a view before the first layer asks for.
    """

    shape: tuple[int, ...] | None
    order: Sequence[str]
    layers: list[Layer] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    used: set[int] = field(default_factory=set)
    first_width: int | None = None

    @property
    def place(self) -> int:
        """Where the first of its parameters stands among the module's; behind all, if it has none."""
        named = [name for source in self.sources for name in source.parameters]
        return min([self.order.index(name) for name in named], default=len(self.order))

    def take(self, step: Step | Addition) -> None:
        """Take in one more step; one that is not supported raises, and is named."""
        if isinstance(step, Addition):
            self._sum(step)
            return
        try:
            self._add(step)
        except UnsupportedLayer as error:
            place = step.name or "(the module itself)"
            raise UnsupportedLayer(
                f"layer {place} is a {qualified(type(step.module))}: {step.module}; {error} (and {ALSO})"
            ) from error

    def _sum(self, addition: Addition) -> None:
        """A residual addition; its body is the chain whose parameters the module holds first."""
        drafts = [_Draft(self.shape, self.order, used=self.used) for _ in addition.chains]
        for draft, chain in zip(drafts, addition.chains, strict=True):
            for step in chain:
                draft.take(step)
        body, shortcut = sorted(drafts, key=lambda own: (chain_inputs(own.layers) is None, own.place))
        if body.first_width is not None or shortcut.first_width is not None:
            raise UnsupportedLayer(f"the addition {addition.name}: a view at the beginning of what is added")
        try:
            layer = ResidualSum(tuple(body.layers), tuple(shortcut.layers))
        except UnsupportedLayer as error:
            raise UnsupportedLayer(f"the addition {addition.name}: {error}") from error
        self._append(layer, *body.sources, *shortcut.sources)

    def _add(self, step: Step) -> None:
        """Take in a module, as a layer, as a part of the layer before it, or as nothing."""
        module = step.module
        if isinstance(module, Rows) or type(module) in {nn.Flatten}:
            self._flatten(module)
        elif type(module) in NOTHING_IN_EVAL:
            if module.training and not isinstance(module, nn.Identity):
                raise UnsupportedLayer("it is in training mode: call .eval() first")
        elif type(module) in NORMALISED:
            self._claim(module)
            norm = BatchNorm.from_module(step.name, module)  # type: ignore[arg-type]
            self._normalise(norm, NORMALISED[type(module)])
        else:
            self._claim(module)
            layer = layer_of_module(module, self.shape)
            self._append(layer, Source(_entries(step, layer)))

    def _flatten(self, module: nn.Module) -> None:
        if isinstance(module, nn.Flatten) and (module.start_dim, module.end_dim) != (1, -1):
            raise UnsupportedLayer("supported is a Flatten of all axes but the first")
        width = getattr(module, "width", None)
        if width is not None and not self.layers:
            self.first_width = width
        elif width is not None and width != Network(tuple(self.layers)).outputs:
            raise UnsupportedLayer(f"{Network(tuple(self.layers)).outputs} values as rows of {width}")
        self.shape = self.shape and (math.prod(self.shape),)

    def _claim(self, module: nn.Module) -> None:
        """Parameters are used once, or the law of one would be that of two."""
        own = {id(parameter) for parameter in module.parameters()}
        if own & self.used:
            raise UnsupportedLayer("supported are modules whose parameters are used once")
        self.used |= own

    def _normalise(self, norm: BatchNorm, kind: type[Linear] | type[Conv2d]) -> None:
        """Fold a batch normalisation into the layer before it; without one it is a layer of its own.

        It is never folded into the layer after it: W (s∘y + t) + b has the bias b + W t, which depends on a
        random W, and the law of θ would not be diagonal.
        """
        before = self.layers[-1] if self.layers else None
        if kind is Conv2d:
            image_shape(self.shape)
        elif self.shape is not None and len(self.shape) != 1:
            raise UnsupportedLayer(f"inputs of shape {self.shape} need a Flatten before it")
        if not isinstance(before, kind):
            self._append(*self._unit(norm, kind))
        elif before.shapes[1] != (norm.width,):
            raise ShapeMismatch(f"{before} is followed by a batch normalisation of {norm.width}")
        self.sources[-1] = replace(self.sources[-1], norms=(*self.sources[-1].norms, norm))

    def _unit(self, norm: BatchNorm, kind: type[Linear] | type[Conv2d]) -> tuple[Layer, Source]:
        """A layer that changes nothing."""
        if kind is Conv2d:
            layer: Layer = Conv2d(image_shape(self.shape), norm.width, (1, 1), groups=norm.width)
            weight = torch.ones(layer.shapes[0], dtype=torch.float64)
        else:
            layer, weight = Linear(norm.width, norm.width), torch.eye(norm.width, dtype=torch.float64)
        return layer, Source((Entry(layer.shapes[0], fixed=weight), Entry((norm.width,))))

    def _append(self, layer: Layer, *sources: Source) -> None:
        self.layers.append(layer)
        self.sources += sources
        self.shape = self.shape and layer.output_shape(self.shape)


def _entries(step: Step, layer: Layer) -> tuple[Entry, ...]:
    """The parameters of a module as those of its layer; a module without a bias has the bias 0."""
    named = [(_join(step.name, name), tuple(own.shape)) for name, own in step.module.named_parameters()]
    entries = [Entry(shape, name) for name, shape in named]
    if getattr(step.module, "bias", 0) is None and len(entries) + 1 == len(layer.shapes):
        entries.append(Entry(layer.shapes[-1]))
    found = tuple(entry.shape for entry in entries)
    if found != layer.shapes:
        raise UnsupportedLayer(f"its parameters have the shapes {found}, not {layer.shapes}")
    return tuple(entries)


def _join(module: str, name: str) -> str:
    """The name of a parameter of a module; that of the module that is read itself is empty."""
    return f"{module}.{name}" if module else name
