"""A client's posterior as an ArrayRecord: one array, whose bytes are those of the client's message file."""

from flwr.app import Array, ArrayRecord, RecordDict

from fedcert.api.inputs import AnyPosterior, as_laws
from fedcert.errors import InvalidMessage
from fedcert.families.cells import Cells
from fedcert.laws.registry import StatedLaw
from fedcert.wire.message import LIMITS, Message
from fedcert_check.visible import visible

KEY = "fedcert-message"
"""The name of the array."""
STYPE = "fedcert.message"
"""How its bytes are to be read: not as a numpy array, so that no other strategy averages them by mistake."""
MAX_SHOWN = 80  # characters of what a stranger sent


def pack(posterior: AnyPosterior, client: str = "", examples: int = 1) -> ArrayRecord:
    """What a client sends in place of its parameters.

    Args:
        posterior: a message, or what `fedcert.certify` takes: what a reader made, a law, or a pair of arrays
            (means, deviations).
        client: the client's name, unless a message states it; plain, and no other client's.
        examples: the number of examples that it was trained on, unless a message states it.

    Examples:
        >>> import numpy as np
        >>> record = pack((np.zeros(6), np.ones(6)), "clinic-a", examples=120)
        >>> list(record), record["fedcert-message"].stype
        (['fedcert-message'], 'fedcert.message')
    """
    (stated,) = as_laws([posterior])
    if not isinstance(stated, Message):
        if not isinstance(stated, StatedLaw):
            raise InvalidMessage(f"client {client}: law: no message can state a {type(stated).__name__}")
        stated = Message(client, stated, Cells.none(stated.dimension), examples)
    content = stated.encoded()
    return ArrayRecord({KEY: Array("uint8", (len(content),), STYPE, content)})


def unpack(reply: RecordDict) -> bytes:
    """The bytes of the message file in a client's reply; nothing of it is read yet.

    Args:
        reply: what the client sent; records beside the arrays are not looked at.
    """
    records = reply.array_records
    if len(records) != 1:
        raise InvalidMessage(f"arrays: {len(records)} array records, not the one that pack makes")
    (record,) = records.values()
    if list(record) != [KEY]:
        names = visible(", ".join(map(repr, record)))[:MAX_SHOWN]
        raise InvalidMessage(f"arrays: {names or 'nothing'} instead of a posterior: send what pack makes")
    array = record[KEY]
    if (array.stype, array.dtype) != (STYPE, "uint8") or tuple(array.shape) != (len(array.data),):
        declared = visible(f"{array.stype} of {array.dtype}, shape {tuple(array.shape)}")[:MAX_SHOWN]
        raise InvalidMessage(f"arrays: {KEY}: {len(array.data)} bytes declared as {declared}")
    if len(array.data) > LIMITS.file_bytes:
        raise InvalidMessage(f"arrays: {KEY}: {len(array.data)} bytes, more than {LIMITS.file_bytes}")
    return bytes(array.data)
