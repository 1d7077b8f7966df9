"""What the fuzzer finds out about one problem."""

import math
from typing import NamedTuple


class Verdict(NamedTuple):
    """One problem: whether its bound holds, whether it claims anything, and what to print if it is wrong.

    A certificate that went to the checker also says whether its claim was proved there.
    """

    sound: bool
    claims: bool = True
    what: str = ""
    proved: bool = True


def verdict(sound: bool, what: str, *values: float) -> Verdict:
    """The verdict on claimed numbers, which claim something if they are finite."""
    return Verdict(bool(sound), all(math.isfinite(v) for v in values), "" if sound else f"{what}: {values}")
