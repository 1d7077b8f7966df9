"""What result.json and properties.json say: their content as types, which `result.py` reads."""

from typing import (
    Annotated,
    Literal,
    NotRequired,  # pydantic takes typing's own from Python 3.12 on
    TypeVar,
)

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from fedcert.app.record_types import (
    Digest,
    FileName,
    Image,
    Name,
    Natural,
    Positive,
    Probability,
    Radius,
    Seconds,
    record,
)
from fedcert.app.recorded_config import Settings
from fedcert.app.table_records import Measurements, TableParts
from fedcert.certificate import Kind

T = TypeVar("T")


@record
class Claimed(TypedDict):
    """What is bounded; see `fedcert.certificate.Claim`.

    Attributes:
        claim: the kind of claim.
        rule: the rule that deploys the model.
        events: the family of events whose probabilities were added up.
    """

    claim: Kind
    rule: Name
    events: Name


@record
class AtRadius(Claimed):
    """A claim about balls of one radius.

    Attributes:
        epsilon: the radius.
    """

    epsilon: Radius


@record
class Bound(AtRadius):
    """The bounds proven for one property.

    Attributes:
        lower: the lower bound L.
        upper: the upper bound U; None if none was proven.
    """

    lower: Probability
    upper: Probability | None


@record
class Kept(TypedDict):
    """A certificate in the folder of a run.

    Attributes:
        properties: the number of properties.
        seconds: how long the proof took.
        certificate: the name of its file; where a grid keeps no certificates there is none of that name.
        reproved: whether the independent checker proved it again before the result was written.
    """

    properties: Positive
    seconds: Seconds
    certificate: FileName
    reproved: bool


@record
class Row(Bound, Kept):
    """What is proven about all properties: the means of L and U."""


@record
class MarginRow(Bound, Kept):
    """What is proven about all properties with another margin, from which softmax decisions follow.

    Attributes:
        margin: by which labels win.
    """

    margin: float


@record
class RadiusRow(Claimed, Kept):
    """The radii up to which inputs are certified.

    Attributes:
        threshold: the least probability at these radii.
        mean: the mean radius over all inputs; 0 counts for those that are not certified at all.
        median: the median radius.
    """

    threshold: Probability
    mean: Radius
    median: Radius


@record
class ConfidenceRow(Kept):
    """A confidence bound for all properties: the means of its limits.

    Attributes:
        rule: the rule that deploys the model.
        epsilon: the radius.
        lower: the mean lower limit.
        upper: the mean upper limit.
        draws: the number of models that were drawn.
        confidence: with which all limits hold together.
        proven: the share of drawn models that were proven safe, mean over the properties.
        broken: the share of drawn models that an input breaks, mean over the properties.
    """

    rule: Name
    epsilon: Radius
    lower: Probability
    upper: Probability
    draws: Positive
    confidence: Probability
    proven: Probability
    broken: Probability


@record
class Concluded(TypedDict):
    """What follows from the bounds; see `fedcert_check.conclusions`.

    Attributes:
        name: which statement it is.
        rule: the rule that deploys the model.
        epsilon: the radius.
        value: the number in the sentence; None where the statement is refused.
        upper: the most that it can be; None where nothing is known.
        sentence: the statement in words.
        assumptions: what must hold beside the certificates.
    """

    name: Name
    rule: Name
    epsilon: Radius
    value: float | None
    upper: float | None
    sentence: str
    assumptions: list[str]


@record
class ChosenInputs(TypedDict):
    """The inputs of the properties.

    Attributes:
        dataset: where they come from.
        chosen: how they were chosen.
        count: how many there are.
        available: how many they were chosen from.
        seed: of a random choice; None where there was none.
        digest: names inputs and labels.
        accuracy: of the posterior-mean model of the deployed rule on these inputs, or at the centres of
            boxes; None without labels.
    """

    dataset: Name
    chosen: Literal["first", "random", "correct", "given"]
    count: Positive
    available: Positive | None
    seed: Natural | None
    digest: Digest
    accuracy: Probability | None


@record
class Participant(TypedDict):
    """A client that took part.

    Attributes:
        client: the client's name.
        examples: the number of examples that it was trained on.
        digest: the digest by which certificates refer to its message.
    """

    client: Name
    examples: Positive
    digest: Digest


@record
class Sampled(TypedDict):
    """A Monte Carlo mean over all properties.

    Attributes:
        name: the name of the estimate.
        rule: the rule that deploys the model.
        epsilon: the radius.
        value: the mean.
        samples: the number of networks drawn.
        confidence_interval: the two ends of the confidence interval of the mean.
    """

    name: Literal["mc-ibp", "aggregated-sampling", "attack-survival"]
    rule: Name
    epsilon: Radius
    value: Probability
    samples: Positive
    confidence_interval: Annotated[list[Probability], Field(min_length=2, max_length=2)]


def _ordered(bound: T) -> T:
    match bound:
        case {"lower": lower, "upper": float(upper)} if lower > upper:
            raise ValueError(f"the lower bound {lower} is above the upper bound {upper}")
    return bound


@record
class Summary(TableParts):
    """The content of result.json.

    Attributes:
        fedcert: the version of fedcert that made it.
        config: all settings of the run.
        clients: the clients that took part.
        refused: message files that were not accepted, with the reasons.
        accuracy: test accuracy of the posterior-mean model of the deployed rule; None without labels.
        accuracy_by_rule: the same for every rule of the run.
        inputs: the inputs of the properties, and how they were chosen.
        norm: the norm of all radii; "box" for boxes that are widened by them.
        summary: every claim with its bounds.
        margins: what is proven for other margins.
        radii: the radii up to which inputs are certified.
        confidence: the confidence bounds.
        conclusions: what follows from all of these, in sentences.
        estimates: the Monte Carlo diagnostics.
        timings: seconds by stage.
        histograms: how many examples of each class each client holds; None if only the clients know.
        subject: "constraints" where properties are constraints of the user's own; labels win in all others.
    """

    fedcert: Name
    config: Settings
    clients: Annotated[list[Participant], Field(min_length=1)]
    refused: dict[str, str]
    accuracy: Probability | None
    accuracy_by_rule: dict[Name, Probability]
    inputs: ChosenInputs
    norm: Literal["linf", "weighted-linf", "box"]
    summary: list[Annotated[Row, AfterValidator(_ordered)]]
    margins: list[Annotated[MarginRow, AfterValidator(_ordered)]]
    radii: list[RadiusRow]
    confidence: list[Annotated[ConfidenceRow, AfterValidator(_ordered)]]
    conclusions: list[Concluded]
    estimates: list[Sampled]
    timings: dict[Name, Seconds]
    histograms: list[Annotated[list[Natural], Field(min_length=1)]] | None
    subject: NotRequired[Literal["constraints"]]


@record
class Property(TypedDict):
    """A property in properties.json.

    Attributes:
        label: the class of the property's input; None where there are constraints.
        index: the position of the input in the test set; −1 if unknown.
        image: the input, as a data URI; None for measurements.
        row: what was measured; not there for images.
        bounds: the bounds of every claim, in the order of the summary.
        survival: the share of sampled networks that an attack does not break, by rule, at the first radius.
        attacked: whether an attack breaks the posterior-mean model at the first radius.
        radii: the certified radius, in the order of the radii in result.json.
    """

    label: Natural | None
    index: Annotated[int, Field(ge=-1)]
    image: Image | None
    row: NotRequired[Measurements]
    bounds: list[Annotated[Bound, AfterValidator(_ordered)]]
    survival: dict[Name, Probability]
    attacked: bool
    radii: list[Radius]
