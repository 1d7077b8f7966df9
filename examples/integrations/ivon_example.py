"""IVON: `python ivon_example.py DIR`, then `fedcert check DIR`."""

import sys

from iris import CLIENTS, X, Y, network
from ivon import IVON
from torch.nn.functional import cross_entropy

import fedcert
from fedcert.adapters import from_ivon

posteriors = []
for x, y in CLIENTS:
    model = network()
    optimizer = IVON(model.parameters(), lr=0.5, ess=10 * len(x), beta2=0.999)
    for _ in range(200):
        with optimizer.sampled_params(train=True):
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
        optimizer.step()
    posteriors.append(from_ivon(model, optimizer))
result = fedcert.certify_classification(posteriors, x=X, y=Y, epsilon=0.01)
print(result, result.save(sys.argv[1]))
