from dataclasses import dataclass

import pytest
from torch import nn

from fedcert.errors import UnsupportedLayer
from fedcert.model.from_torch import from_torch
from fedcert.model.layers import Linear, ReLU, Rising, register_layer
from fedcert.model.layers.registry import (
    layer_of_module,
    qualified,
    read_layer,
    registered_layers,
    require_registered,
)

pytestmark = pytest.mark.usefixtures("forget_layers")


@dataclass(frozen=True)
class Identity(ReLU):
    """A subclass that computes something else, and says so."""

    name = "identity"
    modules = (nn.Identity,)

    def __call__(self, parameters, x):
        return x


def test_a_subclass_is_refused_until_it_is_registered() -> None:
    with pytest.raises(UnsupportedLayer, match=r"test_registry\.Identity .*Linear.*ReLU"):
        require_registered(Identity())
    with pytest.raises(UnsupportedLayer, match=r"'identity': supported are .*linear, .*relu"):
        read_layer({"type": "identity"})
    assert register_layer(Identity) is Identity
    require_registered(Identity())
    assert Identity in registered_layers()
    assert read_layer({"type": "identity"}) == Identity() != ReLU()
    assert read_layer({"type": "relu"}) == ReLU()


@pytest.mark.parametrize("anything", [nn.ReLU(), 3, None, Linear])
def test_what_is_no_layer_is_refused(anything: object) -> None:
    with pytest.raises(UnsupportedLayer, match="not a registered layer"):
        require_registered(anything)


def test_a_taken_name_or_module_is_refused() -> None:
    @dataclass(frozen=True)
    class Named(ReLU):
        name = "linear"
        modules = ()

    @dataclass(frozen=True)
    class Reading(ReLU):
        name = "reading"
        modules = (nn.ReLU,)

    for layer, other in ((Named, "Linear"), (Reading, "ReLU")):
        with pytest.raises(
            ValueError, match=rf"{layer.__name__} has the name or a torch module of .*{other}"
        ):
            register_layer(layer)
    assert "reading" not in [layer.name for layer in registered_layers()]
    assert layer_of_module(nn.ReLU(), None) == ReLU()


def test_a_class_that_is_defined_again_replaces_the_one_before() -> None:
    def define() -> type:
        @register_layer
        @dataclass(frozen=True)
        class Again(ReLU):
            name = "again"
            modules = ()

        return Again

    first, second = define(), define()
    assert first is not second
    assert second in registered_layers()
    assert first not in registered_layers()
    with pytest.raises(UnsupportedLayer, match="Again"):
        require_registered(first())


def test_modules_are_read_by_their_own_class_alone() -> None:
    class Negation(nn.ReLU):
        pass

    assert layer_of_module(nn.Linear(3, 2), None) == Linear(3, 2)
    with pytest.raises(UnsupportedLayer, match=r"Negation: supported are .*Linear, .*ReLU"):
        layer_of_module(Negation(), None)


def test_full_names() -> None:
    assert qualified(Linear) == "fedcert.model.layers.linear.Linear"


def test_a_layer_that_does_not_say_how_its_module_is_read_is_told_what_to_write() -> None:
    @register_layer
    @dataclass(frozen=True)
    class Six(Rising):
        name = "six"
        modules = (nn.ReLU6,)
        __call__, interval, lines = ReLU.__call__, ReLU.interval, ReLU.lines

    with pytest.raises(
        UnsupportedLayer, match=r"Six names ReLU6 .*classmethod from_module\(cls, module, shape"
    ):
        from_torch(nn.Sequential(nn.Linear(2, 2), nn.ReLU6(), nn.Linear(2, 2)))


@pytest.mark.parametrize("module", [nn.Softmax(1), nn.LogSoftmax(1)])
def test_a_softmax_is_left_to_the_loss(module: nn.Module) -> None:
    with pytest.raises(UnsupportedLayer, match="must return logits: leave the softmax to the loss"):
        layer_of_module(module, None)
