"""The settings of a run that say how a rule weighs clients, against the coefficients that are certified."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fedcert_check.pooling import Pooling
from fedcert_check.published import TOLERANCE
from fedcert_check.rules import LinearRule, Rule, TrimmedMean
from fedcert_check.run_folder.evidence import Evidence
from fedcert_check.run_folder.findings import Finding
from fedcert_check.run_folder.stated import RESULT, Stated
from fedcert_check.stated import StatedGaussian
from fedcert_check.validation import Array, quoted

AVERAGE, STEP, FREE, TRIMMED = "fedavg", "server-step", "linear", "trimmed-mean"
UNIFORM, SIZE = "uniform", "size"


def compare_weighing(stated: Stated, evidence: Evidence) -> Iterator[Finding]:
    """Settings that say another rule than the certificates are about; those that are missing say nothing.

    Args:
        stated: what result.json says.
        evidence: the certificates.
    """
    sizes = [float(own.examples) for own in stated.clients]
    for name, source in evidence.sources():
        rule = source.rule
        if rule.clients != len(sizes):
            continue  # which is said elsewhere
        for field, follows in _settings(stated.config, rule, sizes):
            if not follows:
                says = f"{quoted(stated.config[field])}, which is not how {rule.name} was made"
                yield Finding(RESULT, f"config.{field}", says, name)


def _settings(config: dict[str, Any], rule: Rule, sizes: Sequence[float]) -> Iterator[tuple[str, bool]]:
    """Each setting that a rule was made with, and whether it is so."""
    given = config.get("weights")
    if isinstance(given, list) and config.get("rule") != rule.name:
        given = UNIFORM  # numbers are for the deployed rule alone
    found = _weights(rule)
    if given is not None and found is not None and (rule.name != FREE or isinstance(given, list)):
        yield "weights", _same(found, _expected(given, sizes), rule.name != FREE)
    if config.get("server_rate") is not None and isinstance(rule, LinearRule) and rule.name == STEP:
        yield "server_rate", _same(rule.weights.sum(0), _numbers([config["server_rate"]]), shares=False)
    if config.get("trim") is not None and isinstance(rule, TrimmedMean) and rule.name == TRIMMED:
        yield "trim", bool(config["trim"] == rule.trim)
    if config.get("prior_scale") is not None and isinstance(rule, LinearRule | StatedGaussian):
        own = rule.settings.get("prior_scale")
        if own is not None:
            yield "prior_scale", bool(config["prior_scale"] == own)


def _weights(rule: Rule) -> Array | None:
    """What a rule weighs the clients by; None for one that has no such setting."""
    if isinstance(rule, Pooling):
        return rule.weights[:, 0]
    if not isinstance(rule, LinearRule | StatedGaussian):
        return None
    if "weights" in rule.settings:
        return np.asarray(rule.settings["weights"])[:, 0]
    if not isinstance(rule, LinearRule) or rule.name not in (AVERAGE, STEP, FREE):
        return None
    every = rule.weights
    return every[:, 0] if bool((every == every[:, :1]).all()) else every.ravel()


def _expected(given: Any, sizes: Sequence[float]) -> Array | None:
    """The weights that a setting asks for, up to a factor; None where it is none."""
    if given in (UNIFORM, SIZE):
        return np.array(sizes) if given == SIZE else np.ones(len(sizes))
    return _numbers(given)


def _numbers(values: Any) -> Array | None:
    if not isinstance(values, list) or not all(type(own) in (int, float) for own in values):
        return None
    try:
        return np.array([float(own) for own in values])
    except OverflowError:  # an integer beyond all floats is no weight
        return None


def _same(found: Array, expected: Array | None, shares: bool) -> bool:
    """Whether numbers are equal, up to rounding: as they are, or as shares of their sums."""
    if expected is None or found.shape != expected.shape:
        return False
    with np.errstate(all="ignore"):
        if shares and found.any():
            found, expected = found / found.sum(), expected / expected.sum()
        elif shares:
            return True  # a server step of rate 0, which says nothing of shares
        return bool((abs(found - expected) <= TOLERANCE * abs(expected)).all())
