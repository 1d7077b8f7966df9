import pytest
import torch

from fedcert.families.mean_box.lattice import Lattice
from fedcert.families.mean_box.measures import identity, measures
from fedcert.families.mean_box.witness import MeasureKind
from fedcert.laws import DiagonalGaussian
from fedcert.rules import LinearRule, TrimmedMean


def gaussian(scale: float, dimension: int = 4) -> DiagonalGaussian:
    loc = torch.zeros(dimension, dtype=torch.float64)
    return DiagonalGaussian(loc, torch.full_like(loc, scale))


def average(*weights: float) -> LinearRule:
    return LinearRule.average(torch.tensor(weights, dtype=torch.float64)[:, None])


@pytest.mark.parametrize(
    ("rule", "laws", "expected"),
    [
        (average(0.5, 0.5), [gaussian(1.0)] * 2, [MeasureKind.LATTICE]),
        (
            average(0.999, 0.001),
            [gaussian(1.0)] * 2,
            [MeasureKind.LATTICE, MeasureKind.PRODUCT],
        ),  # nearly one alone
        (average(1.0), [gaussian(1.0)], [MeasureKind.PRODUCT]),
        (TrimmedMean.median(3), [gaussian(1.0)] * 3, [MeasureKind.PRODUCT]),
        (average(*[1 / 40] * 40), [gaussian(1.0)] * 40, [MeasureKind.PRODUCT]),  # too many to count
    ],
)
def test_only_measures_that_may_be_best_are_tried(rule, laws, expected) -> None:
    assert [measure.kind for measure in measures(laws, rule)] == expected


def test_where_products_are_left_out_they_are_worse() -> None:
    rule, laws = average(0.7, 0.3), [gaussian(1.0), gaussian(2.0)]
    (lattice,) = measures(laws, rule)
    ratio = rule.pushforward(laws).scale[0].item() / sum(
        w * law.scale[0].item() for w, law in zip((0.7, 0.3), laws, strict=True)
    )
    for radius in (3.0, 4.0, 6.0):
        own = sum(law.central_log_mass(torch.tensor([[ratio * radius]]).double()).item() for law in laws)
        assert lattice.log_mass(torch.tensor([[radius]]).double()).item() > own


def test_scales_that_all_differ_are_not_counted() -> None:
    scales = torch.linspace(1, 2, 50, dtype=torch.float64)
    laws = [DiagonalGaussian(torch.zeros(50).double(), s) for s in (scales, scales.flip(0))]
    rule = average(0.5, 0.5)
    assert Lattice.of(rule, laws, rule.pushforward(laws)) is None
    assert [measure.kind for measure in measures(laws, rule)] == [MeasureKind.PRODUCT]


def test_the_identity_deploys_its_only_client() -> None:
    law = gaussian(0.5)
    assert torch.equal(identity("median", law)([law.loc + 1]), law.loc + 1)
    assert identity("median", law).name == "median"
