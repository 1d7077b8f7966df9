"""posteriors: `python posteriors_example.py DIR`, then `fedcert check DIR`."""

import sys

import torch
from iris import CLIENTS, X, Y, network, trained
from posteriors import model_to_function
from posteriors.laplace import diag_fisher
from torch.nn.functional import cross_entropy

import fedcert
from fedcert.adapters import from_posteriors

posteriors = []
for x, y in CLIENTS:
    model = trained(network(), x, y)

    def log_likelihood(parameters, batch, function=model_to_function(model)):  # noqa: B008
        return -cross_entropy(function(parameters, batch[0]), batch[1]), torch.tensor([])

    transform = diag_fisher.build(log_likelihood, init_prec_diag=100.0)
    state, _ = transform.update(transform.init(dict(model.named_parameters())), (x, y))
    posteriors.append(from_posteriors(model, state))
result = fedcert.certify_classification(posteriors, x=X, y=Y, epsilon=0.01)
print(result, result.save(sys.argv[1]))
