"""The name that a run gives its network: mlp:64,64 or cnn:8,16/32."""

from fedcert_check.image_layers import Conv2d
from fedcert_check.layers import Linear, Network, ReLU


def dense_widths(network: Network) -> list[int]:
    """The widths of the fully connected hidden layers.

    Args:
        network: of a certificate.
    """
    return [layer.outputs for layer in network.leaves if isinstance(layer, Linear)][:-1]


def network_name(network: Network) -> str | None:
    """The name of a network, if it has one: of other layers, or convolutions of other sizes, it has none.

    Layers with parameters take turns with ReLUs. Convolutions come before fully connected layers, and have
    kernels of 4 × 4 with the stride 2 and the padding 1.

    Args:
        network: of a certificate.
    """
    weighted, between = network.layers[::2], network.layers[1::2]
    first = [layer for layer in weighted if isinstance(layer, Conv2d)]
    dense = [layer for layer in weighted[len(first) :] if isinstance(layer, Linear)]
    complete = len(first) + len(dense) == len(weighted) == len(between) + 1 and len(dense) > 0
    if not complete or not all(isinstance(layer, ReLU) for layer in between):
        return None
    if not all(_halves(layer) for layer in first):
        return None
    hidden = ",".join(map(str, dense_widths(network)))
    if not first:
        return f"mlp:{hidden}"
    return f"cnn:{','.join(str(layer.filters) for layer in first)}" + (f"/{hidden}" if hidden else "")


def _halves(layer: Conv2d) -> bool:
    grid = layer.grid
    sizes = (grid.kernel, grid.stride, grid.padding, grid.dilation)
    return sizes == ((4, 4), (2, 2), (1, 1), (1, 1)) and layer.groups == 1
