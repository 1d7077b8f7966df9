"""Properties on regions of the user's own: boxes or balls, with labels or with constraints C f(x) + d ≥ 0."""

from math import inf

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidProperty, ShapeMismatch
from fedcert.model.properties import Properties, label_wins, limits
from fedcert.model.robustness import Origin, Robustness
from fedcert.numerics.box import Box
from fedcert.numerics.convert import Numbers, as_double, as_whole
from fedcert.numerics.rounding import down, up

Constraints = tuple[Float64[Tensor, "P R K"], Float64[Tensor, "P R"]]


def on_boxes(
    lower: Numbers,
    upper: Numbers | None = None,
    *,
    label: Numbers | None = None,
    classes: int | None = None,
    margin: float = 0.0,
    C: Numbers | None = None,
    d: Numbers | None = None,
    epsilon: float | Numbers = 0.0,
    domain: tuple[float, float] = (-inf, inf),
    origin: Origin | None = None,
) -> Properties:
    """One property a box: a label wins, or constraints hold, at every x with ℓ − ε ≤ x ≤ u + ε.

    Either `label` and `classes` are given, or `C` and `d`: C f(x) + d ≥ 0, row by row. Constraints can say
    what a regression or a controller must do: −1 ≤ f(x) ≤ 1 is C = [[1], [−1]], d = [1, 1].

    Args:
        lower: ℓ, one box a row.
        upper: u ≥ ℓ; None for points, around which ε makes balls.
        label: the class of each box.
        classes: K, the number of outputs.
        margin: of the logits, by which the label must win.
        C: the coefficients, of shape (P, R, K), or (R, K) for the same in each box.
        d: the offsets, of shape (P, R), or (R).
        epsilon: ε ≥ 0, by which each box is widened on every side, or one for each box; its ends are rounded
            outward.
        domain: the smallest and largest value of an input coordinate; regions are cut to it.
        origin: where the boxes come from; given by the user where None.

    Examples:
        >>> on_boxes([[0.0, 0.0]], [[1.0, 1.0]], C=[[1.0], [-1.0]], d=[1.0, 1.0]).C.shape
        torch.Size([1, 2, 1])
    """
    low = as_double("lower ends of boxes", lower)
    high = low if upper is None else as_double("upper ends of boxes", upper).to(low.device)
    if low.dim() != 2 or low.shape != high.shape or len(low) == 0:
        raise ShapeMismatch(
            f"boxes with ends of shapes {tuple(low.shape)} and {tuple(high.shape)}: one box a row, at"
            " least one"
        )
    if not (torch.isfinite(low) & torch.isfinite(high) & (low <= high)).all():
        raise InvalidProperty("boxes need finite ends, the lower one at most the upper one")
    radius = as_double("epsilon", epsilon).to(low.device)
    if radius.dim() > 0 and radius.shape != low.shape[:1]:
        raise ShapeMismatch(
            f"epsilon: radii of shape {tuple(radius.shape)} for {len(low)} boxes: give one number, or one for"
            " each box"
        )
    if not ((radius >= 0) & (radius < inf)).all():
        raise InvalidProperty(f"epsilon must be a finite number ≥ 0, not {epsilon}")
    least, most = domain = limits(domain)
    if (least == -inf) != (most == inf) or not ((low >= least) & (high <= most)).all():
        raise InvalidProperty(f"boxes must lie in the domain [{least}, {most}]")
    labels, constraints = _asked(low, label, classes, margin, C, d)
    subject = Robustness(
        low, labels, radius.expand(len(low)).contiguous(), margin, domain, origin or Origin(),
        upper=None if upper is None else high, constraints=constraints if labels is None else None,
    )  # fmt: skip
    return Properties(_widened(low, high, subject.radius.unsqueeze(-1), domain), *constraints, subject)


def _asked(
    low: Float64[Tensor, "P p"],
    label: Numbers | None,
    classes: int | None,
    margin: float,
    C: Numbers | None,
    d: Numbers | None,
) -> tuple[Tensor | None, Constraints]:
    """Labels, if there are any, and C and d of each box."""
    if (label is None) == (C is None) or (C is None) != (d is None):
        raise InvalidProperty("give either labels, or constraints C and d")
    if not abs(margin) < inf or (label is None and margin != 0):
        raise InvalidProperty(f"margin: {margin}; a finite number, and 0 without labels")
    count = len(low)
    if label is not None:
        labels = as_whole("labels", label).to(low.device).long()
        if classes is None or labels.shape != (count,) or not ((labels >= 0) & (labels < classes)).all():
            raise InvalidProperty(f"labels: one of 0 … K − 1 for each of {count} boxes, and `classes` K")
        return labels, label_wins(labels, classes, margin)
    rows, offsets = (
        as_double(f"constraints {name}", own).to(low.device) for name, own in (("C", C), ("d", d))
    )
    if rows.dim() == 2 and offsets.dim() == 1:
        rows, offsets = rows.expand(count, -1, -1), offsets.expand(count, -1)
    if rows.dim() != 3 or rows.shape[:2] != offsets.shape or len(rows) != count:
        raise ShapeMismatch(
            f"constraints C and d of shapes {tuple(rows.shape)} and {tuple(offsets.shape)} for {count} boxes:"
            " (boxes, rows, outputs) and (boxes, rows), or (rows, outputs) and (rows)"
        )
    return None, (rows.contiguous(), offsets.contiguous())


def _widened(
    low: Float64[Tensor, "P p"],
    high: Float64[Tensor, "P p"],
    radius: Float64[Tensor, "P 1"],
    domain: tuple[float, float],
) -> Box:
    """The boxes, their ends rounded outward where they are widened."""
    below = torch.where(radius == 0, low, down(low - radius))
    above = torch.where(radius == 0, high, up(high + radius))
    if not (torch.isfinite(below) & torch.isfinite(above)).all():
        raise InvalidProperty("a widened box is not finite: epsilon is too large")
    return Box(below.clamp(min=domain[0]), above.clamp(max=domain[1]))
