"""A forward is read as the chain that it is, and anything else is refused by its name."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from fedcert.errors import ShapeMismatch, UnsupportedLayer
from fedcert.model.from_torch import from_torch
from fedcert.model.layers import Linear, ReLU, ResidualSum
from fedcert.model.network import mlp
from fedcert.model.torch_module.residual import Residual
from fedcert.model.torch_module.trace import steps_of


class Own(nn.Module):
    """Two layers, and a forward that a test gives."""

    def __init__(self, forward: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.fc1, self.fc2, self.act, self.drop = nn.Linear(4, 3), nn.Linear(3, 2), nn.ReLU(), nn.Dropout()
        self.scale = nn.Parameter(torch.ones(()))
        self.calculate = (forward,)  # in a tuple, so that it is no method

    def forward(self, x: Tensor, extra: float = 1.0) -> Any:
        return self.calculate[0](self, x)


@pytest.mark.parametrize(
    "forward",
    [
        lambda m, x: m.fc2(m.act(m.fc1(x))),
        lambda m, x: m.fc2(functional.relu(m.fc1(x), inplace=True)),
        lambda m, x: m.fc2(torch.relu(m.fc1(x.flatten(1)))),
        lambda m, x: m.fc2(m.fc1(torch.flatten(x, 1)).relu()),
        lambda m, x: m.fc2(m.drop(m.act(m.fc1(x.view(x.size(0), -1))))),
        lambda m, x: m.fc2(m.act(m.fc1(x.view((x.shape[0], -1))))),
        lambda m, x: m.fc2(m.act(m.fc1(x.reshape(-1, 4)))),
        lambda m, x: m.fc2(m.act(m.fc1(x)).view(-1, 3)),
        lambda m, x: m.fc2(functional.dropout(m.act(m.fc1(x)), 0.3, m.training)),
        lambda m, x: m.fc2(m.drop(m.act(m.fc1(x)))) if not m.training else m.fc1(x),
    ],
)
def test_a_forward_that_is_a_chain_is_read(forward: Callable[[Any, Any], Any]) -> None:
    assert from_torch(Own(forward).eval()) == mlp(4, 3, 2)


@pytest.mark.parametrize(
    ("forward", "words"),
    [
        (lambda m, x: m.fc2(torch.sin(m.fc1(x))), "torch.sin.*supported are the functions relu"),
        (lambda m, x: m.fc2(torch.sin(m.fc1(x))), "adaptive_avg_pool2d.*view or reshape as rows"),
        (lambda m, x: functional.softmax(m.fc1(x), 1), "softmax: the network must return logits: leave the"),
        (lambda m, x: functional.log_softmax(m.fc1(x), -1), "log_softmax: the network must return logits"),
        (lambda m, x: m.fc1(x).softmax(1), "Tensor.softmax: the network must return logits"),
        (lambda m, x: m.fc2(m.fc1(x).exp()), "torch.Tensor.exp"),
        (lambda m, x: m.fc2(m.act(m.fc1(x))) * 2, "_operator.mul"),
        (lambda m, x: m.fc2(m.act(m.fc1(x)) * m.scale), r"no chain .*the parameter module\.scale"),
        (lambda m, x: m.act(m.fc1(x)) * m.fc1(x), "no chain of modules"),
        (lambda m, x: (m.fc2(m.act(m.fc1(x))), x), "returns something else"),
        (lambda m, x: [m.fc2(m.act(m.fc1(x))), m.fc2(x)][0], "no chain of modules at module_fc2"),
        (lambda m, x: [m.fc2(m.act(m.fc1(x))), x.add_(1.0)][0], r"a call of torch\.Tensor\.add_"),
        (lambda m, x: m.fc2(m.act(m.fc1(x))) if x.sum() > 0 else m.fc1(x), "cannot be traced.*chain="),
        (lambda m, x: m.fc2(m.act(m.fc1(x))).view(-1, 4), "2 values as rows of 4"),
        (lambda m, x: m.fc2(m.act(m.fc1(x.view(-1, 2, 2)))), r"a view of shape \(-1, 2, 2\)"),
        (lambda m, x: m.fc2(m.act(m.fc1(x.flatten()))), "Flatten of all axes but the first"),
        (lambda m, x: m.fc2(m.fc1(x).relu(2, 3)), "Tensor.relu with arguments unknown here"),
        (lambda m, x: m.fc2(functional.linear(m.fc1(x), m.fc2.weight.T)), "no chain of modules"),
        (lambda m, x: m.fc2(functional.dropout(m.fc1(x))), "training mode"),
    ],
)
def test_a_forward_that_is_none_is_refused_where_it_goes_astray(
    forward: Callable[[Any, Any], Any], words: str
) -> None:
    with pytest.raises(UnsupportedLayer, match=words):
        from_torch(Own(forward).eval())


def test_a_chain_may_be_described() -> None:
    def branching(m: Any, x: Tensor) -> Any:
        return (m.fc2(torch.relu(m.fc1(x))), x) if x.dim() == 2 else None

    module = Own(branching)
    with pytest.raises(UnsupportedLayer, match="cannot be traced"):
        from_torch(module)
    steps = steps_of(module, ["fc1", nn.ReLU(), "fc2"])
    assert [step.name.split(".")[-1] for step in steps] == ["fc1", "0", "fc2"]
    assert from_torch(module, chain=["fc1", nn.ReLU(), "fc2"]) == mlp(4, 3, 2)


@pytest.mark.parametrize(
    ("chain", "words"),
    [
        (["fc1", nn.ReLU(), "fc3"], "no submodule 'fc3'; there are fc1, fc2"),
        (["fc1", nn.ReLU(), nn.Linear(3, 2)], "given by its name"),
        (["fc1", nn.LeakyReLU(0.1), "fc2"], "LeakyReLU|something else"),
        (["fc1", "fc2"], "something else.*correct the chain"),
        (["fc1"], "outputs of shape.*correct the chain"),
    ],
)
def test_a_description_that_is_wrong_is_refused(chain: Any, words: str) -> None:
    with pytest.raises(UnsupportedLayer, match=words):
        from_torch(Own(lambda m, x: m.fc2(m.act(m.fc1(x)))), chain=chain)


def test_functions_keep_their_settings() -> None:
    module = Own(lambda m, x: functional.leaky_relu(m.fc1(functional.dropout(x, training=False)), 0.2))
    first, _, last = steps_of(module)
    assert not first.module.training
    assert isinstance(last.module, nn.LeakyReLU)
    assert last.module.negative_slope == 0.2


def test_submodules_without_a_forward_can_be_described() -> None:
    parts = nn.ModuleDict({"out": nn.Linear(3, 2), "in": nn.Sequential(nn.Linear(4, 3), nn.ReLU())})
    assert from_torch(parts, chain=["in", "out"]) == mlp(4, 3, 2)
    with pytest.raises(UnsupportedLayer, match="ModuleDict"):
        from_torch(parts)


def test_hooks_on_all_modules_are_refused() -> None:
    handle = nn.modules.module.register_module_forward_hook(lambda module, inputs, output: -output)
    try:
        with pytest.raises(UnsupportedLayer, match="without hooks"):
            from_torch(nn.Sequential(nn.Linear(2, 2)))
    finally:
        handle.remove()


def test_a_hook_on_the_module_itself_is_refused() -> None:
    module = nn.Sequential(nn.Linear(2, 2))
    module.register_forward_pre_hook(lambda own, inputs: None)
    with pytest.raises(UnsupportedLayer, match=r"\(the module itself\).*without hooks"):
        from_torch(module)


class Block(nn.Module):
    """As people write it: normalised, with a shortcut where the width changes."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += identity
        return self.relu(out)


