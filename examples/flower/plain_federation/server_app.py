"""The server: one round, and what it makes of the clients' replies."""

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from certified_federation.task import initial_parameters, run_settings

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Ask all clients, and wait for their replies."""
    settings = context.run_config
    config = run_settings(settings)
    strategy = FedAvg(fraction_evaluate=0.0, min_available_nodes=config.clients)
    strategy.start(grid, initial_parameters(config), num_rounds=1, timeout=settings["reply-timeout"])
