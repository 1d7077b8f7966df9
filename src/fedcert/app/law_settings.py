"""Settings of the clients' laws that do not fit together."""

from fedcert.app.settings import PosteriorName, Scale, StructureName


def law_disagreement(
    posterior: PosteriorName,
    structure: StructureName,
    prior_precision: float | None,
    stated_precision: float | None,
    scale: Scale,
) -> str | None:
    """What does not fit together in the settings of a law, if anything.

    Args:
        posterior: how clients learn.
        structure: of Laplace's law.
        prior_precision: of Laplace's prior; None where it is not fixed.
        stated_precision: the same in the table of the trainer.
        scale: of the deviations.
    """
    if posterior == "bbb" and prior_precision is not None:
        return "prior-precision: laplace and ensemble have it; the prior of bbb is training.prior-scale"
    if None not in (prior_precision, stated_precision) and prior_precision != stated_precision:
        return f"prior-precision: {prior_precision:g}, but laplace.prior-precision is {stated_precision:g}"
    if structure == "diag":
        return None
    if posterior != "laplace":
        return f"structure: {structure} is a structure of laplace; {posterior} has independent weights"
    if scale != "learned":
        return f"scale: a number replaces the deviations of independent weights; {structure} has others"
    return None
