"""Properties in VNN-LIB, the language of the verification competitions, through the package `vnnlib`.

A specification states what is *unsafe*: inputs x and outputs y = f(x) that satisfy all its assertions. A
model is safe where no input does. In disjunctive form the unsafe set is a union of cases, each a box of
inputs and linear constraints on the outputs. Of a case with one output constraint a·y ≤ b, safe is a·y > b
for all x of the box; the cases of one box are safe together, which is one property C f(x) + d ≥ 0. A case
with several output constraints is safe where any of them fails, which is no conjunction of linear
constraints: it is refused.

Numbers are read exactly, as decimal numbers. The ends of boxes are rounded outward, C is exact (a constraint
is multiplied by an integer where that is needed), and d is rounded down, below −b where the unsafe set
contains its border: whatever has the property is safe in the sense of the specification.
"""

import json
import math
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

import torch

from fedcert.adapters.library import Library
from fedcert.adapters.vnnlib_cases import INPUT, OUTPUT, Atom, cases_of
from fedcert.adapters.vnnlib_text import as_version_2
from fedcert.errors import InvalidInputs, InvalidProperty
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.model.regions import on_boxes

VNNLIB = Library("vnnlib", "vnnlib", "vnnlib")
SMALLEST_NORMAL = 2.0**-1022


def from_vnnlib(path: str | PathLike[str], network: Network) -> Properties:
    """The properties of a specification file, one for each box of inputs; safe is what all of them say.

    Both the first version of the language (`X_0`, `Y_0`) and the second (`X[0]`, declared networks) are read.
    What cannot be expressed is refused with its line.

    Args:
        path: of the file.
        network: whose inputs and outputs it speaks about.

    Examples:
        >>> import fedcert  # doctest: +SKIP
        >>> asked = fedcert.from_vnnlib("robust.vnnlib", fedcert.mlp(2, 4, 2))  # doctest: +SKIP
        >>> fedcert.certify(clients, "fedavg", fedcert.mlp(2, 4, 2), asked)  # doctest: +SKIP
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputs(f"{path}: cannot be read as text ({error})") from error
    try:
        return specified(text, network.inputs, network.outputs)
    except (InvalidInputs, InvalidProperty) as error:
        raise type(error)(f"{path}: {error}") from error


def specified(text: str, inputs: int, outputs: int) -> Properties:
    """The properties of a specification.

    Args:
        text: of the specification.
        inputs: p, the number of the network's inputs.
        outputs: K, the number of its outputs.
    """
    library = VNNLIB.load()
    try:
        query = library.parse_query_string(as_version_2(text))
    except library.VNNLibException as error:
        raise InvalidInputs(_complaint(str(error))) from error
    _require_network(query, inputs, outputs)
    cases = cases_of(query)
    properties: dict[tuple[tuple[float, ...], tuple[float, ...]], list[tuple[list[float], float]]] = {}
    for case in cases:
        lower, upper = _box(case, inputs)
        properties.setdefault((lower, upper), []).append(_safe(case, outputs))
    most = max(map(len, properties.values()))
    rows = [
        own + own[-1:] * (most - len(own)) for own in properties.values()
    ]  # repeated, which says nothing new
    low, high = ([box[end] for box in properties] for end in (0, 1))
    C = torch.tensor([[row for row, _ in own] for own in rows], dtype=torch.float64)
    d = torch.tensor([[offset for _, offset in own] for own in rows], dtype=torch.float64)
    ends = [torch.tensor(own, dtype=torch.float64) for own in (low, high)]
    return on_boxes(ends[0], ends[1], C=C, d=d)


def _complaint(text: str) -> str:
    """What the package says, in one line."""
    try:
        first = json.loads(text)["errors"][0]
        return f"line {first['line']}: {first['message']} ({first['offendingSymbol']}): {first['hint']}"[:300]
    except (ValueError, KeyError, IndexError, TypeError):
        return " ".join(text.split())[:300]


def _require_network(query: Any, inputs: int, outputs: int) -> None:
    """One network, with one input and one output of the right sizes."""
    networks = list(query.networks)
    if len(networks) != 1 or len(networks[0].inputs) != 1 or len(networks[0].outputs) != 1:
        raise InvalidProperty("supported is one network with one input and one output")
    if networks[0].hidden:
        raise InvalidProperty("hidden nodes are not supported: only inputs and outputs")
    for what, own, wanted in (
        ("inputs", networks[0].inputs[0], inputs), ("outputs", networks[0].outputs[0], outputs),
    ):  # fmt: skip
        if math.prod(own.shape) != wanted:
            raise InvalidProperty(f"{math.prod(own.shape)} {what} of {own.name}, but the model has {wanted}")


def _box(case: list[Atom], inputs: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The ends of the box that a case is about, rounded outward; a border belongs to it in any case."""
    lower: dict[int, Fraction] = {}
    upper: dict[int, Fraction] = {}
    for atom in case:
        expression = atom.expression
        kinds = {kind for kind, _ in expression.terms}
        if kinds == {OUTPUT}:
            continue
        if kinds != {INPUT} or len(expression.terms) != 1:
            raise InvalidProperty(
                f"line {expression.line}: a constraint on"
                f" {'several inputs' if kinds == {INPUT} else 'no variable'}"
                if OUTPUT not in kinds and len(kinds) < 2
                else f"line {expression.line}: a constraint on inputs and outputs together: supported are"
                " boxes of"
                " inputs and linear constraints on outputs"
            )
        (((_, place), factor),) = expression.terms.items()
        end = -expression.constant / factor
        if factor > 0:
            upper[place] = min(end, upper.get(place, end))
        else:
            lower[place] = max(end, lower.get(place, end))
    for place in range(inputs):
        if place not in lower or place not in upper:
            raise InvalidProperty(
                f"input {place} has no {'upper' if place in lower else 'lower'} bound in some case"
            )
        if lower[place] > upper[place]:
            raise InvalidProperty(f"the bounds of input {place} contradict each other in some case")
    return (
        tuple(rounded_down(lower[place]) for place in range(inputs)),
        tuple(-rounded_down(-upper[place]) for place in range(inputs)),
    )


