import hashlib

import numpy as np
import pytest
import torch

from fedcert_check.digest import digest

HEADER = {"client": "a", "version": "1"}
X = torch.arange(6, dtype=torch.float64)


def test_the_digest_is_that_of_the_documented_bytes() -> None:
    pieces = [b"1", b"client", b"a", b"x", b"<f8(2,)", np.array([1.0, 2.0]).tobytes()]
    expected = hashlib.sha256(b"".join(len(p).to_bytes(8, "little") + p for p in pieces)).hexdigest()
    assert digest({"client": "a"}, {"x": torch.tensor([1.0, 2.0], dtype=torch.float64)}) == expected


def test_order_layout_and_library_do_not_matter() -> None:
    expected = digest(HEADER, {"x": X, "y": X.reshape(2, 3)})
    assert digest(dict(reversed(HEADER.items())), {"y": X.reshape(2, 3), "x": X}) == expected
    assert digest(HEADER, {"x": X.numpy(), "y": X.numpy().reshape(2, 3)}) == expected
    assert digest(HEADER, {"x": X.repeat_interleave(2)[::2], "y": X.reshape(2, 3)}) == expected
    assert digest(HEADER, {"x": X.numpy().astype(">f8"), "y": X.reshape(2, 3).mT.contiguous().mT}) == expected


@pytest.mark.parametrize(
    ("header", "tensors"),
    [
        (HEADER | {"version": "2"}, {"x": X}),
        (HEADER | {"more": ""}, {"x": X}),
        ({"client": "aversion", "": "1"}, {"x": X}),
        (HEADER, {"y": X}),
        (HEADER, {}),
        (HEADER, {"x": X, "y": X}),
        (HEADER, {"x": X.float()}),
        (HEADER, {"x": X.long()}),
        (HEADER, {"x": X.reshape(2, 3)}),
        (HEADER, {"x": X.reshape(6, 1)}),
        (HEADER, {"x": X[:5]}),
        (HEADER, {"x": -X}),
        (HEADER, {"x": torch.cat([-X[:1], X[1:]])}),
        (HEADER, {"x": torch.nextafter(X, X + 1)}),
    ],
)
def test_any_other_content_has_another_digest(
    header: dict[str, str], tensors: dict[str, torch.Tensor]
) -> None:
    assert digest(header, tensors) != digest(HEADER, {"x": X})