def test_blocks_of_a_residual_network_are_read() -> None:
    module = nn.Sequential(Block(1, 2), Block(2, 2), nn.Flatten(), nn.Linear(8, 2)).eval()
    network = from_torch(module, (1, 2, 2))
    assert [type(layer).__name__ for layer in network.layers] == [
        "ResidualSum", "ReLU", "ResidualSum", "ReLU", "Linear",
    ]  # fmt: skip
    first, second = network.layers[0], network.layers[2]
    assert isinstance(first, ResidualSum)
    assert isinstance(second, ResidualSum)
    assert (len(first.body), len(first.shortcut)) == (
        3,
        1,
    )  # as the block holds them, not as it computes them
    assert (len(second.body), len(second.shortcut)) == (3, 0)


@pytest.mark.parametrize(
    "forward",
    [
        lambda m, x: m.sq(m.act(x)) + x,
        lambda m, x: x + m.sq(m.act(x)),
        lambda m, x: torch.add(m.sq(m.act(x)), x),
        lambda m, x: m.sq(m.act(x)).add(x),
    ],
)
def test_an_addition_is_read_however_it_is_written(forward: Callable) -> None:
    module = Own(lambda m, x: m.fc2(m.fc1(forward(m, x))))
    module.sq = nn.Linear(4, 4)
    network = from_torch(module)
    assert network.layers[0] == ResidualSum((ReLU(), Linear(4, 4)))


@pytest.mark.parametrize(
    ("forward", "words"),
    [
        (lambda m, x: m.fc2(m.fc1(x) + m.fc1(x)), "used once"),
        (lambda m, x: m.fc2(m.fc1(x + x)), "a body with a layer such as Linear"),
        (lambda m, x: m.fc2(m.fc1(x) + 1.0), "a call of _operator.add"),
        (lambda m, x: [m.fc2(m.fc1(x)), m.act(x) + x][0], "no chain of modules at module_act"),
        (lambda m, x: m.fc2(torch.add(m.fc1(x), m.fc1(x), alpha=2.0)), "no chain of modules at add"),
        (lambda m, x: m.fc2(m.fc1(x) - m.act(m.fc1(x))), r"no chain of modules.*fedcert\.Residual\(body"),
        (lambda m, x: m.fc2(m.act(m.fc1(x).relu_()) + m.fc1(x)), "used once|relu_"),
    ],
)
def test_another_combination_is_refused_with_the_way_to_write_it(forward: Callable, words: str) -> None:
    with pytest.raises((UnsupportedLayer, ShapeMismatch), match=words):
        from_torch(Own(forward))


def test_a_body_that_changes_its_input_in_place_is_refused() -> None:
    """x + conv(relu_(x)) adds relu(x), which the graph does not say: outputs are compared."""
    body = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 4))
    with pytest.raises(UnsupportedLayer, match="something else"):
        from_torch(nn.Sequential(nn.Linear(4, 4), Residual(body)))
