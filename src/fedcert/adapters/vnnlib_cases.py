"""The assertions of a VNN-LIB query as a union of cases, each a list of linear inequalities, exactly."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fedcert.errors import InvalidProperty

MAX_CASES = 10_000
INPUT, OUTPUT = "Input", "Output"
Variable = tuple[str, int]
"""Input or output, and which one."""


@dataclass
class Linear:
    """Σ a_v v + b over variables v.

    Attributes:
        terms: a by variable; none is 0.
        constant: b.
        line: where it stands.
    """

    terms: dict[Variable, Fraction] = field(default_factory=dict)
    constant: Fraction = Fraction(0)
    line: int = 0

    def plus(self, other: "Linear", factor: Fraction = Fraction(1)) -> "Linear":
        """The sum with a multiple of another one.

        Args:
            other: the other one.
            factor: that it is multiplied by.
        """
        terms = dict(self.terms)
        for variable, value in other.terms.items():
            terms[variable] = terms.get(variable, Fraction(0)) + factor * value
        kept = {variable: value for variable, value in terms.items() if value}
        return Linear(kept, self.constant + factor * other.constant, max(self.line, other.line))


@dataclass(frozen=True)
class Atom:
    """An expression that is at most 0, or below 0.

    Attributes:
        expression: the expression.
        strict: whether it must be below 0.
    """

    expression: Linear
    strict: bool


def cases_of(query: Any) -> list[list[Atom]]:
    """The unsafe set: what satisfies every inequality of one case at least.

    Args:
        query: what the package parsed.
    """
    cases: list[list[Atom]] = [[]]
    for assertion in query.assertions:
        cases = _product(cases, _cases(assertion.expr))
    return cases


def _product(one: list[list[Atom]], other: list[list[Atom]]) -> list[list[Atom]]:
    if len(one) * len(other) > MAX_CASES:
        raise InvalidProperty(f"more than {MAX_CASES:,} cases: state fewer disjunctions")
    if len(one) == len(other) == 1:
        one[0].extend(other[0])
        return one
    return [[*left, *right] for left in one for right in other]


def _cases(node: Any) -> list[list[Atom]]:
    """A condition as a union of cases, each of which is a list of atoms that hold together."""
    match type(node).__name__:
        case "And":
            found: list[list[Atom]] = [[]]
            for own in node.args:
                found = _product(found, _cases(own))
            return found
        case "Or":
            union = [case for own in node.args for case in _cases(own)]
            if len(union) > MAX_CASES:
                raise InvalidProperty(f"more than {MAX_CASES:,} cases: state fewer disjunctions")
            return union
    return [_atoms(node)]


def _atoms(node: Any) -> list[Atom]:
    kind = type(node).__name__
    if kind not in ("LessEqual", "LessThan", "GreaterEqual", "GreaterThan", "Equal"):
        line = _line(node)
        raise InvalidProperty(f"line {line}: {node!s}: supported are and, or, <=, <, >=, > and ==")
    difference = _linear(node.lhs).plus(_linear(node.rhs), Fraction(-1))
    opposite = Linear(line=difference.line).plus(difference, Fraction(-1))
    match kind:
        case "LessEqual" | "LessThan":
            return [Atom(difference, kind == "LessThan")]
        case "GreaterEqual" | "GreaterThan":
            return [Atom(opposite, kind == "GreaterThan")]
    return [Atom(difference, False), Atom(opposite, False)]


def _linear(node: Any) -> Linear:
    """An arithmetic expression, exactly; a product of variables is refused."""
    match type(node).__name__:
        case "Var":
            place = 0
            for index, size in zip(node.indices, node.shape, strict=True):
                place = place * size + index
            return Linear({(node.kind.name, place): Fraction(1)}, line=node.line)
        case "Negate":
            return Linear().plus(_linear(node.expr), Fraction(-1))
        case "Plus":
            return _sum(map(_linear, node.args), Fraction(1))
        case "Minus":
            return _linear(node.head).plus(_sum(map(_linear, node.rest), Fraction(1)), Fraction(-1))
        case "Multiply":
            found = Linear(constant=Fraction(1))
            for own in map(_linear, node.args):
                if found.terms and own.terms:
                    line = max(found.line, own.line)
                    raise InvalidProperty(f"line {line}: {node!s}: a product of variables is not linear")
                scaled, by = (own, found.constant) if own.terms else (found, own.constant)
                found = Linear(line=max(found.line, own.line)).plus(scaled, by)
            return found
    try:
        return Linear(constant=Fraction(node.lexeme), line=node.line)
    except (AttributeError, ValueError, ZeroDivisionError) as error:
        raise InvalidProperty(f"line {_line(node)}: {node!s}: not a linear expression") from error


def _sum(parts: Iterable[Linear], factor: Fraction) -> Linear:
    found = Linear()
    for own in parts:
        found = found.plus(own, factor)
    return found


def _line(node: Any) -> int:
    """The line of a node: that of a variable or number in it."""
    own = getattr(node, "line", None)
    return int(own) if own is not None else max((_line(child) for child in node.children()), default=0)
