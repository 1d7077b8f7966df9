"""Pyro: `python pyro_example.py DIR`, then `fedcert check DIR`."""

import sys

import pyro
from iris import CLIENTS, X, Y, network
from pyro.distributions import Categorical, Normal
from pyro.infer import SVI, Trace_ELBO
from pyro.infer.autoguide import AutoNormal, init_to_value
from pyro.nn import PyroSample
from pyro.nn.module import to_pyro_module_
from torch import zeros

import fedcert
from fedcert.adapters import from_pyro

posteriors = []
for x, y in CLIENTS:
    pyro.clear_param_store()  # or this client would start where the one before it ended
    start = dict(network().named_parameters())
    to_pyro_module_(net := network())
    for name, own in start.items():
        setattr(net[int(name[0])], name[2:], PyroSample(Normal(zeros(own.shape), 3.0).to_event(own.dim())))

    def model(x, y, net=net):
        pyro.sample("species", Categorical(logits=net(x)).to_event(1), obs=y)

    guide = AutoNormal(model, init_loc_fn=init_to_value(values=start), init_scale=0.01)
    svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.02}), Trace_ELBO())
    losses = [svi.step(x, y) for _ in range(150)]  # stopped early: longer training widens the posterior
    posteriors.append(from_pyro(guide, net))
result = fedcert.certify_classification(posteriors, x=X, y=Y, epsilon=0.01)
print(result, result.save(sys.argv[1]))