def _safe(case: list[Atom], outputs: int) -> tuple[list[float], float]:
    """C and d of what is safe: the negation of the one output constraint of a case."""
    unsafe = [atom for atom in case if {kind for kind, _ in atom.expression.terms} == {OUTPUT}]
    if len(unsafe) != 1:
        line = max((atom.expression.line for atom in unsafe or case), default=0)
        raise InvalidProperty(
            f"line {line}: {len(unsafe)} constraints on outputs must hold together to be unsafe:"
            " supported is one in"
            " each case, since the negation of several is a disjunction"
        )
    atom = unsafe[0]
    terms, constant = atom.expression.terms, atom.expression.constant
    factor = 1 if all(map(_exact, terms.values())) else math.lcm(*(own.denominator for own in terms.values()))
    row = [0.0] * outputs
    for (_, place), value in terms.items():
        if not _exact(value * factor):
            raise InvalidProperty(f"line {atom.expression.line}: a coefficient with too many digits")
        row[place] = float(value * factor)
    return row, rounded_down(constant * factor, strictly=not atom.strict)


def _exact(value: Fraction) -> bool:
    try:
        found = float(value)
    except OverflowError:
        return False
    return Fraction(found) == value and (found == 0 or abs(found) >= SMALLEST_NORMAL)


def rounded_down(value: Fraction, strictly: bool = False) -> float:
    """The largest float that is 0 or normal and at most the number, or below it.

    Args:
        value: the number.
        strictly: whether the number itself will not do.

    >>> rounded_down(Fraction(1, 4)), rounded_down(Fraction(0), strictly=True)
    (0.25, -2.2250738585072014e-308)
    """
    try:
        found = float(value)
    except OverflowError as error:
        raise InvalidProperty(f"a number beyond all floats: {str(value)[:40]}") from error
    if Fraction(found) > value or (strictly and Fraction(found) == value):
        found = math.nextafter(found, -math.inf)
    if math.isinf(found):
        raise InvalidProperty(f"a number beyond all floats: {str(value)[:40]}")
    if 0 < abs(found) < SMALLEST_NORMAL:
        return 0.0 if found > 0 else -SMALLEST_NORMAL
    return found
