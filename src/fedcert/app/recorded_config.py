"""The configuration of a finished run, as result.json holds it."""

from typing import Annotated, Any

from pydantic import GetPydanticSchema, field_validator
from pydantic_core import core_schema

from fedcert.app.config import RunConfig


class RecordedConfig(RunConfig):
    """The configuration of a finished run, which may have used devices that this machine lacks."""

    @field_validator("device")
    @classmethod
    def _known_device(cls, value: str) -> str:
        return value


def _plain(config: RecordedConfig) -> dict[str, Any]:
    return config.model_dump(mode="json")


Settings = Annotated[
    dict[str, Any],
    GetPydanticSchema(
        lambda _, handler: core_schema.no_info_after_validator_function(
            _plain, handler.generate_schema(RecordedConfig)
        )
    ),
]
"""All settings of a run, as result.json holds them."""
