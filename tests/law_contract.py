"""What every law must fulfil, as functions that tests of any law can call."""

from contextlib import nullcontext

import torch

from fedcert.certificate import clopper_pearson
from fedcert.families.projected.layers import random_layers
from fedcert.laws import BoxMeasurable, GaussianLaw, Law
from fedcert.laws.affine import RandomAffine, RowNoise
from fedcert.laws.registry import StatedLaw, law_named
from fedcert.model.network import Network
from fedcert.numerics.box import Box
from fedcert.randomness import stream

SAMPLES = 4000
CONFIDENCE = 1 - 1e-9


def check_law(law: Law, network: Network, seed: int = 0) -> None:
    """Hold a law of a network's parameters to all that it offers."""
    generator = stream(seed, "law contract")
    assert isinstance(law, Law)
    samples = law.sample(SAMPLES, generator)
    assert samples.shape == (SAMPLES, law.dimension) == (SAMPLES, len(law.loc))
    assert samples.dtype == law.loc.dtype == torch.float64
    assert all(isinstance(component, GaussianLaw) for component in law.components)
    if isinstance(law, BoxMeasurable):
        check_masses(law, samples)
    for component in law.components:
        check_layers(component, network, generator)
    if isinstance(law, StatedLaw):
        check_statement(law)


def check_masses(law: BoxMeasurable, samples: torch.Tensor) -> None:
    """As many samples fall into a box as its bounds of mass say."""
    middle, spread = samples.mean(0), samples.std(0)
    for radius in (1.5, 3.0, 6.0):
        box = Box.around(middle, radius * spread)
        low, high = law.log_mass(box).exp().item(), law.log_mass_upper(box).exp().item()
        hits = int(((samples >= box.lower) & (samples <= box.upper)).all(-1).sum())
        least, most = clopper_pearson(hits, len(samples), CONFIDENCE)
        assert 0 <= low <= high <= 1
        assert low <= most
        assert high >= least


def check_layers(law: GaussianLaw, network: Network, generator: torch.Generator) -> None:
    """Each layer has the mean and the deviations, at a point and over a box, that samples of it show."""
    layers = random_layers(network, law)
    drawn = [own for own in network.unflatten(law.sample(SAMPLES, generator)) if own]
    assert len(layers) == len(drawn)
    for layer, (weight, bias) in zip(layers, drawn, strict=True):
        assert isinstance(layer, RandomAffine)
        assert (layer.outputs, layer.inputs) == weight.shape[-2:]
        rows = torch.randn(1, 1, layer.outputs, generator=generator, dtype=torch.float64)
        h = torch.randn(1, layer.inputs, generator=generator, dtype=torch.float64)
        noise = layer.noise(rows)
        assert isinstance(noise, RowNoise)
        values = (weight @ h[0] + bias) @ rows[0, 0]
        mean = layer.product(rows)[0][0, 0] @ h[0] + layer.offset(rows)[0].item()
        deviation = noise.at(h).item()
        assert abs(values.mean() - mean) <= 7 * deviation / SAMPLES**0.5
        assert 0.9 <= values.std() / deviation <= 1.1
        delta, u = h.abs(), torch.full((1,), 3.0, dtype=torch.float64)
        moved = (rows[0, 0] @ weight).abs() @ delta[0]
        assert (moved > layer.movement(rows, delta, u).item()).double().mean() <= 2 * torch.exp(-u * u / 2)


def check_statement(law: StatedLaw) -> None:
    """What a file says of the law makes the same law again."""
    tensors = law.tensors()
    assert set(tensors) == set(law.fields)
    again = law_named(law.kind).from_tensors(tensors, lambda field: nullcontext())
    assert type(again) is type(law)
    assert all(torch.equal(again.tensors()[field], tensor) for field, tensor in tensors.items())
