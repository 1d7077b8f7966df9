"""The words that all sentences share: which model, which inputs, which balls, and what is assumed."""

from fedcert_check.conclusions.bounds import Bounds, Robustness
from fedcert_check.percent import percent_down, percent_up
from fedcert_check.subject import singular

SELECTED = (
    "These inputs were selected because the mean model classifies them correctly, so this is not an accuracy."
)


def model(bounds: Bounds) -> str:
    """The deployed model."""
    return f"the model that {bounds.rule} deploys"


def verb(bounds: Bounds) -> str:
    """What the model does: it classifies inputs, or satisfies properties."""
    return "classifies" if bounds.subject.labelled else "satisfies"


def inputs(subject: Robustness) -> str:
    """All the inputs, boxes or properties, counted and described."""
    noun = subject.noun if len(subject) != 1 else singular(subject.noun)
    return f"{len(subject):,} {noun} ({subject.describe_choice()})"


def correctly(bounds: Bounds, in_full: bool = False) -> str:
    """What it means for an input to be classified robustly, or for a property to be satisfied.

    Args:
        bounds: what is proven.
        in_full: whether the error of each measurement is said.
    """
    subject, margin = bounds.subject, bounds.subject.margin
    by = f" and with a margin of at least {margin!r}" if margin > 0 else ""
    if subject.labelled and not subject.boxed:
        return f"correctly{by} at every point of {ball(bounds, in_full)} around each"
    if subject.boxed:
        where = f"{'each' if subject.labelled else 'its'} {subject.describe_ball()}"
    else:
        where = f"{ball(bounds, in_full)} around its input"
    return f"{f'correctly{by}' if subject.labelled else 'each'} at every point of {where}"


def throughout(bounds: Bounds, which: str, each: str = "each") -> str:
    """The regions of some inputs or boxes.

    Args:
        bounds: what is proven.
        which: the inputs or boxes, counted.
        each: whether all of them are meant, or any.
    """
    if not bounds.subject.boxed:
        return f"{ball(bounds)} around {each} of {which}"
    return (
        f"{ball(bounds)}, of {each} of {which}" if bounds.epsilon else f"{ball(bounds)} of {each} of {which}"
    )


def ball(bounds: Bounds, in_full: bool = False) -> str:
    """The ball, by norm and radius.

    Args:
        bounds: what is proven.
        in_full: whether the error of each measurement is said.
    """
    return f"the {bounds.subject.describe_ball(in_full)}"


def what_it_holds(bounds: Bounds) -> str:
    """Which inputs the ball consists of."""
    if bounds.subject.boxed:
        return f"The {bounds.subject.describe_ball()} of each is the region in the certificate."
    if bounds.subject.norm != "linf":
        box = bounds.subject.describe_ball(in_full=True)
        return (
            f"The {box} around an input holds all inputs of which no value differs from the stated one by"
            " more than that; how units of measurement became inputs of the network is as the maker of the"
            " certificate states."
        )
    domain = bounds.subject.domain
    limits = "" if domain is None else f" with values from {domain[0]!r} to {domain[1]!r}"
    return (
        f"{ball(bounds).capitalize()} around an input holds all inputs{limits} of which no value differs from"
        f" the given one by more than {bounds.epsilon!r}."
    )


def between(lower: float, upper: float | None) -> str:
    """Proven bounds of a share, rounded outward.

    >>> between(0.74699, 0.74821), between(0.5, None)
    ('at least 74.69 % and at most 74.83 %', 'at least 50.00 %')
    """
    most = "" if upper is None else f" and at most {percent_up(upper)}"
    return f"at least {percent_down(lower)}{most}"


def assumptions(bounds: Bounds, upper: bool = False) -> tuple[str, ...]:
    """What every statement about the deployed model assumes.

    Args:
        bounds: what is proven.
        upper: whether the statement has an upper bound.
    """
    said = [
        f"Each client's parameters are drawn independently from the law in its message, without regard to"
        f" this certificate, and {bounds.rule} is what combines them.",
        "The network is evaluated in exact arithmetic: what rounding adds at inference is not covered.",
        what_it_holds(bounds),
        "Labels, and how the inputs were chosen, are as the maker of the certificate states."
        if bounds.subject.labelled
        else "A property is that the linear constraints C f(x) + d ≥ 0 in the certificate hold; what they"
        " mean, and"
        " how they were chosen, is as its maker states.",
    ]
    if bounds.subject.labelled and bounds.subject.margin == 0:
        said.append(
            "A tie for the first place counts for the label; ties have probability 0 where the output biases"
            " have a density."
        )
    if upper:
        said.append(
            "The upper bound speaks of the region in the certificate: the ball, its ends rounded outward."
            if bounds.subject.labelled and not bounds.subject.boxed
            else "The upper bound speaks of the regions and constraints in the certificate, which may be"
            " stricter by"
            " rounding than what they were made from."
        )
    return tuple(said)
