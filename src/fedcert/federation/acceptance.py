"""Which messages the server accepts, and what it does about those it refuses."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fedcert.errors import FedcertError, InvalidConfig, InvalidMessage, ShapeMismatch, TooFewClients
from fedcert.laws.enclosed import EnclosedGaussian
from fedcert.wire.message import LIMITS, Message
from fedcert_check.tensorfile import Limits
from fedcert_check.visible import visible


@dataclass(frozen=True)
class Expected:
    """What the server knows before any message arrives.

    Attributes:
        clients: how many clients take part.
        parameters: n_w of the network that they train.
        properties: how many properties are certified.
        events: the family of events that cells were asked for; None where none were, and none are used.
        limits: the most that a message file may hold.
        names: of the clients, in their order, where the data name them.
    """

    clients: int
    parameters: int
    properties: int
    events: str | None
    limits: Limits = LIMITS
    names: tuple[str, ...] = ()

    def place(self, message: Message) -> tuple[int, int, str]:
        """A key that sorts messages: clients that the data name as they do, then others by their names.

        Args:
            message: of a client.
        """
        name = message.client
        return (self.names.index(name) if name in self.names else len(self.names), len(name), name)

    def load(self, path: Path) -> Message:
        """Read a message; a sound one for another network, other properties or other events raises too."""
        message = Message.load(path, self.limits)
        rows = len(message.cells.member)
        if isinstance(message.law, EnclosedGaussian):
            raise InvalidMessage(
                f"{path}: client {message.client}: law: a sum of clients' laws, not a client's"
            )
        if message.law.dimension != self.parameters:
            raise ShapeMismatch(
                f"{path}: client {message.client}: law.loc: {message.law.dimension} parameters, but the"
                f" network has {self.parameters}: all must train the same network"
            )
        if rows not in (1, self.properties):
            raise ShapeMismatch(
                f"{path}: client {message.client}: cells.member: {rows} rows for {self.properties} properties"
            )
        if self.events not in (None, message.events):
            raise InvalidMessage(
                f"{path}: client {message.client}: events: cells of the family {message.events}, but the"
                f" server asked for {self.events}: make cells of that family"
            )
        return message


@dataclass(frozen=True)
class Accepted:
    """The messages that the deployed rule is made for, and those it is not.

    Attributes:
        messages: in the order of the clients (`Expected.place`), which is that of the rule's weights.
        refused: each file that was refused, and each client without one, with the reason.
    """

    messages: list[Message]
    refused: dict[str, str]


def accept(
    paths: Sequence[Path],
    expected: Expected,
    min_clients: int | None = None,
    absent: Mapping[str, str] | None = None,
) -> Accepted:
    """Read the messages of a federation; hostile ones are refused, never silently.

    Without `min_clients` every client must have sent a sound message: the first that has not raises its
    own error. With it, the server continues with the sound ones if there are at least that many, and the
    caller makes the rule for these alone. Two messages of one name are both refused: nobody can tell
    which is the client's. Names that differ in upper and lower case alone are one name, since on some
    disks they are one file. More files than clients are an error always: a stranger must not join.

    Args:
        paths: the message files.
        expected: the network, the properties and the number of clients.
        min_clients: the minimum number of sound messages; None for one from every client.
        absent: clients that sent no message file, with the reasons, where these are known.
    """
    if min_clients is not None and not 1 <= min_clients <= expected.clients:
        raise InvalidConfig(
            f"min_clients (--min-clients): between 1 and {expected.clients}, not {min_clients}"
        )
    if len(paths) > expected.clients:
        raise InvalidMessage(
            f"{len(paths)} messages for {expected.clients} clients: remove the files that are none of theirs"
        )
    messages: dict[Path, Message] = {}
    errors: dict[Path, FedcertError] = {}
    for path in sorted(paths):
        try:
            messages[path] = expected.load(path)
        except FedcertError as error:
            errors[path] = error
    errors |= dict(_twice(messages))
    if errors and min_clients is None:
        raise next(iter(errors.values()))
    sound = sorted(
        (message for path, message in messages.items() if path not in errors),
        key=expected.place,
    )
    if len(sound) < (needed := expected.clients if min_clients is None else min_clients):
        reasons = "".join(f"; refused: {error}" for error in errors.values())
        reasons += "".join(f"; {visible(name)}: {visible(why)}" for name, why in (absent or {}).items())
        raise TooFewClients(
            f"{len(sound)} sound message{'' if len(sound) == 1 else 's'}, but {needed} clients are needed"
            f" (min_clients, --min-clients){reasons}"
        )
    refused = {path.name: str(error).removeprefix(f"{path}: ") for path, error in errors.items()}
    refused |= absent or {}
    return Accepted(sound, {visible(name): visible(reason) for name, reason in refused.items()})


def _twice(messages: dict[Path, Message]) -> Iterator[tuple[Path, FedcertError]]:
    """The messages whose client sent another one too."""
    count = Counter(message.client.casefold() for message in messages.values())
    for path, message in messages.items():
        if count[message.client.casefold()] > 1:
            yield (
                path,
                InvalidMessage(
                    f"{path}: client {message.client}: client: two messages of one name; its draws are not"
                    " independent"
                ),
            )
