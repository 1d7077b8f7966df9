"""The convolution of an image."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from fedcert.errors import ShapeMismatch, UnsupportedLayer
from fedcert.model.layers.linear import shifted
from fedcert.model.layers.registry import register_layer
from fedcert.model.layers.windows import Pair, Windows
from fedcert.numerics.backward import LinearBound, LooseBound
from fedcert.numerics.interval import Bounds, affine
from fedcert.numerics.rounding import down, rounding_error


@register_layer
@dataclass(frozen=True)
class Conv2d:
    """y_(o, l) = Σ_k W_ok x_window(l, k) + b_o with parameters (W, b), in torch's order and layout.

    A product of the kernel with what every window sees: an ordinary product of matrices, in which each number
    is a sum of K products. Other algorithms for convolutions (Winograd, Fourier) keep no such error bound.

    Attributes:
        image: channels, height and width of the input, which is one flat vector.
        filters: the number of output channels.
        kernel: height and width.
        stride: between positions of the kernel.
        padding: rows and columns of zeros on either side.
        dilation: between pixels that the kernel sees.
        groups: of channels; a filter sees those of one group.

    Examples:
        >>> layer = Conv2d((1, 28, 28), 8, (3, 3), stride=(2, 2), padding=(1, 1))
        >>> layer.shapes, layer.output_shape((784,))
        (((8, 1, 3, 3), (8,)), (8, 14, 14))
    """

    image: tuple[int, int, int]
    filters: int
    kernel: Pair
    stride: Pair = (1, 1)
    padding: Pair = (0, 0)
    dilation: Pair = (1, 1)
    groups: int = 1
    name: ClassVar[str] = "conv2d"
    modules: ClassVar[tuple[type[nn.Module], ...]] = (nn.Conv2d,)
    nonlinear: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.filters, int) or self.filters < 1 or self.filters % self.windows.groups:
            raise ShapeMismatch(f"{self.filters!r} filters for {self.groups} groups of channels")

    @cached_property
    def windows(self) -> Windows:
        """What each position of the kernel sees."""
        return Windows(self.image, self.kernel, self.stride, self.padding, self.dilation, self.groups)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of W and b."""
        return ((self.filters, self.image[0] // self.groups, *self.kernel), (self.filters,))

    @property
    def inputs(self) -> int:
        """The number of pixels, of all channels."""
        return self.windows.pixels

    def output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """An image with a channel for each filter."""
        return (self.filters, *self.windows.positions)

    def unrolled(self, parameters: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """The matrix of all neurons: the kernel at every position, and zeros; exact."""
        weight, _ = self.by_group(*parameters)
        table = self.windows.pixel_table(weight.device).unsqueeze(-3)
        places = table.shape[-2]
        kernels = weight.unsqueeze(-2).expand(*weight.shape[:-1], places, -1)
        rows = weight.new_zeros(*kernels.shape[:-1], self.inputs + 1)
        rows = rows.scatter(-1, table.expand(kernels.shape), kernels)[..., :-1]
        return rows.flatten(-4, -2), parameters[1].repeat_interleave(places, -1)

    def __call__(
        self, parameters: Sequence[Tensor], x: Float[Tensor, "*xbatch n inputs"]
    ) -> Float[Tensor, "*batch n outputs"]:
        """The convolution for every parameter vector of the batch."""
        weight, bias = self.by_group(*parameters)
        return self._images(self._rows(x) @ weight.mT + bias.unsqueeze(-2), x.shape[-2])

    def initialise(self, generator: torch.Generator) -> Float[Tensor, "size"]:
        """Draw parameters as torch.nn.Conv2d does: uniform on ±1/√K for the K inputs of a neuron."""
        size = sum(math.prod(shape) for shape in self.shapes)
        return (2 * torch.rand(size, generator=generator) - 1) * (
            1 / math.sqrt(math.prod(self.shapes[0][1:]))
        )

    def interval(self, parameters: Sequence[Bounds], x: Bounds) -> Bounds:
        """Exact scalar products, added up over each window and rounded outward."""
        weight, bias = self._bounds_by_group(parameters)
        y = affine(weight, bias, Bounds(self._rows(x.lower), self._rows(x.upper)))
        return Bounds(*(self._images(end, x.lower.shape[-2]) for end in y))

    def backward(
        self, parameters: Sequence[Bounds], x: Bounds, bound: LinearBound
    ) -> LinearBound | LooseBound:
        """As a fully connected layer: what all windows say of a pixel is added up.

        Where all x ≥ 0 the least coefficients give the least value, and are all that is needed.
        """
        weight, _ = self._bounds_by_group(parameters)
        places = math.prod(self.windows.positions)
        bias = Bounds(*(end.repeat_interleave(places, -1) for end in parameters[1]))
        constant, magnitude, roundings = shifted(bound, bias)
        rows = bound.coefficients
        positive, negative = rows.clamp(min=0.0), rows.clamp(max=0.0)
        lower = self._least_product(positive, negative, weight)
        if (x.lower >= 0).all():
            return LinearBound(lower, constant, magnitude, roundings)
        upper = -self._least_product(-negative, -positive, weight)
        return LooseBound(Bounds(lower, upper), constant, magnitude, roundings)

    def points(
        self,
        parameters: Sequence[Tensor],
        centre: Float[Tensor, "*xbatch P inputs"],
        radius: Float[Tensor, "*xbatch P inputs"],
    ) -> tuple[Float[Tensor, "*batch P outputs"], Float[Tensor, "*batch P outputs"]]:
        """W c + b ± |W| r."""
        weight, bias = parameters
        return self(parameters, centre), self((weight.abs(), torch.zeros_like(bias)), radius)

    def describe(self) -> dict[str, Any]:
        """Its fields.

        >>> Conv2d((1, 4, 4), 2, (3, 3)).describe()["kernel"]
        [3, 3]
        """
        fields = asdict(self).items()
        return {"type": self.name} | {
            key: list(own) if isinstance(own, tuple) else own for key, own in fields
        }

    @classmethod
    def from_description(cls, fields: Mapping[str, Any]) -> "Conv2d":
        """The layer with these fields."""
        own: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in fields.items()}
        return cls(**own)

    @classmethod
    def from_module(cls, module: nn.Conv2d, shape: tuple[int, ...] | None) -> "Conv2d":
        """Read a torch.nn.Conv2d that pads with zeros; one without a bias has the bias 0.

        Args:
            module: the torch module.
            shape: channels, height and width of one input.
        """
        if [name for name, _ in module.named_parameters()] not in (["weight", "bias"], ["weight"]):
            raise UnsupportedLayer("a Conv2d has a weight, a bias or none, and no other parameters")
        if module.padding_mode != "zeros":
            raise UnsupportedLayer(f"it pads by {module.padding_mode!r}: supported are zeros")
        image = image_shape(shape)
        if image[0] != module.in_channels:
            raise ShapeMismatch(f"an image of {image[0]} channels for a Conv2d of {module.in_channels}")
        kernel, dilation = pair(module.kernel_size), pair(module.dilation)
        padding = _padding(module.padding, kernel, dilation)
        return cls(image, module.out_channels, kernel, pair(module.stride), padding, dilation, module.groups)

    def by_group(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """W as (*batch, G, filters of a group, K), b as (*batch, G, filters of a group).

        Args:
            weight: W.
            bias: b.
        """
        return weight.flatten(-3).unflatten(-2, (self.groups, -1)), bias.unflatten(-1, (self.groups, -1))

    def _bounds_by_group(self, parameters: Sequence[Bounds]) -> tuple[Bounds, Bounds]:
        ends = [self.by_group(*own) for own in zip(*parameters, strict=True)]
        weight, bias = (Bounds(*own) for own in zip(*ends, strict=True))
        return weight, bias

    def _rows(self, x: Float[Tensor, "*xbatch n inputs"]) -> Float[Tensor, "*xbatch G nL K"]:
        """What the windows of n images see, group by group."""
        return self.windows.gather(x).movedim(-3, -4).flatten(-3, -2)

    def _images(self, y: Float[Tensor, "*batch G nL o"], n: int) -> Float[Tensor, "*batch n outputs"]:
        """Channels of the groups, one after the other, each with its positions."""
        each: Tensor = y.unflatten(-2, (n, -1))
        return each.movedim(-3, -4).mT.flatten(-3)

    def _least_product(
        self, positive: Float64[Tensor, "B P R m"], negative: Float64[Tensor, "B P R m"], weight: Bounds
    ) -> Float64[Tensor, "B P R k"]:
        """The least of A W over a weight box, A⁺W̲ + A⁻W̄, rounded down."""
        lower, upper = weight
        pos, neg = self._by_position(positive), self._by_position(negative)
        count, rows = positive.shape[1:3]
        value = self._onto_pixels(pos @ lower + neg @ upper, count, rows)
        magnitude = self._onto_pixels((pos - neg) @ torch.maximum(lower.abs(), upper.abs()), count, rows)
        error = rounding_error(2 * lower.shape[-2] + self.windows.overlap + 4, magnitude)
        return down(value - error)

    def _by_position(self, rows: Float64[Tensor, "B P R m"]) -> Float64[Tensor, "B G PRL o"]:
        places = math.prod(self.windows.positions)
        each: Tensor = rows.unflatten(-1, (self.groups, -1, places))
        return each.movedim(-3, 1).mT.flatten(2, 4)

    def _onto_pixels(
        self, seen: Float64[Tensor, "B G PRL K"], count: int, rows: int
    ) -> Float64[Tensor, "B P R k"]:
        return self.windows.scatter(seen.unflatten(2, (count, rows, -1)).movedim(1, 3))


def image_shape(shape: tuple[int, ...] | None) -> tuple[int, int, int]:
    """Channels, height and width, if that is what a shape has.

    Args:
        shape: of one input.
    """
    if shape is None or len(shape) != 3:
        raise UnsupportedLayer(
            f"inputs of shape {shape}: give channels, height and width of one input as `shape`, such as"
            " from_torch(module, shape=(1, 28, 28))"
        )
    channels, height, width = shape
    return channels, height, width


def pair(sizes: int | tuple[int, ...]) -> Pair:
    """A size in both directions, as torch modules have it.

    >>> pair(3), pair((1, 2))
    ((3, 3), (1, 2))
    """
    both = (sizes, sizes) if isinstance(sizes, int) else tuple(sizes)
    down_, right = both
    return down_, right


def _padding(padding: str | int | tuple[int, ...], kernel: Pair, dilation: Pair) -> Pair:
    """The zeros on either side; "same" needs as many on both."""
    if not isinstance(padding, str):
        return pair(padding)
    total = [d * (k - 1) if padding == "same" else 0 for k, d in zip(kernel, dilation, strict=True)]
    if any(n % 2 for n in total):
        raise UnsupportedLayer("padding='same' with a kernel of even size: give the padding as a number")
    return pair(tuple(n // 2 for n in total))
