"""The seed of a confidence bound: a digest of what is claimed, so that nobody chooses it.

It covers all that the probability depends on (the clients' laws, the rule, the network, the properties), and
the number of draws and the level, which decide what is made of the counts. It covers no name: that of a rule
is a label, and a prover could try many.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fedcert_check.digest import digest

KEY_BYTES = 16


def seed_of(
    laws: Sequence[str],
    rule: Mapping[str, Any],
    coefficients: Mapping[str, ArrayLike],
    network: Sequence[Mapping[str, Any]],
    properties: str,
    draws: int,
    beta: float,
) -> str:
    """SHA-256 of what is claimed, as 64 hexadecimal digits.

    Args:
        laws: the digest of each client's message, or of its law if there are no messages, in the order of
            the rule's weights.
        rule: the rule's description; its name does not count.
        coefficients: the rule's tensors, by name.
        network: the description of each layer.
        properties: the digest of the properties.
        draws: N.
        beta: β, the probability that the bounds may fail with.
    """
    named = {key: value for key, value in rule.items() if key != "name"}
    header = {
        "statement": "fedcert-confidence 1",
        "laws": json.dumps(list(laws)),
        "rule": json.dumps(named, sort_keys=True),
        "network": json.dumps([dict(layer) for layer in network], sort_keys=True),
        "properties": properties,
        "draws": str(draws),
        "beta": float(beta).hex(),
    }
    return digest(header, coefficients)


def law_digest(
    loc: Sequence[ArrayLike], scale: Sequence[ArrayLike], weights: Sequence[float] | ArrayLike
) -> str:
    """What stands for a law that no message states: the digest of a mixture of diagonal Gaussians.

    Args:
        loc: the mean of each component.
        scale: the scale of each component.
        weights: of the components, not normalised.
    """
    tensors: dict[str, ArrayLike] = {"weights": np.asarray(weights, dtype=np.float64)}
    for k, (mean, deviation) in enumerate(zip(loc, scale, strict=True)):
        tensors |= {f"{k}.loc": np.asarray(mean), f"{k}.scale": np.asarray(deviation)}
    return digest({"law": "gaussian-mixture"}, tensors)


def block_law_digest(loc: ArrayLike, blocks: ArrayLike, numbers: ArrayLike) -> str:
    """The same of a Gaussian that is a sum of blocks.

    Args:
        loc: the mean.
        blocks: the table of types, places and lengths.
        numbers: of all blocks.
    """
    tensors = {"loc": loc, "blocks": blocks, "numbers": numbers}
    return digest({"law": "block-gaussian"}, {name: np.asarray(own) for name, own in tensors.items()})


def philox_key(seed: str) -> tuple[int, int]:
    """The two 64-bit words of the generator's key: the first 16 bytes of the seed, little-endian.

    Args:
        seed: 64 hexadecimal digits.

    >>> philox_key("01" + "00" * 14 + "80" + "ff" * 16) == (1, 2**63)
    True
    """
    head = bytes.fromhex(seed)[:KEY_BYTES]
    return int.from_bytes(head[:8], "little"), int.from_bytes(head[8:], "little")
