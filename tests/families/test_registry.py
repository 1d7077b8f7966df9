import pytest

from fedcert.errors import InvalidConfig
from fedcert.families import registry
from fedcert.families.registry import families, family_named, register_family


def test_families_are_known_by_name_in_the_order_of_tables() -> None:
    assert [family.name for family in families()][:3] == ["paper-box", "box", "projected"]
    assert all(family_named(family.name) is family for family in families())


def test_an_unknown_family_is_refused_and_the_known_ones_are_listed() -> None:
    with pytest.raises(InvalidConfig, match=r"'balls'; must be one of paper-box, box, projected"):
        family_named("balls")


def test_a_name_is_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_FAMILIES", dict(registry._FAMILIES))
    with pytest.raises(InvalidConfig, match="box is already registered"):
        register_family(family_named("box"))
