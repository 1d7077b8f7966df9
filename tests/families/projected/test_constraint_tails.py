import numpy as np
import torch
from problems import normal, uniform

from fedcert.families.projected.centre import LinearForm
from fedcert.families.projected.constraint_tails import _row, _rows
from fedcert.randomness import stream


def test_many_forms_on_a_device_are_those_that_a_processor_sees_one_by_one() -> None:
    generator = stream(0, "forms")
    P, R, k = 3, 2, 4
    later = tuple(uniform(generator, P, R) for _ in range(2))
    lowest = [own / 2 for own in later]
    parts = [
        normal(generator, P, R),
        *(normal(generator, P, R, k) for _ in range(3)),
        uniform(generator, P, R),
    ]
    form = LinearForm(*parts, later, uniform(generator, P, k))
    chosen = torch.tensor([[True, False], [True, True], [False, True]])
    rows = _rows(form, lowest, chosen)
    for place, (p, r) in enumerate(chosen.nonzero().tolist()):
        one = _row(form, lowest, p, r)
        assert (rows.constant[place].item(), rows.bias_noise[place].item()) == (one.constant, one.bias_noise)
        for name in ("coefficient", "noise", "mean", "deviation"):
            assert np.array_equal(getattr(rows, name)[place].numpy(), getattr(one, name))
        ends = zip(rows.lowest[place].tolist(), rows.highest[place].tolist(), strict=True)
        assert tuple(ends) == one.later
