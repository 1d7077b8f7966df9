"""Figures that the paper's text quotes, beside what its own table gives."""

from dataclasses import dataclass

from reproduction.paper import LAWS, PRINTED, Entry, pairs, pooled_column, rows_of

FASHION, MNIST = "fashion-mnist", "mnist"


@dataclass(frozen=True)
class Quote:
    """A figure in the text.

    Attributes:
        what: its meaning.
        printed: as quoted.
        recomputed: from the table.
        tolerance: half a unit of the last printed digit.
    """

    what: str
    printed: float
    recomputed: float
    tolerance: float = PRINTED

    @property
    def agrees(self) -> bool:
        """Whether text and table say the same, to the printed digits."""
        return abs(self.printed - self.recomputed) <= self.tolerance


def aggregates(law: str, quantity: str) -> dict[tuple[str, str], Entry]:
    """Mean and deviation over all configurations of each dataset–architecture pair.

    Args:
        law: pog or fedavg.
        quantity: see `PaperRow`.
    """
    return {pair: pooled_column(rows_of(*pair), law, quantity) for pair in pairs()}


def retention() -> dict[tuple[str, str], float]:
    """100 L^tr / L^dir of FedAvg from the means of each pair."""
    transported, direct = aggregates("fedavg", "transported"), aggregates("fedavg", "direct")
    return {pair: 100 * transported[pair].mean / direct[pair].mean for pair in pairs()}


def quotes() -> list[Quote]:
    """Every aggregate that the text quotes."""
    direct = {law: {pair: entry.mean for pair, entry in aggregates(law, "direct").items()} for law in LAWS}
    mc = {law: aggregates(law, "mc_ibp") for law in LAWS}
    gaps = [mc[law][pair].mean - direct[law][pair] for law in LAWS for pair in pairs()]
    transported = aggregates("fedavg", "transported").values()
    transported_means = [entry.mean for entry in transported]
    transported_deviations = [entry.deviation for entry in transported]
    direct_deviations = [entry.deviation for entry in aggregates("fedavg", "direct").values()]
    seconds = aggregates("pog", "seconds")[FASHION, "1×128"]
    ratios = retention()

    def advantage(dataset: str, architecture: str) -> float:
        return direct["pog"][dataset, architecture] - direct["fedavg"][dataset, architecture]

    return [
        Quote("direct, PoG, smallest pair", 72.05, min(direct["pog"].values())),
        Quote("direct, PoG, largest pair", 91.39, max(direct["pog"].values())),
        Quote("direct, FedAvg, smallest pair", 72.58, min(direct["fedavg"].values())),
        Quote("direct, FedAvg, largest pair", 91.20, max(direct["fedavg"].values())),
        Quote("MC–IBP minus direct, smallest", 5.47, min(gaps)),
        Quote("MC–IBP minus direct, largest", 13.25, max(gaps)),
        Quote("transported, smallest pair", 22.51, min(transported_means)),
        Quote("transported, largest pair", 46.89, max(transported_means)),
        Quote("deviation of transported, smallest", 18.09, min(transported_deviations)),
        Quote("deviation of transported, largest", 33.06, max(transported_deviations)),
        Quote("deviation of direct FedAvg, smallest", 4.02, min(direct_deviations)),
        Quote("deviation of direct FedAvg, largest", 13.59, max(direct_deviations)),
        Quote("transported / direct, smallest (MNIST 2×64)", 31.0, ratios[MNIST, "2×64"], 0.5),
        Quote("transported / direct, largest (Fashion-MNIST 1×128)", 57.0, ratios[FASHION, "1×128"], 0.5),
        Quote("direct, PoG minus FedAvg, MNIST 1×128", 3.86, advantage(MNIST, "1×128")),
        Quote("direct, PoG minus FedAvg, Fashion-MNIST 1×128", 3.51, advantage(FASHION, "1×128")),
        Quote("direct, PoG minus FedAvg, MNIST 2×64", 2.27, advantage(MNIST, "2×64")),
        Quote("direct, PoG minus FedAvg, Fashion-MNIST 2×64", -0.53, advantage(FASHION, "2×64")),
        Quote("seconds, PoG, Fashion-MNIST 1×128", 1593.97, seconds.mean),
        Quote("deviation of seconds, PoG, Fashion-MNIST 1×128", 2664.92, seconds.deviation),
    ]
