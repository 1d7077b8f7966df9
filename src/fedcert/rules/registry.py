"""The rules that are known: by their names in configurations, and by their types in certificate files.

A rule of your own needs no change here: `register_rule` makes it known to configurations, and
`register_rule_type` to the reader of certificate files (`examples/extend/midrange.py`). The checker has a
list of its own and refuses every other type.
"""

from collections.abc import Callable

from fedcert.errors import InvalidArgument, InvalidCertificate, InvalidConfig, ShapeMismatch
from fedcert.rules.builders import BUILDERS, RuleBuilder, RuleContext
from fedcert.rules.linear import LinearRule
from fedcert.rules.pooling import Pooling
from fedcert.rules.protocol import AggregationRule, Coefficients, Header
from fedcert.rules.stated import StatedGaussian
from fedcert.rules.trimmed_mean import TrimmedMean

RuleReader = Callable[[Header, Coefficients], AggregationRule]
"""Makes the rule that `AggregationRule.describe` described."""

_BUILDERS: dict[str, RuleBuilder] = {builder.name: builder for builder in BUILDERS}
_READERS: dict[str, RuleReader] = {
    "linear": LinearRule.from_description,
    "trimmed-mean": TrimmedMean.from_description,
    "pooling": Pooling.from_description,
    "gaussian": StatedGaussian.from_description,
}


def rule_names() -> tuple[str, ...]:
    """The names that `build_rule` knows."""
    return tuple(_BUILDERS)


def rule_types() -> tuple[str, ...]:
    """The types that `read_rule` knows."""
    return tuple(_READERS)


def register_rule(builder: RuleBuilder) -> None:
    """Make a rule known by its name; a name that is taken is refused.

    Args:
        builder: makes the rule for given clients.

    Examples:
        >>> register_rule(RuleBuilder("fedavg", lambda context: TrimmedMean.median(context.clients)))
        Traceback (most recent call last):
            ...
        fedcert.errors.InvalidConfig: a rule named 'fedavg' is registered already
        explained in docs/reference/command-line.md
    """
    if _BUILDERS.setdefault(builder.name, builder) != builder:
        raise InvalidConfig(f"a rule named {builder.name!r} is registered already")


def register_rule_type(type_name: str, reader: RuleReader) -> None:
    """Make a type of rule known to the reader of certificate files; a type that is taken is refused.

    Args:
        type_name: the `type` that the rule's description states.
        reader: makes the rule from its description.
    """
    if _READERS.setdefault(type_name, reader) != reader:
        raise InvalidConfig(f"a rule type {type_name!r} is registered already")


def build_rule(name: str, context: RuleContext) -> AggregationRule:
    """The rule of this name for these clients.

    Args:
        name: one of `rule_names()`.
        context: the clients and the settings that the rule may depend on.
    """
    if name not in _BUILDERS:
        raise InvalidArgument(f"no rule is named {name!r}; known are {', '.join(_BUILDERS)}")
    rule = _BUILDERS[name].build(context)
    if (rule.name, rule.clients) != (name, context.clients):
        raise ShapeMismatch(
            f"the builder of {name!r} for {context.clients} clients made a rule named {rule.name!r} for"
            f" {rule.clients}: claims would speak of another rule"
        )
    return rule


def describe_rule(rule: AggregationRule) -> tuple[Header, Coefficients]:
    """The rule's description, if `read_rule` can make the rule from it again.

    Args:
        rule: to be written to a certificate file.
    """
    header, coefficients = rule.describe()
    if (header["name"], header["clients"]) != (rule.name, rule.clients):
        raise InvalidCertificate(f"the rule {rule.name} describes itself as another one: {dict(header)}")
    if header["type"] not in _READERS:
        raise InvalidCertificate(
            f"a certificate for the rule {rule.name} cannot be saved: its type {header['type']!r} is not"
            f" registered; known are {', '.join(_READERS)}"
        )
    return header, coefficients


def read_rule(header: Header, coefficients: Coefficients) -> AggregationRule:
    """The rule that a certificate file describes.

    Args:
        header: what the file's JSON says of it.
        coefficients: its tensors, by name.
    """
    if header["type"] not in _READERS:
        raise InvalidCertificate(f"a rule of type {header['type']!r}; known are {', '.join(_READERS)}")
    return _READERS[header["type"]](header, coefficients)
