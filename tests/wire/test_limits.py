"""No rule of a run leaves the range of double precision, or of a law, at the limits of its parts."""

from itertools import product

import pytest
import torch
from torch import Tensor

from fedcert.laws import DiagonalGaussian
from fedcert.numerics.box import Box
from fedcert.rules import AggregationRule, GaussianRule, LinearRule, TrimmedMean
from fedcert.wire.limits import MAX_MAGNITUDE, MAX_WEIGHT, MIN_SCALE, MIN_WEIGHT

CLIENTS = 50
EVERY = list(product((MAX_MAGNITUDE, -MAX_MAGNITUDE, 0.0), (MAX_MAGNITUDE, MIN_SCALE)))
TABLE = torch.tensor(EVERY, dtype=torch.float64)
LAWS = [DiagonalGaussian(*TABLE.roll(i, 0).unbind(-1)) for i in range(CLIENTS)]
LIGHT = [law.with_scale(MIN_SCALE) for law in LAWS]


def column(*weights: float) -> Tensor:
    return torch.tensor(weights, dtype=torch.float64).repeat(CLIENTS)[:CLIENTS, None]


@pytest.mark.parametrize("laws", [LAWS, LIGHT], ids=["laws", "light laws"])
@pytest.mark.parametrize(
    "rule",
    [
        LinearRule.fedavg([1] * (CLIENTS - 1) + [10**18 - 1]),
        LinearRule.product_of_gaussians(LAWS),
        LinearRule(column(MAX_WEIGHT)),
        LinearRule(column(MAX_WEIGHT, -MAX_WEIGHT)),
        LinearRule(column(MIN_WEIGHT, 0.0)),
        LinearRule.server_step(torch.ones(len(EVERY)).double(), MAX_WEIGHT, [1] * CLIENTS),
        TrimmedMean.median(CLIENTS),
        TrimmedMean(CLIENTS, 0),
    ],
    ids=["fedavg", "pog", "heavy", "signed", "light", "server step", "median", "mean"],
)
def test_images_means_and_laws_stay_finite(rule: AggregationRule, laws: list[DiagonalGaussian]) -> None:
    far = torch.full((len(EVERY),), MAX_MAGNITUDE).double()
    image = rule.image([Box(-far, far)] * CLIENTS)
    mean = rule([law.loc for law in laws])
    assert torch.isfinite(image.upper - image.lower).all()
    assert torch.isfinite(mean.square()).all()
    if isinstance(rule, GaussianRule):
        deployed = rule.pushforward(laws)
        assert torch.isfinite((deployed.loc / deployed.scale).square()).all()
