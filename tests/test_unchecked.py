"""Shapes and dtypes that the annotations forbid are refused without the annotations, too.

Annotations are checked while tests run and not in a user's program, so each case runs with jaxtyping off.
"""

import numpy as np
import pytest
import torch

from fedcert.errors import FedcertError, InvalidMessage, ShapeMismatch
from fedcert.families.cells import Cells
from fedcert.federation.client import client
from fedcert.federation.server import server
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.model.network import mlp
from fedcert.model.properties import Properties, linf_robustness
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import LinearRule
from fedcert.verify import Safe
from fedcert.verify.interval import IntervalVerifier

pytestmark = pytest.mark.usefixtures("without_annotations")

ONE = torch.ones(2, dtype=torch.float64)
BOX = Box.point(torch.zeros(2, 3, dtype=torch.float64))
LAW = DiagonalGaussian(ONE, ONE)

REFUSED = {
    "float32 loc_error": lambda: DiagonalGaussian(ONE, ONE, ONE.float()),
    "complex law": lambda: DiagonalGaussian(ONE.to(torch.complex128), ONE),
    "truth values for a law": lambda: DiagonalGaussian(ONE, ONE.bool()),
    "integers beyond double precision": lambda: Box.point(torch.tensor([2**53 + 1])),
    "words for a law": lambda: DiagonalGaussian(["one"], ["two"]),
    "float32 masses": lambda: Cells(BOX[:1], torch.zeros(1), torch.ones(1, 1, dtype=torch.bool)),
    "float32 other masses": lambda: Cells.shared(BOX[:1], ONE[:1]).with_mass(torch.zeros(1)),
    "column law": lambda: DiagonalGaussian(ONE[:, None], ONE[:, None]),
    "3-D weights": lambda: LinearRule.average(ONE[:, None, None] / 2),
    "1-D weights": lambda: LinearRule(ONE),
    "integer members": lambda: Cells(BOX, ONE.log(), torch.tensor([[1, 2]])),
    "2-D masses": lambda: Cells(BOX, ONE[:, None], torch.ones(1, 2, dtype=torch.bool)),
    "regions with another axis": lambda: Properties(
        Box.point(torch.ones(4, 1, 1, dtype=torch.float64)),
        torch.ones(4, 1, 1, dtype=torch.float64),
        torch.zeros(4, 1, dtype=torch.float64),
    ),
    "1-D regions": lambda: Properties(Box.point(ONE), torch.ones(2, 1, 2, dtype=torch.float64), ONE[:, None]),
    "2-D constraints": lambda: Properties(BOX, ONE[:, None], ONE[:, None]),
    "no constraints": lambda: linf_robustness(torch.zeros(1, 2), torch.tensor([0]), 0.1, classes=1),
    "bool labels": lambda: linf_robustness(torch.zeros(2, 2), torch.tensor([True, True]), 0.1, classes=2),
    "float labels": lambda: linf_robustness(torch.zeros(2, 2), torch.tensor([1.0, 0.0]), 0.1, classes=2),
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_what_would_break_a_bound_is_refused(make) -> None:
    with pytest.raises(FedcertError):
        make()


def test_labels_of_bytes_are_labels() -> None:
    labels = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6, 5, 3])
    x = torch.zeros(10, 2)
    assert torch.equal(linf_robustness(x, labels.to(torch.uint8), 0.1).C, linf_robustness(x, labels, 0.1).C)


def test_a_verifier_that_answers_another_question_is_refused() -> None:
    properties = linf_robustness(torch.zeros(3, 2), torch.tensor([0, 1, 0]), 0.1, classes=2)
    boxes = Box.point(torch.zeros(2, mlp(2, 2).parameters, dtype=torch.float64))
    safe = Safe(mlp(2, 2), properties, lambda network, boxes, properties: torch.ones(2, 2, dtype=torch.bool))
    with pytest.raises(ShapeMismatch, match="a verifier answered"):
        safe(boxes)
    with pytest.raises(ShapeMismatch, match="Safe pairs them itself"):
        Safe(mlp(2, 2), properties.each(), IntervalVerifier())
    with pytest.raises(ShapeMismatch, match="cannot be paired"):
        safe.pairs(boxes)


def test_one_client_does_not_count_twice() -> None:
    network = mlp(1, 1)
    law = DiagonalGaussian(ONE, ONE)
    properties = Properties(Box.point(ONE[:1, None]), ONE[:1, None, None], ONE[:1, None])
    message = client("ada", law, 10, stream(0))
    rule = LinearRule.fedavg([1, 1])
    with pytest.raises(InvalidMessage, match="two messages of one client"):
        next(server([message, message], rule, network, properties))


def test_flushed_denormals_are_refused() -> None:
    network = mlp(1, 1)
    properties = Properties(Box.point(ONE[:1, None]), ONE[:1, None, None], ONE[:1, None])
    safe = Safe(network, properties, IntervalVerifier())
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush denormal numbers")
    try:
        with pytest.raises(FloatingPointError, match="flushed"):
            safe(Box.point(torch.zeros(1, 2, dtype=torch.float64)))
    finally:
        torch.set_flush_denormal(False)


def test_constructors_take_arrays_single_precision_and_parameters_that_require_grad() -> None:
    loc, scale = torch.tensor([0.1, 2.5, -3.0]), torch.ones(3)
    law = DiagonalGaussian(loc.requires_grad_(), scale.numpy())
    assert not law.loc.requires_grad
    assert law.loc.tolist() == loc.double().tolist()
    assert GaussianMixture((law, law), [1, 1]).weights.dtype == torch.float64
    assert Box(np.zeros((1, 2)), [[1.0, 1.0]]).upper.tolist() == [[1.0, 1.0]]
    properties = Properties(Box.point(np.zeros((1, 2))), np.ones((1, 1, 2), dtype=np.float32), [[0.5]])
    assert properties.C.dtype == properties.d.dtype == torch.float64
