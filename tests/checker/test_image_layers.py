"""The checker's layers on images compute what torch's do, weight by weight."""

import numpy as np
import pytest
import torch
from problems import normal
from saved_certificates import as_network
from torch import nn

from fedcert.model.from_torch import from_torch
from fedcert.randomness import stream
from fedcert_check.errors import InvalidCertificate
from fedcert_check.image_layers import AvgPool2d, Conv2d, Grid, MaxPool2d

MODULES = {
    "plain": (nn.Conv2d(1, 2, 3), (1, 5, 4)),
    "strided": (nn.Conv2d(2, 3, (2, 3), (2, 1), (1, 0)), (2, 5, 4)),
    "dilated": (nn.Conv2d(1, 2, 2, padding=(0, 2), dilation=(3, 2)), (1, 5, 4)),
    "grouped": (nn.Conv2d(4, 6, 2, groups=2), (4, 3, 3)),
    "depthwise": (nn.Conv2d(3, 3, 1, groups=3), (3, 2, 2)),
    "mean": (nn.AvgPool2d(2), (2, 4, 5)),
    "padded mean": (nn.AvgPool2d((3, 2), 1, 1), (2, 3, 4)),
    "maximum": (nn.MaxPool2d(2), (2, 4, 5)),
    "overlapping maximum": (nn.MaxPool2d(2, 1, dilation=(1, 2)), (2, 3, 4)),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_layer_computes_what_the_module_does(name: str) -> None:
    module, shape = MODULES[name]
    module, generator = module.double(), stream(0, name)
    first = nn.Conv2d(shape[0], shape[0], 1, groups=shape[0])  # so that some layer has parameters
    (_, layer) = as_network(from_torch(nn.Sequential(first, module), shape)).layers
    x = normal(generator, 6, int(np.prod(shape)))
    expected = module(x.unflatten(-1, shape)).flatten(1).detach().numpy()
    match layer:
        case Conv2d():
            weight, bias = (own.detach().numpy() for own in module.parameters())
            matrix, offset = layer.matrix(weight.ravel(), bias, 0.0)
            found = x.numpy() @ matrix.T + offset
        case AvgPool2d():
            found = x.numpy() @ layer.mask().T / np.prod(layer.grid.kernel)
        case MaxPool2d():
            found = x.numpy()[:, layer.windows()].max(-1)
    assert (layer.inputs, layer.outputs) == (x.shape[1], expected.shape[1])
    torch.testing.assert_close(torch.from_numpy(found), torch.from_numpy(expected))


def test_a_kernel_at_too_many_positions_is_refused_before_a_table_is_made() -> None:
    asked = {
        "image": [1, 1, 1],
        "kernel": [3000, 3000],
        "stride": [1, 1],
        "padding": [2999, 2999],
        "dilation": [1, 1],
    }
    with pytest.raises(InvalidCertificate, match="windows see 81000000000000 entries"):
        Grid.read(asked)
