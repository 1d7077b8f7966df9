"""Means and deviations in two state dicts: `python state_dicts_example.py DIR`, then `fedcert check DIR`."""

import sys

import torch
from iris import CLIENTS, X, Y, network, trained

import fedcert

posteriors = []
for x, y in CLIENTS:
    model = trained(network(), x, y)
    deviations = {name: torch.full_like(mean, 0.05) for name, mean in model.state_dict().items()}
    posteriors.append(fedcert.from_state_dicts(model, model.state_dict(), deviations))
result = fedcert.certify_classification(posteriors, x=X, y=Y, epsilon=0.01)
print(result, result.save(sys.argv[1]))
