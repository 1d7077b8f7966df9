"""Confidence bounds: normals within their charge, and verdicts on drawn networks, in exact arithmetic."""

from collections.abc import Iterator

import numpy as np
import torch
from flint import arb, fmpq
from problems import uniform

from fedcert.confidence.cascade import Asked, breaks, judge
from fedcert.confidence.chain import chain_of
from fedcert.confidence.deployed import Drawn
from fedcert.confidence.draws import CHARGE, LEAST_WORD, box_muller
from fedcert.model.layers import AvgPool2d, Layer, Linear, ReLU
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert_check.confidence import verdict as checker
from fedcert_check.confidence.network import layers_of
from fedcert_check.confidence.normals import normals as checker_normals
from fedcert_check.layers import Network as StatedNetwork
from fedcert_check.properties import Properties as StatedProperties
from fuzz.balls import EXACT, balls, dot, precision, sharply
from fuzz.hostile import choice
from fuzz.images import CONVOLUTIONS
from fuzz.networks import BOXES, PROPERTIES, forward, least_margins, problem
from fuzz.verdicts import Verdict

CELLS, TOP = 20, 2**64 - 1


def words(generator: torch.Generator, least: int) -> list[int]:
    """Words of all magnitudes, from either end of their range."""
    found = []
    for bits in torch.randint(1, 65, (CELLS,), generator=generator).tolist():
        word = int(torch.randint(2**62, (1,), generator=generator)) >> max(0, 62 - bits)
        found.append(max(least, min(TOP, word if bits % 2 else TOP - word)))
    return found


def normals(generator: torch.Generator) -> Iterator[Verdict]:
    """What is computed of two words, against √(−2 log u) cos 2πv and its sine for digits drawn at random."""
    radial, angular = words(generator, LEAST_WORD), words(generator, 0)
    arrays = (np.array(own, dtype=np.uint64) for own in (radial, angular))
    pair = tuple(arrays)
    found = [function(*pair).reshape(2, CELLS) for function in (box_muller, checker_normals)]
    digits = (uniform(generator, 2, CELLS) * 2**40).long().tolist()
    with precision(300):
        for i in range(CELLS):
            u, v = ((own[i] + fmpq(digits[j][i], 2**40)) / 2**64 for j, own in enumerate((radial, angular)))
            distance, angle = (-2 * arb(u).log()).sqrt(), 2 * arb(v)
            exact = distance * angle.cos_pi(), distance * angle.sin_pi()
            off = max(abs(arb(own[j, i]) - exact[j]).upper() for own in found for j in (0, 1))
            yield Verdict(bool(off <= CHARGE), True, f"words {radial[i]}, {angular[i]}: off by {off}")


def drawn_networks(
    generator: torch.Generator, network: Network | None
) -> tuple[Network, Drawn, Properties, Box]:
    """Networks of hostile numbers with a radius, and boxes of parameters within it."""
    network, boxes, properties = problem(generator, network)
    sizes = [torch.Size(shape).numel() for layer in network.layers for shape in layer.shapes]
    share = choice(generator, 0.0, 2.0**-40, 2.0**-25, 2.0**-8)
    radius = torch.stack([part.abs().amax() * share for part in boxes.lower.split(sizes, -1)])
    each = radius.repeat_interleave(torch.tensor(sizes)) * (1 - 2.0**-40)
    inside = Box(boxes.lower - each, boxes.lower + each)
    within = (boxes.lower - inside.lower).abs().amax() <= radius.amax()
    return network, Drawn(boxes.lower, radius), properties, inside if within else Box.point(boxes.lower)


def images(generator: torch.Generator) -> Iterator[Verdict]:
    """The same with convolutions and means over windows."""
    layers: list[Layer] = [choice(generator, *CONVOLUTIONS)]
    layers += [ReLU()] if choice(generator, True, False) else []
    if choice(generator, True, False):
        shape = Network(tuple(layers)).value_shapes[-1]
        layers.append(AvgPool2d(shape, (1, min(2, shape[2])), (1, 1), choice(generator, (0, 0), (1, 0))))  # type: ignore[arg-type]
    yield from networks(generator, Network((*layers, Linear(Network(tuple(layers)).outputs, 2))))


def networks(generator: torch.Generator, own_network: Network | None = None) -> Iterator[Verdict]:
    """Proven networks hold at sampled parameters and inputs, broken ones fail; the checker proves no less."""
    network, drawn, properties, inside = drawn_networks(generator, own_network)
    chain, asked = chain_of(network, drawn), Asked.of(properties)
    own = judge(chain, asked)
    corner = asked.low.expand(BOXES, -1, -1)
    broken = breaks(chain, corner, asked)
    stated = StatedNetwork.read(network.describe())
    tensors = (properties.regions.lower, properties.regions.upper, properties.C, properties.d)
    plain = StatedProperties(*(tensor.numpy() for tensor in tensors))
    sizes = torch.tensor([torch.Size(shape).numel() for layer in network.layers for shape in layer.shapes])
    radius = drawn.radius.repeat_interleave(sizes).numpy()
    for b in range(BOXES):
        theirs = checker.judge(layers_of(stated, drawn.centre[b].numpy(), radius), plain)
        with precision(EXACT):
            for p in range(PROPERTIES):
                truths = least_margins(network, inside[b], properties, p, generator)
                safe = all(truth >= 0 for truth in truths)
                sound = safe or not (own.proven[b, p] or theirs.proven[p])
                if broken[b, p]:
                    sound = sound and at_corner(network, inside[b], properties, p) < 0
                decided = bool(own.proven[b, p] or own.broken[b, p])
                agreed = not own.proven[b, p] or theirs.proven[p]
                yield Verdict(bool(sound), decided, f"{network} network {b} property {p}", bool(agreed))


def at_corner(network: Network, box: Box, properties: Properties, p: int) -> arb:
    """The least constraint at the lower corner of a region, for the greatest of both ends of the box."""
    C, d = balls(properties.C[p]), balls(properties.d[p])
    found = []
    for theta in (box.lower, box.upper):
        z = forward(network, theta, properties.regions.lower[p])
        found.append(min(sharply(dot(row, z) + own).mid() for row, own in zip(C, d, strict=True)))
    return max(found)
