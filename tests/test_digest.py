import torch

from fedcert.digest import digest


def test_the_order_and_layout_do_not_matter_but_every_part_of_the_content_does() -> None:
    a, b = torch.arange(6.0).reshape(2, 3), torch.tensor([True, False])
    header = {"x": "1", "y": "2"}
    whole = digest(header, {"a": a, "b": b})
    assert whole == digest({"y": "2", "x": "1"}, {"b": b, "a": a.mT.contiguous().mT})
    others = [
        digest({"x": "1", "y": "3"}, {"a": a, "b": b}),
        digest({"x": "1"}, {"a": a, "b": b}),
        digest({"x1": "", "y": "2"}, {"a": a, "b": b}),
        digest(header, {"a": a.reshape(3, 2), "b": b}),
        digest(header, {"a": a.double(), "b": b}),
        digest(header, {"a": a, "c": b}),
        digest(header, {"a": a}),
        digest(header, {"a": a + 1e-6, "b": b}),
        digest({}, {"a": a, "b": b}),
    ]
    assert len({whole, *others}) == len(others) + 1


def test_empty_and_scalar_tensors_have_digests() -> None:
    shapes = [torch.zeros(0), torch.zeros(0, 3), torch.zeros(()), torch.zeros(1)]
    assert len({digest({}, {"a": tensor}) for tensor in shapes}) == 4
