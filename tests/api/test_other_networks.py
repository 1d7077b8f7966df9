"""Networks on images and with other activations, from torch modules to proofs by the checker."""

from pathlib import Path

import pytest
import torch
from problems import normal
from torch import nn

import fedcert
from fedcert.errors import UnsupportedLayer
from fedcert.model.torch_module.read import read_module
from fedcert.randomness import stream
from fedcert_check import check

SHAPE = (1, 4, 4)
MODULES = {
    "convolution": lambda: nn.Sequential(
        nn.Conv2d(1, 2, 2, stride=2), nn.ReLU(), nn.Conv2d(2, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(3, 2)
    ),
    "pooling": lambda: nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(2, 2),
    ),
    "tanh": lambda: nn.Sequential(nn.Flatten(), nn.Linear(16, 3), nn.Tanh(), nn.Linear(3, 2)),
    "sigmoid": lambda: nn.Sequential(nn.Flatten(), nn.Linear(16, 3), nn.Sigmoid(), nn.Linear(3, 2)),
    "residual": lambda: nn.Sequential(
        nn.Conv2d(1, 2, 2, stride=2), nn.ReLU(),
        fedcert.Residual(nn.Sequential(nn.Conv2d(2, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU())),
        fedcert.Residual(nn.Sequential(nn.ReLU(), nn.Conv2d(2, 3, 2, stride=2)), nn.Conv2d(2, 3, 2)),
        nn.Flatten(), nn.Linear(3, 2),
    ),
}  # fmt: skip


def certified(name: str, events: str) -> fedcert.Certification:
    torch.manual_seed(3)
    reading = read_module(MODULES[name]().eval(), SHAPE)
    loc = reading.theta
    clients = [(loc + 1e-3 * i, torch.full_like(loc, 1e-4)) for i in range(2)]
    x = normal(stream(0, name), 6, 16)
    y = reading.network(loc, x).argmax(-1)
    asked = fedcert.linf_robustness(x, y, 0.001, classes=2, domain=(-9.0, 9.0))
    return fedcert.certify(clients, "fedavg", reading.network, asked, events=events)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "events"),
    [*((name, events) for name in MODULES for events in ("box", "paper-box")), ("convolution", "projected")],
)
def test_what_is_certified_is_proved_again(name: str, events: str, tmp_path: Path) -> None:
    result = certified(name, events)
    assert result.lower.mean() > 0.5
    result.save(tmp_path)
    files = sorted((tmp_path / "certificates").glob("*.safetensors"))
    assert files
    for path in files:
        report = check(path)
        assert report.failures == ()
        assert report.verdict


def test_projected_events_refuse_residual_additions() -> None:
    with pytest.raises(UnsupportedLayer, match=r"projected events are not defined for ResidualSum\("):
        certified("residual", "projected")


@pytest.mark.parametrize("name", ["pooling", "tanh", "sigmoid"])
def test_projected_events_refuse_random_layers_before_other_functions(name: str) -> None:
    with pytest.raises(UnsupportedLayer, match="fixed layers"):
        certified(name, "projected")


def test_images_tell_a_module_their_shape() -> None:
    module = MODULES["convolution"]().eval()
    loc = read_module(module, SHAPE).theta
    clients = [(loc, torch.full_like(loc, 1e-5))]
    x = normal(stream(1, "images"), 3, *SHAPE).clamp(0, 1)
    y = module.double()(x).argmax(-1)
    result = fedcert.certify_classification(clients, module, x, y, epsilon=1e-4, events="box")
    assert result.lower.mean() > 0.5
    with pytest.raises(UnsupportedLayer, match="channels, height and width"):
        fedcert.certify_classification(clients, module, x.flatten(1), y, epsilon=1e-4, events="box")
