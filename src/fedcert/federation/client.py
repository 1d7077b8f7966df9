"""The client: what it sends, once."""

import torch

from fedcert.families.paper_box.events import PaperBox
from fedcert.laws import DiagonalGaussian
from fedcert.progress import Tracker, silent
from fedcert.verify import Safe
from fedcert.wire.message import Message


def client(
    name: str,
    law: DiagonalGaussian,
    examples: int,
    generator: torch.Generator,
    events: PaperBox | None = None,
    screen: Safe | None = None,
    track: Tracker = silent,
) -> Message:
    """What a client sends, once: its posterior, its cells and how many examples it has seen.

    Args:
        name: the client's name.
        law: its posterior q_i.
        examples: the number of its training examples.
        generator: the source of randomness.
        events: how cells are made; the paper's values where None.
        screen: keeps only cells that are proven safe locally, for each property; None keeps all.
        track: shows progress.

    Examples:
        >>> from fedcert import DiagonalGaussian, stream
        >>> law = DiagonalGaussian(torch.zeros(3).double(), torch.ones(3).double())
        >>> client("clinic-a", law, 120, stream(0)).events
        'paper-box'
    """
    events = events or PaperBox()
    return Message(name, law, events.cells(law, screen, generator, track), examples, events.name)
