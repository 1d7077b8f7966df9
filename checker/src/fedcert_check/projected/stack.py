"""A network under a law, as projected events see it: fixed features, then affine layers and ReLUs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from flint import arb

from fedcert_check.balls import ONE, ZERO, Balls, lower, upper
from fedcert_check.errors import InvalidCertificate
from fedcert_check.image_layers import AvgPool2d, Conv2d, MaxPool2d
from fedcert_check.layers import Activation, LeakyReLU, Linear, Network, ReLU, Residual, Sigmoid, Tanh
from fedcert_check.projected.affine_part import first_random
from fedcert_check.projected.any_layer import Layer
from fedcert_check.projected.convolution import ConvLayer
from fedcert_check.projected.exact import Region
from fedcert_check.projected.layers import RandomLayer, Unproven, largest
from fedcert_check.validation import require

Feature = Layer | Activation | MaxPool2d
"""A fixed layer in front of the random ones."""
Build = Callable[[Linear | Conv2d, int], Layer]
"""A layer under the law, given where its parameters begin."""


@dataclass(frozen=True, eq=False)
class Stack:
    """Features, and the layers that read them.

    Attributes:
        features: fixed layers, of which a box of the outputs is used.
        layers: affine ones, the last among them.
        rectified: whether a ReLU follows each of them but the last.
    """

    features: Sequence[Feature]
    layers: Sequence[Layer]
    rectified: Sequence[bool]

    @property
    def dependent(self) -> bool:
        """Whether the first layer's law is not that of independent neurons behind ReLUs."""
        return not all(self.rectified) or any(not isinstance(layer, RandomLayer) for layer in self.layers)

    def region(self, asked: Region) -> Region:
        """The same constraints on a box of what the layers read.

        Args:
            asked: the property of the network.
        """
        if not self.features:
            return asked
        low, high = asked.centre - asked.radius, asked.centre + asked.radius
        for feature in self.features:
            low, high = image(feature, lower(low), upper(high))
            if not all(v.is_finite() for v in (*low, *high)):
                raise Unproven("a feature without a bound")
        centre = np.array([((a + b) / 2).mid() for a, b in zip(low, high, strict=True)], dtype=object)
        reach = [largest(b - c, c - a) for a, c, b in zip(low, centre, high, strict=True)]
        return replace(asked, centre=centre, radius=np.array(reach, dtype=object))


def stacked(network: Network, build: Build) -> Stack:
    """The stack of a network.

    Args:
        network: features end before the first layer from which on all are affine or ReLUs.
        build: a layer that has parameters, under the law.
    """
    require(isinstance(network.layers[-1], Linear | Conv2d | AvgPool2d), "the last layer is not affine")
    found: list[Feature | ReLU] = []
    start = 0
    for layer in network.layers:
        match layer:
            case Linear() | Conv2d():
                found.append(build(layer, start))
                start += sum(layer.sizes)
            case AvgPool2d():
                found.append(ConvLayer.mean_pool(layer))
            case Residual():
                raise InvalidCertificate("projected events are not defined for residual layers")
            case _:
                found.append(layer)
    first = first_random(network)
    features, rest = found[:first], found[first:]
    for feature in features:
        fixed = isinstance(feature, Activation | MaxPool2d) or feature.fixed
        require(fixed, "projected events need fixed layers before one that is neither affine nor a ReLU")
    layers = [layer for layer in rest if not isinstance(layer, Activation | MaxPool2d)]
    after = [isinstance(layer, ReLU) for layer in rest[1:]]
    rectified = [relu for layer, relu in zip(rest, after, strict=False) if not isinstance(layer, ReLU)]
    return Stack(features, layers, rectified)


def image(feature: Feature, low: Balls, high: Balls) -> tuple[Balls, Balls]:
    """Bounds of the outputs of a fixed layer, for inputs between two exact ends.

    Args:
        feature: the layer.
        low: lower ends of the inputs.
        high: upper ends.
    """
    match feature:
        case ReLU():
            return _each(_rectified, low), _each(_rectified, high)
        case LeakyReLU():
            return _each(_leaky(arb(feature.slope)), low), _each(_leaky(arb(feature.slope)), high)
        case Tanh():
            return _each(lambda v: v.tanh(), low), _each(lambda v: v.tanh(), high)
        case Sigmoid():
            return _each(_logistic, low), _each(_logistic, high)
        case MaxPool2d():
            windows = feature.windows()
            return _greatest(low[windows]), _greatest(high[windows])
        case ConvLayer() | RandomLayer():
            return _affine(feature, low, high)
        case _:
            raise Unproven(f"a feature of {type(feature).__name__}")


def _affine(feature: ConvLayer | RandomLayer, low: Balls, high: Balls) -> tuple[Balls, Balls]:
    """M c + m ± |M| r."""
    centre = (low + high) / 2
    middle, reach = feature.mean_at(centre), feature.reach(upper(high - centre))
    return middle - reach, middle + reach


def _each(function: Callable[[arb], arb], balls: Balls) -> Balls:
    return np.array([function(v) for v in balls.tolist()], dtype=object)


def _rectified(v: arb) -> arb:
    return v if v > 0 else ZERO


def _leaky(slope: arb) -> Callable[[arb], arb]:
    return lambda v: v if v >= 0 else slope * v


def _logistic(v: arb) -> arb:
    """1/(1 + e^(−v))."""
    return ONE / (ONE + (-v).exp())


def _greatest(windows: Balls) -> Balls:
    return np.array([max(row) for row in windows.tolist()], dtype=object)
