import pytest
import torch

from fedcert.errors import InvalidProperty, ShapeMismatch
from fedcert.model.properties import linf_robustness
from fedcert.model.robustness import Origin

X, LABELS = [[0.5, 0.5], [0.25, 1.0], [0.0, 0.5]], [1, 0, 1]


def test_properties_know_what_they_mean_and_parts_of_them_too() -> None:
    origin = Origin("mnist", "random", 10, 3, torch.tensor([7, 1, 4]))
    asked = linf_robustness(X, LABELS, 0.1, 0.5, 2, origin=origin)
    part = asked[torch.tensor([True, False, True])].to("cpu").subject
    assert part is not None
    assert part.inputs.tolist() == [X[0], X[2]]
    assert (part.labels.tolist(), part.indices.tolist()) == ([1, 1], [7, 4])
    assert (part.radius.tolist(), part.margin, part.domain) == ([0.1, 0.1], 0.5, (0.0, 1.0))
    assert asked[1:2].subject is not None
    unknown = linf_robustness(X, LABELS, 0.1, classes=2).subject
    assert unknown is not None
    assert unknown[:2].indices.tolist() == [-1, -1]
    assert unknown.to("cpu").origin.chosen == "given"


def test_each_input_has_its_own_radius() -> None:
    together = linf_robustness(X, LABELS, [0.0, 0.125, 0.25], classes=2)
    for i, radius in enumerate((0.0, 0.125, 0.25)):
        alone = linf_robustness(X[i : i + 1], LABELS[i : i + 1], radius, classes=2)
        assert torch.equal(together.regions.lower[i], alone.regions.lower[0])
        assert torch.equal(together.regions.upper[i], alone.regions.upper[0])


def test_radii_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeMismatch, match=r"shape \(2,\) for 3 inputs: .* for several radii call once"):
        linf_robustness(X, LABELS, [0.1, 0.2], classes=2)
    with pytest.raises(InvalidProperty, match="epsilon"):
        linf_robustness(X, LABELS, [0.1, 0.2, float("nan")], classes=2)
