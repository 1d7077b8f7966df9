"""The registry of families of events, from which claims choose by name."""

from fedcert.errors import InvalidArgument, InvalidConfig
from fedcert.families.mean_box.family import MeanBoxFamily
from fedcert.families.paper_box.family import PaperBoxFamily
from fedcert.families.projected.family import ProjectedFamily
from fedcert.families.protocol import Family

_FAMILIES: dict[str, Family] = {}


def register_family(family: Family) -> None:
    """Register a family under its name, after all others.

    Args:
        family: the family, with its default settings.

    Examples:
        >>> register_family(MeanBoxFamily())
        Traceback (most recent call last):
            ...
        fedcert.errors.InvalidConfig: a family of events named box is already registered
        explained in docs/reference/command-line.md
    """
    if family.name in _FAMILIES:
        raise InvalidConfig(f"a family of events named {family.name} is already registered")
    _FAMILIES[family.name] = family


def families() -> tuple[Family, ...]:
    """All registered families, in the order of tables."""
    return tuple(_FAMILIES.values())


def family_named(name: str) -> Family:
    """The family with this name.

    Args:
        name: the name of a family, such as "projected".
    """
    if name not in _FAMILIES:
        raise InvalidArgument(f"events: no family is named {name!r}; must be one of {', '.join(_FAMILIES)}")
    return _FAMILIES[name]


for _family in (PaperBoxFamily(), MeanBoxFamily(), ProjectedFamily()):
    register_family(_family)
