"""The client: trains a posterior on its own data and replies once."""

from flwr.app import Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from certified_federation.task import train
from fedcert.flower import pack

app = ClientApp()


@app.train()
def send(message: Message, context: Context) -> Message:
    """Train from the server's parameters."""
    trained = train(context, message.content["arrays"])
    arrays = pack(trained.posterior, trained.client, trained.examples)
    metrics = MetricRecord({"num-examples": trained.examples})
    return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)
