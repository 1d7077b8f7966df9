"""laplace-torch, last layer: `python laplace_torch_last_layer_example.py DIR`, then `fedcert check DIR`."""

import sys

from iris import CLIENTS, X, Y, network, trained
from laplace import Laplace
from torch.utils.data import DataLoader, TensorDataset

import fedcert
from fedcert.adapters import from_laplace

posteriors = []
for x, y in CLIENTS:
    model = trained(network(), x, y)
    la = Laplace(model, "classification", "last_layer", "full", prior_precision=100.0)
    la.fit(DataLoader(TensorDataset(x, y), batch_size=len(x)))
    posteriors.append(from_laplace(la))
result = fedcert.certify_classification(posteriors, x=X, y=Y, epsilon=0.01)
print(result, result.save(sys.argv[1]))
