"""What certification costs against the number of clients."""

from collections.abc import Sequence

from fedcert.app.report.figures.curves import group_title, panels, points, selected, shared_legend
from fedcert.app.report.figures.style import GREY, PURPLE, family_looks, picture, styled
from fedcert.app.report.figures.sweep import horizontal_axis
from fedcert.app.report.measures import proving, stage
from fedcert.app.report.picture import Picture
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.sweeps import sweeps
from reproduction import paper


@styled
def cost(runs: Sequence[FinishedRun]) -> list[Picture]:
    """Seconds of each stage against the number of clients."""
    groups = selected(sweeps(runs, "clients", paper.MIN_CLIENT_COUNTS))
    if not groups:
        return []
    figure, axes = panels(groups, "seconds")
    for i, (panel, group) in enumerate(zip(axes, groups, strict=True)):
        for events, (colour, marker) in family_looks(paper.EVENTS).items():
            spent = points(group, proving(events), _clients)
            panel.plot(*spent, color=colour, marker=marker, label=f"claims, {events}")
        for heading, name, colour, marker, line in (
            ("training", "training", GREY, "x", ":"),
            ("messages (the paper's cells)", "messages", PURPLE, "v", "--"),
            ("Monte Carlo", "estimates", "black", "+", "-."),
        ):
            having = [run for run in group if name != "messages" or "paper-box" in run.config["events"]]
            spent = points(having, stage(heading, name), _clients)
            panel.plot(*spent, color=colour, marker=marker, linestyle=line, label=heading)
        horizontal_axis(panel, sorted({_clients(run) for run in group}))
        panel.set_yscale("log")
        panel.grid()
        group_title(panel, i, group, groups, "clients")
    figure.supxlabel("clients", fontsize=8)
    shared_legend(figure, 3)
    caption = (
        "Seconds of a run against the number of clients: claims of each family of events under both laws,"
        " training, the clients' messages and Monte Carlo. Both axes are logarithmic."
    )
    return [picture(figure, "cost", "Cost against the number of clients", caption)]


def _clients(run: FinishedRun) -> float:
    return float(run.clients)
