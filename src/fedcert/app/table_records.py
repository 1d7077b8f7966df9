"""What result.json and properties.json say of measurements, beyond what they say of images."""

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from fedcert.app.record_types import Name, Positive, Probability, Radius, record
from fedcert_check.features import MAX_UNIT_CHARACTERS


@record
class FeatureEntry(TypedDict):
    """An input coordinate: x = (measured − shift) / scale.

    Attributes:
        name: of the measurement.
        unit: of the measurement; empty where it has none.
        shift: the measurement that becomes 0.
        scale: the change of the measurement that changes the coordinate by 1.
    """

    name: Name
    unit: Annotated[str, Field(max_length=MAX_UNIT_CHARACTERS)]
    shift: float
    scale: Annotated[float, Field(gt=0)]


@record
class ClientAccuracy(TypedDict):
    """How the posterior-mean model of the deployed rule does on the test examples of one client.

    Attributes:
        client: its name.
        examples: the number of its test examples.
        accuracy: the share that is classified as labelled.
    """

    client: Name
    examples: Positive
    accuracy: Probability


@record
class TableParts(TypedDict):
    """Parts of result.json that only runs with measurements have.

    Attributes:
        features: which measurement each input coordinate is.
        accuracy_by_client: how the model does on each client's test examples.
    """

    features: NotRequired[list[FeatureEntry]]
    accuracy_by_client: NotRequired[list[ClientAccuracy]]


@record
class Measurements(TypedDict):
    """What was measured of one input, in properties.json.

    Attributes:
        client: whose input it is.
        values: in the units of the features.
        errors: of one measurement, in the same units; 0 for a value that is exact.
    """

    client: Name
    values: list[float]
    errors: list[Radius]
