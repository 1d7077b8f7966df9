"""Fixed layers in front of random ones: what the random ones read lies in a box, where nothing is random."""

from fedcert.errors import InvalidLaw
from fedcert.families.projected.layers import first_random
from fedcert.laws.block import BlockGaussian
from fedcert.laws.dense import DenseGaussian
from fedcert.laws.protocol import DiagonalLaw, GaussianLaw
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.numerics.rounding import down, up
from fedcert.verify.interval import layer_parameters, region_bounds


def of_features(network: Network, law: GaussianLaw, properties: Properties) -> Properties:
    """The same constraints on a box of what `random_layers` read: intervals, layer by layer.

    The network violates a property only if its random layers do so somewhere in the box.

    Args:
        network: f_θ.
        law: under which the layers before `first_random` are fixed.
        properties: of the network.
    """
    start = first_random(network)
    if start == 0:
        return properties
    if not isinstance(law, DiagonalLaw | DenseGaussian | BlockGaussian):
        raise InvalidLaw(f"features under a {type(law).__name__}: its means may have errors")
    loc, error = law.loc.unsqueeze(0), law.loc_error
    boxes = Box.point(loc) if error is None else Box(down(loc - error), up(loc + error))
    bounds = region_bounds(network, properties.regions)
    parameters = layer_parameters(network, boxes)
    for layer, own in zip(network.layers[:start], parameters, strict=False):
        bounds = layer.interval(own, bounds)
    lower, upper = (end.reshape(len(properties), -1) for end in bounds)
    return Properties(Box(lower, upper), properties.C, properties.d)
