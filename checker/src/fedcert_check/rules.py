"""What a rule makes of boxes and of Gaussians, in ball arithmetic."""

from collections.abc import Sequence

import numpy as np

from fedcert_check.balls import Balls, exact, lower, root, upper, zeros
from fedcert_check.document import Array, Client, Rule, require
from fedcert_check.network import Interval


def image(rule: Rule, boxes: Sequence[Interval]) -> Interval:
    """A box that contains A(H_1 × … × H_n), exact but for outward rounding at 128 bits.

    A linear rule rises or falls in each coordinate of each client, by the sign of the weight; a trimmed mean
    rises in all. So the extremes are taken at end points.
    """
    if rule.weights is None:
        low = np.sort(np.stack([box.lower for box in boxes]), axis=0)[rule.trim : rule.clients - rule.trim]
        high = np.sort(np.stack([box.upper for box in boxes]), axis=0)[rule.trim : rule.clients - rule.trim]
        return Interval(lower(low.sum(0) / len(low)), upper(high.sum(0) / len(high)))
    low, high = start(rule, len(boxes[0].lower)), start(rule, len(boxes[0].lower))
    for weight, box in zip(rule.weights, boxes, strict=True):
        w, rises = exact(weight), weight >= 0
        low = low + w * np.where(rises, box.lower, box.upper)
        high = high + w * np.where(rises, box.upper, box.lower)
    return Interval(lower(low), upper(high))


def start(rule: Rule, dimension: int) -> Balls:
    """The offset v of a linear rule."""
    return zeros(dimension) if rule.offset is None else exact(rule.offset)


def deployed(rule: Rule, clients: Sequence[Client]) -> tuple[Balls, Balls]:
    """Mean and scale of the deployed Gaussian N(v + Σ w_i μ_i, Σ w_i² σ_i²), as balls."""
    weights = linear_weights(rule)
    loc = start(rule, len(clients[0].loc))
    variance = zeros(len(clients[0].loc))
    for weight, client in zip(weights, clients, strict=True):
        w = exact(weight)
        loc = loc + w * exact(client.loc)
        variance = variance + (w * exact(client.scale)) ** 2
    scale = root(variance)
    require(all(bool(v > 0) for v in scale.tolist()), "the deployed law has no density: a scale is zero")
    return loc, scale


def linear_weights(rule: Rule) -> Array:
    """The weights of a linear rule; another rule raises."""
    require(rule.weights is not None, f"the rule {rule.name} has no Gaussian law: no such claim can be made")
    assert rule.weights is not None
    return rule.weights
