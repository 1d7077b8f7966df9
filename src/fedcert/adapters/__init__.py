"""Posteriors, networks and properties of other libraries, each of which is imported when it is used."""

from fedcert.adapters.bayesian_torch import from_bayesian_torch as from_bayesian_torch
from fedcert.adapters.ivon import from_ivon as from_ivon
from fedcert.adapters.laplace import from_laplace as from_laplace
from fedcert.adapters.onnx import from_onnx as from_onnx
from fedcert.adapters.posterior import Posterior as Posterior
from fedcert.adapters.posteriors import from_posteriors as from_posteriors
from fedcert.adapters.pyro import from_pyro as from_pyro
from fedcert.adapters.state_dicts import from_state_dicts as from_state_dicts
from fedcert.adapters.vnnlib import from_vnnlib as from_vnnlib
