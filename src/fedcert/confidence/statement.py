"""Laws that no message states, as the file of a confidence bound states them: tensors, and a digest."""

import torch
from torch import Tensor

from fedcert.confidence.independent import weights_of
from fedcert.laws import BlockGaussian, DenseGaussian, Law, diagonal_components
from fedcert_check.confidence.seed import block_law_digest, law_digest


def law_tensors(law: Law) -> dict[str, Tensor]:
    """The tensors that state a law: as a mixture, or as a sum of blocks.

    Args:
        law: of a client.
    """
    if isinstance(law, DenseGaussian | BlockGaussian):
        return dict(BlockGaussian.of(law.to("cpu")).tensors())
    parts = diagonal_components(law)
    return {
        "loc": torch.stack([part.loc for part in parts]).cpu(),
        "scale": torch.stack([part.scale for part in parts]).cpu(),
        "weights": torch.tensor(weights_of(law), dtype=torch.float64),
    }


def digest_of(law: Law) -> str:
    """What stands for a law that no message states.

    Args:
        law: of a client.
    """
    tensors = {name: tensor.numpy() for name, tensor in law_tensors(law).items()}
    if "blocks" in tensors:
        return block_law_digest(tensors["loc"], tensors["blocks"], tensors["numbers"])
    return law_digest(list(tensors["loc"]), list(tensors["scale"]), tensors["weights"])
