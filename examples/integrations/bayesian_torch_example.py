"""bayesian-torch: `python bayesian_torch_example.py DIR`, then `fedcert check DIR`."""

import sys

from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn, get_kl_loss
from iris import CLIENTS, X, Y, network, trained

import fedcert
from fedcert.adapters import from_bayesian_torch

PRIOR = {"prior_mu": 0.0, "prior_sigma": 1.0, "posterior_mu_init": 0.0, "posterior_rho_init": -4.0}
POSTERIOR = {"type": "Reparameterization", "moped_enable": True, "moped_delta": 0.1}
posteriors = []
for x, y in CLIENTS:
    model = network()
    dnn_to_bnn(model, PRIOR | POSTERIOR)
    posteriors.append(from_bayesian_torch(trained(model, x, y, penalty=get_kl_loss)))
result = fedcert.certify_classification(posteriors, x=X, y=Y, epsilon=0.01)
print(result, result.save(sys.argv[1]))
