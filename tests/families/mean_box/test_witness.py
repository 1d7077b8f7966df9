"""The witness of box certificates: what was chosen last, in a compact form."""

import pytest
import torch
from problems import vector

from fedcert.families.mean_box.certify import certify_boxes
from fedcert.families.mean_box.events import MeanBox
from fedcert.families.mean_box.witness import BoxWitnessBuilder, MeasureKind
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.rules import LinearRule, TrimmedMean
from fedcert.verify import Safe
from fedcert.verify.interval import IntervalVerifier


def test_each_property_has_its_last_choice_and_rows_only_where_they_are_needed() -> None:
    record = BoxWitnessBuilder(mlp(2, 1), 5, 2)
    box = Box.point(torch.zeros(2, 3, dtype=torch.float64))
    record.radii(MeasureKind.LATTICE, 0, vector(2.0), True)
    record.radii(MeasureKind.PRODUCT, 1, vector(2.0, 2.0, 3.0), True)
    record.radii(MeasureKind.PRODUCT, 2, vector(1.0, 2.0, 3.0), False)
    record.radii(MeasureKind.LATTICE, 3, vector(4.0, 5.0, 6.0), False)
    record.radii(MeasureKind.LATTICE, 2, vector(1.5), True)  # replaces the row
    record.tiles(4, [box, box])
    tensors = record.witness().tensors
    assert tensors["view"].tolist() == [1, 2, 1, 1, 3]
    assert tensors["radius.tensor"].tolist() == [[2, 2], [2, 3], [1.5, 1.5], [0, 0], [0, 0]]
    assert tensors["radius.row"].tolist() == [-1, -1, -1, 0, -1]
    assert tensors["radius.parameter"].tolist() == [[4, 5, 6]]
    assert tensors["tiles.property"].tolist() == [4, 4]
    assert tensors["tiles.lower"].shape == tensors["tiles.upper"].shape == (2, 2, 3)


@pytest.mark.slow
def test_where_one_parameter_matters_the_witness_has_a_radius_for_each() -> None:
    """w x + b ≥ 0 at x = (1, 0, …): the other weights are free, so a radius a parameter is best."""
    n = 20
    law = DiagonalGaussian(vector(*[0.0] * n, 1.0), torch.full((n + 1,), 0.3, dtype=torch.float64))
    x = torch.zeros(1, n, dtype=torch.float64)
    x[0, 0] = 1.0
    one = torch.ones(1, 1, dtype=torch.float64)
    safe = Safe(mlp(n, 1), Properties(Box.point(x), one[None], 0 * one), IntervalVerifier())
    for rule in (LinearRule.fedavg([1, 1]), TrimmedMean.median(2)):
        certificate = certify_boxes([law, law], rule, safe, MeanBox())
        tensors = certificate.witness.tensors
        assert tensors["radius.row"].tolist() == [0]
        assert tensors["radius.parameter"][0, 0] < tensors["radius.parameter"][0, 1]
        assert certificate.lower.item() > 0.5
