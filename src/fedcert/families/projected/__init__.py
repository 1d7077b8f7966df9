"""Projected events: certificates from projections of the weights, not from the weights themselves.

A weight box pays for every weight. A layer only sees W h + b, which is Gaussian for a Gaussian law and
a given h, however many weights there are (docs/soundness.md, section 9). The modules, in order of data flow:

    layers     a Gaussian law, layer by layer
    rectified  relu(μ + t Z): the activations of the first hidden layer at the centre of the region
    spread     how far the region moves a pre-activation from its value at the centre
    relaxation lines instead of a ReLU
    centre     backward linear bounds: a linear form in the first activations at the centre, plus noise
    chernoff   tails and quantiles of such a form from its exponential moments
    inversion  its tail from its characteristic function, exact up to a charged error
    bound      all of these combined: an upper bound of the probability that a property is violated
    split      the choice of the failure probabilities, for each property
    references, chain, tails
               every ReLU a line, so that all noise is a sum of the clients' projections, for transport
    joined, dependent
               weights that depend on each other, within a layer or across layers
"""
