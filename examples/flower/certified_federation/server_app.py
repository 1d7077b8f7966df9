"""The server: aggregates the clients' posteriors, certifies what it deploys, and writes a run folder."""

from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from certified_federation.task import initial_parameters, run_settings
from fedcert.flower import CertifiedFedAvg, RunCertifier

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """One round."""
    settings = context.run_config
    config = run_settings(settings)
    certifier = RunCertifier(config, Path(settings["out"]))
    least, patience = int(settings["min-clients"]) or None, float(settings["connect-timeout"])
    strategy = CertifiedFedAvg(certifier, least, patience, fraction_evaluate=0.0)
    timeout = float(settings["reply-timeout"])
    strategy.start(grid, initial_parameters(config), num_rounds=1, timeout=timeout)
