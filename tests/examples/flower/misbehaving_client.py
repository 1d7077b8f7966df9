"""Clients that do what no client should, one way for each partition; takes the place of the client app."""

import os
import signal
import struct
import time

from flwr.app import Array, ArrayRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from certified_federation.task import train
from fedcert import DiagonalGaussian
from fedcert.flower import pack

app = ClientApp()


@app.train()
def send(message: Message, context: Context) -> Message:
    """Partition 0 is honest."""
    partition = int(context.node_config["partition-id"])
    if partition == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    while partition == 2:  # never answers; in short steps, for a signal interrupts no thread that sleeps
        time.sleep(0.2)
    trained = train(context, message.content["arrays"])
    law = trained.posterior
    if partition == 4:  # another network's
        law = DiagonalGaussian(law.loc[1:].clone(), law.scale[1:].clone())
    arrays = pack(law, trained.client, trained.examples)
    if partition == 3:
        arrays = with_nan(arrays, law.loc[0].item())
    return Message(RecordDict({"arrays": arrays}), reply_to=message)


def with_nan(arrays: ArrayRecord, first: float) -> ArrayRecord:
    """The same record with NaN in place of a mean; no message would let itself be made with it."""
    (name,) = arrays
    content = arrays[name].data
    assert content.count(struct.pack("<d", first)) == 1
    content = content.replace(struct.pack("<d", first), struct.pack("<d", float("nan")))
    return ArrayRecord({name: Array("uint8", (len(content),), arrays[name].stype, content)})
