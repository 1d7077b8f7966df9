"""How much faster is the batched interval verifier than a straightforward loop over boxes and properties?

The loop follows the paper's text: for each box and property it forms the four corner products of every
weight and input and takes their least and greatest (eqs. ibp_min, ibp_max), without charging rounding.
Both see the same boxes and properties in the same process; the figure to read is the ratio.

    python benchmarks/interval_verifier.py [--boxes 64] [--properties 50] [--hidden 64] [--device cpu]
"""

import argparse
import time

import torch
from torch import Tensor

from fedcert.model.layers import Linear
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties, linf_robustness
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.verify import Safe
from fedcert.verify.interval import IntervalVerifier


def looped(network: Network, boxes: Box, properties: Properties) -> Tensor:
    """The paper's verifier, one box and one property at a time."""
    proven = torch.zeros(len(boxes), len(properties), dtype=torch.bool)
    for b in range(len(boxes)):
        for p in range(len(properties)):
            proven[b, p] = single(network, boxes[b], properties, p)
    return proven


def single(network: Network, box: Box, properties: Properties, p: int) -> bool:
    low, high = properties.regions.lower[p], properties.regions.upper[p]
    parameters = zip(network.unflatten(box.lower), network.unflatten(box.upper), strict=True)
    for layer, (lower, upper) in zip(network.layers, parameters, strict=True):
        if isinstance(layer, Linear):
            corners = torch.stack([w * x for w in (lower[0], upper[0]) for x in (low, high)])
            low = corners.amin(0).sum(-1) + lower[1]
            high = corners.amax(0).sum(-1) + upper[1]
        else:
            low, high = low.clamp(min=0), high.clamp(min=0)
    C = properties.C[p]
    margins = C.clamp(min=0) @ low + C.clamp(max=0) @ high + properties.d[p]
    return bool((margins >= 0).all())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--boxes", type=int, default=64)
    parser.add_argument("--properties", type=int, default=50)
    parser.add_argument("--hidden", default="64")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()

    network = mlp(784, *(int(width) for width in options.hidden.split(",")), 10)
    generator = stream(0, "benchmark")
    theta = network.initialise(generator).double()
    noise = torch.randn(options.boxes, len(theta), generator=generator, dtype=torch.float64)
    boxes = Box.around(theta + 1e-5 * noise, 7e-5).to(options.device)
    x = torch.rand(options.properties, 784, generator=generator, dtype=torch.float64)
    label = network(theta, x).argmax(-1)
    properties = linf_robustness(x, label, 1e-3).to(options.device)

    safe = Safe(network, properties, IntervalVerifier())
    safe(boxes[:1])  # warm up
    start = time.perf_counter()
    batched = safe(boxes)
    if options.device != "cpu":
        torch.cuda.synchronize()
    batched_seconds = time.perf_counter() - start
    start = time.perf_counter()
    naive = looped(network, boxes, properties)
    naive_seconds = time.perf_counter() - start
    agree = (batched.cpu() == naive).double().mean().item()
    pairs = options.boxes * options.properties
    print(
        f"784-{options.hidden}-10, {options.boxes} boxes × {options.properties} properties, {options.device}"
    )
    print(f"loop:    {1e6 * naive_seconds / pairs:10.1f} µs a box and property")
    print(f"batched: {1e6 * batched_seconds / pairs:10.1f} µs a box and property, rounding charged")
    print(f"ratio:   {naive_seconds / batched_seconds:10.1f}   (verdicts agree on {100 * agree:.2f} %)")


if __name__ == "__main__":
    main()
