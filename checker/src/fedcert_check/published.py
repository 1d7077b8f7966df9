"""Names of published laws, and what a rule must deploy to deserve one. No bound relies on a name.

A claim is about v + Σ_i a_i Θ_i with the coefficients in the file. A reader of the name `wasserstein` expects
a certain law, though, so the law is computed again from what the clients and the file state, in double
precision, and must be the deployed one up to rounding (docs/rules.md has the closed forms).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fedcert_check.laws import DiagonalGaussian, Law
from fedcert_check.validation import Array, quoted, require, require_fields

MAX_RANDOM = 4096
"""Dependent parameters of a product: covariances are inverted before the cost of a proof is known."""

PRODUCTS = ("pog", "conflation", "consensus")
"""Three names of one rule: the product of the clients' densities."""
SETTINGS = {
    "wasserstein": "weights",
    "averaged-variances": "weights",
    "forward-kl": "weights",
    "reverse-kl": "weights",
    "prior-corrected": "prior_scale",
}
"""The setting that a law of each name is made with."""
TOLERANCE = 1e-9
"""The largest relative difference that counts as rounding, as for the sum of an average's weights."""
NEGLIGIBLE = 1e-6
"""A part of a deviation by which a mean may be off: nothing that a reader could notice."""

Moments = tuple[Array, Array]
"""The mean and the variance of each parameter."""


def read_settings(name: str, entry: Any, clients: int) -> Mapping[str, Any]:
    """What a rule of this name was made with: weights ≥ 0 that sum to one, or the deviation of a prior.

    Args:
        name: of the rule.
        entry: any JSON value.
        clients: n.
    """
    if name not in SETTINGS:
        return {}
    wanted = SETTINGS[name]
    require_fields(entry, {wanted}, f"the settings of {name}")
    if wanted == "prior_scale":
        scale = entry[wanted]
        require(type(scale) is float and 0 < scale < np.inf, f"the prior scale is {quoted(scale)}")
        return {wanted: scale}
    weights = entry[wanted]
    listed = isinstance(weights, list) and len(weights) == clients
    require(
        listed and all(type(w) is float and w >= 0 for w in weights), f"the weights of {name} are no weights"
    )
    require(abs(sum(weights) - 1) <= TOLERANCE, f"the weights of {name} do not sum to one")
    return {wanted: np.array(weights)[:, None]}


def require_deserved(
    name: str,
    settings: Mapping[str, Any],
    coefficients: tuple[Array, Array],
    laws: Sequence[Law],
) -> None:
    """Raise if a rule has the name of a published law and deploys another one.

    Args:
        name: of the rule.
        settings: what the law was made with.
        coefficients: a, of shape (n, 1) or (n, n_w), and v.
        laws: of the clients.
    """
    if name not in (*PRODUCTS, *SETTINGS):
        return
    components = [law.components[0] for law in laws]
    gaussians = [own for own in components if isinstance(own, DiagonalGaussian)]
    require(
        len(gaussians) == len(laws) and all(len(law.components) == 1 for law in laws),
        f"{name} is made from one Gaussian of each client with independent parameters, and a client has"
        " another law",
    )
    loc, scale = np.stack([law.loc for law in gaussians]), np.stack([law.scale for law in gaussians])
    weights, offset = coefficients
    with np.errstate(all="ignore"):  # whatever is not a number is not within the tolerance
        mean, variance = offset + (weights * loc).sum(0), ((weights * scale) ** 2).sum(0)
        expected, spread = _closed_form(name, settings, loc, scale)
        lost = rounding(len(loc)) / 8 * (abs(weights * loc).sum(0) + abs(offset))  # terms that cancel
        size, _ = _closed_form(name, settings, abs(loc), scale)  # of what the law itself is made of
        allowed = rounding(len(loc)) * len(loc) ** 0.5 * size + NEGLIGIBLE * np.sqrt(spread)
        same = abs(mean - expected) + lost <= allowed
        same &= abs(variance - spread) <= TOLERANCE * spread
    require(
        bool(same.all()),
        f"the rule is called {name} and does not deploy that law of these clients (parameter"
        f" {int(np.argmin(same))})",
    )


def rounding(terms: int) -> float:
    """Eight times what a sum of so many terms can be off by, relative to the sum of their sizes.

    Args:
        terms: their number.
    """
    return (terms + 16) * 2.0**-50


def _closed_form(name: str, settings: Mapping[str, Any], loc: Array, scale: Array) -> Moments:
    if name in PRODUCTS:
        return _product(loc, scale, np.ones((len(loc), 1)))
    if name == "prior-corrected":
        return _product(loc, scale, np.ones((len(loc), 1)), settings["prior_scale"])
    return _WEIGHTED[name](loc, scale, settings["weights"])


def _wasserstein(loc: Array, scale: Array, w: Array) -> Moments:
    return (w * loc).sum(0), (w * scale).sum(0) ** 2


def _averaged_variances(loc: Array, scale: Array, w: Array) -> Moments:
    return (w * loc).sum(0), (w * scale**2).sum(0)


def _forward_kl(loc: Array, scale: Array, w: Array) -> Moments:
    mean = (w * loc).sum(0)
    return mean, (w * (scale**2 + (loc - mean) ** 2)).sum(0)


def _product(loc: Array, scale: Array, w: Array, prior_scale: float = np.inf) -> Moments:
    """Π q_i^(w_i), with n − 1 priors divided out; clients of deviation 0 decide alone."""
    least = np.where(w > 0, scale, np.inf).min(0)
    shares = w * np.where(scale == least, 1.0, least / scale) ** 2
    total = shares.sum(0) - (len(loc) - 1) * (least / prior_scale) ** 2
    return (shares * loc).sum(0) / total, least**2 / total


_WEIGHTED: dict[str, Callable[[Array, Array, Array], Moments]] = {
    "wasserstein": _wasserstein,
    "averaged-variances": _averaged_variances,
    "forward-kl": _forward_kl,
    "reverse-kl": _product,
}
