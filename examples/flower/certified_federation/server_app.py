"""The server: one round, and what it makes of the clients' replies."""

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from certified_federation.task import initial_parameters, run_settings
from fedcert.flower import CertifiedFedAvg, RunCertifier

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Ask all clients, and wait for their replies."""
    settings = context.run_config
    config = run_settings(settings)
    certifier = RunCertifier(config, out=settings["out"])
    needed, patience = settings["min-clients"] or None, settings["connect-timeout"]
    strategy = CertifiedFedAvg(certifier, needed, patience, fraction_evaluate=0.0)
    strategy.start(grid, initial_parameters(config), num_rounds=1, timeout=settings["reply-timeout"])
