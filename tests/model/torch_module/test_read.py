"""Modules of many forms are read with their weights, and the probe refuses what was misread."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parameters_to_vector

from fedcert.errors import ShapeMismatch, UnsupportedLayer
from fedcert.model.from_torch import from_torch
from fedcert.model.network import mlp
from fedcert.model.torch_module import read
from fedcert.model.torch_module.read import read_module


def trained(module: nn.Module, seed: int = 0) -> nn.Module:
    """The module in eval mode and double precision, with parameters and statistics that are not special."""
    generator = torch.Generator().manual_seed(seed)
    module = module.double().eval()
    for own in module.parameters():
        own.data = torch.randn(own.shape, generator=generator, dtype=torch.float64)
    for own in module.modules():
        if isinstance(own, nn.BatchNorm1d | nn.BatchNorm2d) and own.running_var is not None:
            own.running_var.copy_(torch.rand(own.num_features, generator=generator) + 0.1)
            own.running_mean.copy_(torch.randn(own.num_features, generator=generator))
    return module


MODULES = {
    "nested": lambda: nn.Sequential(
        nn.Sequential(nn.Linear(4, 3), nn.ReLU()), nn.Sequential(nn.Linear(3, 2))
    ),
    "one layer": lambda: nn.Linear(4, 2),
    "no bias": lambda: nn.Sequential(nn.Linear(4, 3, bias=False), nn.ReLU(), nn.Linear(3, 2)),
    "no bias at all": lambda: nn.Sequential(nn.Linear(4, 3, bias=False), nn.ReLU(), nn.Linear(3, 2, False)),
    "nothing": lambda: nn.Sequential(
        nn.Identity(), nn.Linear(4, 3), nn.Dropout(), nn.ReLU(), nn.AlphaDropout()
    ),
    "norm": lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 2)),
    "norm, no bias": lambda: nn.Sequential(nn.Linear(4, 3, bias=False), nn.BatchNorm1d(3), nn.ReLU()),
    "plain norm": lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, affine=False, eps=0.1), nn.ReLU()),
    "two norms": lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Dropout(), nn.BatchNorm1d(3)),
    "norm first": lambda: nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2)),
    "norm after": lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.BatchNorm1d(3), nn.Linear(3, 2)),
}


IMAGES = {
    "digits": lambda: nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 2, stride=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(24, 3),
    ),
    "means": lambda: nn.Sequential(
        nn.Conv2d(1, 4, 3, bias=False), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(36, 3)
    ),
    "no flatten": lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.Sigmoid(), nn.AdaptiveAvgPool2d(1)),
    "norm": lambda: nn.Sequential(
        nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 1, 1)
    ),
    "grouped norm": lambda: nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.Conv2d(4, 4, 3, groups=2), nn.BatchNorm2d(4)
    ),
    "norm first": lambda: nn.Sequential(
        nn.BatchNorm2d(1), nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2, affine=False)
    ),
    "norm after": lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.BatchNorm2d(2), nn.MaxPool2d(2)),
    "norm of rows": lambda: nn.Sequential(
        nn.Conv2d(1, 2, 3, stride=3), nn.Flatten(), nn.BatchNorm1d(8), nn.Linear(8, 2)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IMAGES)
def test_network_and_weights_compute_what_a_module_on_images_does(name: str) -> None:
    module = trained(IMAGES[name]())
    reading = read_module(module, (1, 8, 8))
    x = torch.randn(5, 64, dtype=torch.float64)
    found, expected = reading.network(reading.theta, x), module(x.view(5, 1, 8, 8)).detach()
    torch.testing.assert_close(found, expected.flatten(1))


def test_a_norm_of_channels_is_folded_or_a_layer_of_its_own() -> None:
    layers = {
        name: [own.name for own in from_torch(trained(IMAGES[name]()), (1, 8, 8)).layers] for name in IMAGES
    }
    assert layers["norm"] == ["conv2d", "relu", "conv2d"]
    assert layers["norm first"] == ["conv2d", "conv2d"]
    assert layers["norm after"] == ["conv2d", "relu", "conv2d", "max-pool2d"]
    assert layers["norm of rows"] == ["conv2d", "linear", "linear"]
    with pytest.raises(ShapeMismatch, match="batch normalisation of 3"):
        from_torch(nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(3)).eval(), (1, 2, 2))


class Functional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.out = nn.Conv2d(1, 2, 3), nn.Linear(2 * 3 * 3, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.max_pool2d(torch.tanh(self.conv(x)), 2)
        x = functional.avg_pool2d(x, 1, stride=1).sigmoid()
        return self.out(functional.adaptive_avg_pool2d(x, 3).view(x.size(0), -1))


def test_functions_on_images_are_read() -> None:
    layers = from_torch(Functional(), (1, 8, 8)).layers
    names = ["conv2d", "tanh", "max-pool2d", "avg-pool2d", "sigmoid", "avg-pool2d", "linear"]
    assert [own.name for own in layers] == names


@pytest.mark.parametrize("name", MODULES)
def test_network_and_weights_compute_what_the_module_does(name: str) -> None:
    module = trained(MODULES[name]())
    reading = read_module(module)
    x = torch.randn(9, 4, dtype=torch.float64)
    torch.testing.assert_close(reading.network(reading.theta, x), module(x).detach())


def test_theta_is_torchs_own_vector_where_nothing_is_folded() -> None:
    module = trained(MODULES["nested"]())
    assert torch.equal(read_module(module).theta, parameters_to_vector(module.parameters()).detach())
    assert from_torch(module) == mlp(4, 3, 2)


def test_a_norm_without_a_linear_layer_before_it_is_a_layer_of_its_own() -> None:
    """Folded into the layer after it, it would make that layer's bias depend on its random weights."""
    assert [layer.name for layer in from_torch(trained(MODULES["norm after"]())).layers] == [
        "linear", "relu", "linear", "linear",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (nn.Sequential(nn.Linear(2, 2), nn.Dropout()), r"layer 1 .*Dropout.*call \.eval\(\)"),
        (nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)), r"layer 1 .*BatchNorm1d.*call \.eval\(\)"),
        (nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2, track_running_stats=False)).eval(), "each batch"),
        (nn.Sequential(nn.Linear(2, 2), nn.BatchNorm2d(2)).eval(), "channels, height and width"),
        (nn.Sequential(nn.Flatten(0), nn.Linear(2, 2)), "all axes but the first"),
        (nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.GELU())), r"layer 0\.1 is a torch\..*GELU"),
        (nn.Conv1d(1, 1, 1), "Conv1d"),
        (
            nn.Sequential(nn.LogSoftmax(dim=1)),
            "LogSoftmax.*must return logits: leave the softmax to the loss",
        ),
        (nn.Sequential(nn.Linear(2, 2), nn.Softmax(1)), "layer 1 is a .*Softmax.*must return logits"),
    ],
)
def test_what_is_not_supported_is_named_with_what_is(module: nn.Module, words: str) -> None:
    with pytest.raises(UnsupportedLayer, match=words):
        from_torch(module)


