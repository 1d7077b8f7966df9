"""Specifications in the first version of VNN-LIB, written anew in the second, line by line.

The package reads the second version alone; most published specifications are in the first. There, inputs are
`X_0`, `X_1`, … and outputs `Y_0`, `Y_1`, …, each declared as `(declare-const X_0 Real)`.
"""

import re
from decimal import Decimal

from fedcert.errors import InvalidInputs

DECLARATION = re.compile(r"\(\s*declare-(?:const|fun)\s+(\S+?)\s*(?:\(\s*\)\s*)?(?:\s)Real\s*\)")
VARIABLE = re.compile(r"\b([XY])_(\d+)\b")
NUMBER = re.compile(r"(?<![\w.\[])([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)(?![\w.\]])")
MAX_EXPONENT = 400


def as_version_2(text: str) -> str:
    """The same specification in the second version of the language, with every line where it was.

    Args:
        text: in either version.

    >>> as_version_2("(declare-const X_0 Real)(declare-const Y_0 Real)(assert (<= X_0 1e-3))")[-26:]
    '  (assert (<= X[0] 0.001))'
    """
    if "vnnlib-version" in text or ("declare-const" not in text and "declare-fun" not in text):
        return text
    text = re.sub(r";[^\n]*", "", text)
    declared = [match[1] for match in DECLARATION.finditer(text)]
    sizes = {}
    for letter in "XY":
        own = [name for name in declared if name.startswith(f"{letter}_")]
        if set(own) != {f"{letter}_{i}" for i in range(len(own))} or not own:
            raise InvalidInputs(
                f"the variables {letter}_0, {letter}_1, … are not declared one by one as Real"
            )
        sizes[letter] = len(own)
    if len(declared) != sum(sizes.values()):
        raise InvalidInputs("variables other than X_i and Y_i are declared")
    body = DECLARATION.sub(lambda match: " " + "\n" * match[0].count("\n"), text)
    body = NUMBER.sub(_decimal, VARIABLE.sub(r"\1[\2]", body))
    head = f"(declare-input X float64 [{sizes['X']}]) (declare-output Y float64 [{sizes['Y']}])"
    return f"(vnnlib-version <2.0>) (declare-network f {head}) {body}"


def _decimal(match: re.Match[str]) -> str:
    """A number with a decimal point and without an exponent, exactly the same."""
    value = Decimal(match[1])
    if abs(value.adjusted()) > MAX_EXPONENT:
        raise InvalidInputs(f"{match[1][:40]}: a number of this size is not supported")
    text = format(value, "f")
    return text if "." in text else f"{text}.0"
