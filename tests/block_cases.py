"""One block of each type, and what it makes of normals in exact arithmetic."""

from flint import arb
from fuzz.balls import balls, dot
from problems import normal, uniform

from fedcert.laws import DenseBlock, DiagonalBlock, KroneckerBlock
from fedcert.laws.block_protocol import Block
from fedcert.randomness import stream

GENERATOR = stream(0, "blocks")
BLOCKS = (
    DiagonalBlock(3, uniform(GENERATOR, 4)),
    DenseBlock(0, normal(GENERATOR, 5, 2)),
    KroneckerBlock(1, normal(GENERATOR, 2, 2), normal(GENERATOR, 3, 3), uniform(GENERATOR, 2, 3)),
)


def exact_matrix(block: Block) -> list[list[arb]]:
    """T, in the precision that is set."""
    match block:
        case DiagonalBlock():
            scale = balls(block.scale)
            return [[own if a == q else arb(0) for q in range(len(scale))] for a, own in enumerate(scale)]
        case DenseBlock():
            return balls(block.factor)
        case KroneckerBlock():
            U, V, D = balls(block.left), balls(block.right), balls(block.scale)
            places = [(a, b) for a in range(len(U)) for b in range(len(V))]
            return [[U[i][a] * V[j][b] * D[a][b] for a, b in places] for i, j in places]
    raise TypeError(type(block).__name__)


def exact_noise(matrix: list[list[arb]], z: list[float] | list[arb]) -> list[arb]:
    """T z, in the precision that is set."""
    return [dot(row, [arb(own) for own in z]) for row in matrix]