def test_widths_that_do_not_fit_a_norm_are_refused() -> None:
    with pytest.raises(ShapeMismatch, match="batch normalisation of 3"):
        from_torch(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(3)).eval())


def test_a_norm_that_is_used_twice_is_refused() -> None:
    norm = nn.BatchNorm1d(2)
    with pytest.raises(UnsupportedLayer, match="used once"):
        from_torch(nn.Sequential(nn.Linear(2, 2), norm, nn.ReLU(), nn.Linear(2, 2), norm).eval())


def test_modules_of_single_precision_are_compared_in_double() -> None:
    module = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    before = [own.clone() for own in module.parameters()]
    assert read_module(module).theta.dtype == torch.float64
    assert all(torch.equal(own, was) for own, was in zip(module.parameters(), before, strict=True))


class Sometimes(nn.Module):
    """Computes something else when it is traced."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        return -self.layer(x) if isinstance(x, Tensor) else self.layer(x)


def test_a_forward_that_notices_the_trace_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnsupportedLayer, match="something else than the layers that were read"):
        from_torch(Sometimes())
    monkeypatch.setattr(read, "check_against_module", lambda *arguments: None)
    assert from_torch(Sometimes()) == mlp(2, 2)


class Images(nn.Module):
    """Refuses rows of numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x.reshape(x.size(0), -1).flatten(1)) if not isinstance(x, Tensor) else self._run(x)

    def _run(self, x: Tensor) -> Tensor:
        if x.dim() != 3:
            raise ValueError("images, please")
        return self.layer(x.flatten(1))


def test_a_module_that_cannot_be_run_asks_for_the_shape_of_its_inputs() -> None:
    with pytest.raises(UnsupportedLayer, match=r"images, please.*give the shape of one input"):
        from_torch(Images())
    assert from_torch(Images(), (2, 3)) == mlp(6, 2)
