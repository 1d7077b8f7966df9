"""Which pixels a kernel sees: against torch's own unfolding, and what is refused."""

import pytest
import torch
from problems import normal
from torch.nn import functional

from fedcert.errors import ShapeMismatch
from fedcert.model.layers.windows import Windows
from fedcert.randomness import stream

CASES = [
    Windows((1, 3, 3), (2, 2)),
    Windows((2, 5, 4), (3, 2), (2, 1), (1, 0), (1, 2)),
    Windows((4, 3, 3), (2, 2), (3, 3), (2, 2), groups=2),
    Windows((3, 4, 4), (2, 2), (2, 2), groups=3),
    Windows((1, 2, 2), (1, 1), (3, 3)),  # most pixels are seen by nobody
]


@pytest.mark.parametrize("windows", CASES, ids=str)
def test_gathering_is_unfolding_and_scattering_its_transpose(windows: Windows) -> None:
    x = normal(stream(0, "windows"), 2, windows.pixels)
    options = {"dilation": windows.dilation, "padding": windows.padding, "stride": windows.stride}
    unfolded = functional.unfold(x.unflatten(-1, windows.image), windows.kernel, **options)
    seen = windows.gather(x)
    assert torch.equal(seen.mT.flatten(1, 2), unfolded)
    y = normal(stream(1, "windows"), *seen.shape)
    torch.testing.assert_close((seen * y).sum((1, 2, 3)), (x * windows.scatter(y)).sum(-1))
    assert windows.scatter(torch.ones_like(y)).max() == windows.overlap


@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kernel": (4, 1)}, "do not fit"),
        ({"dilation": (3, 1)}, "do not fit"),
        ({"stride": (0, 1)}, "stride"),
        ({"padding": (-1, 0)}, "padding"),
        ({"kernel": (2, 2.0)}, "kernel"),
        ({"kernel": [2, 2]}, "kernel"),
        ({"image": (3, 3)}, "image"),
        ({"image": (True, 3, 3)}, "image"),
        ({"groups": 2}, "groups"),
    ],
)
def test_what_makes_no_windows_is_refused(change: dict, words: str) -> None:
    with pytest.raises(ShapeMismatch, match=words):
        Windows(**{"image": (1, 3, 3), "kernel": (2, 2), **change})
