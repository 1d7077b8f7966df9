import torch

from fedcert.model.properties import linf_robustness
from fedcert.model.robustness import Origin, Robustness
from fedcert.wire.subject import describe_subject, read_subject, subject_tensors


def same(one: Robustness, other: Robustness) -> bool:
    return describe_subject(one) == describe_subject(other) and all(
        torch.equal(a, b)
        for a, b in zip(subject_tensors(one).values(), subject_tensors(other).values(), strict=True)
    )


def test_a_subject_is_read_as_it_was_written() -> None:
    for indices in (None, torch.tensor([3, 5])):
        origin = Origin("mnist", "random", 10, 3, indices)
        subject = linf_robustness([[0.5], [0.25]], [1, 0], [0.1, 0.2], 0.5, 2, origin=origin).subject
        assert subject is not None
        found = read_subject(describe_subject(subject), subject_tensors(subject))
        assert found is not None
        assert same(found, subject)
        assert (found.origin.indices is None) == (indices is None)
    assert read_subject(None, {}) is None
    assert subject_tensors(None) == {}
