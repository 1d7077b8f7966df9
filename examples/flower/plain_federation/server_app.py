"""The server: averages the clients' means."""

from certified_federation.task import initial_parameters, run_settings
from flwr.app import Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """One round."""
    settings = context.run_config
    config = run_settings(settings)
    strategy = FedAvg(
        fraction_evaluate=0.0, min_train_nodes=config.clients, min_available_nodes=config.clients
    )
    timeout = float(settings["reply-timeout"])
    strategy.start(grid, initial_parameters(config), num_rounds=1, timeout=timeout)
