"""The types of single values in result.json and properties.json."""

from typing import Annotated

from pydantic import ConfigDict, Field, with_config

from fedcert.app.settings import Natural as Natural
from fedcert.app.settings import Positive as Positive
from fedcert.wire.message import NAME

record = with_config(ConfigDict(strict=True, extra="forbid", allow_inf_nan=False))

Name = Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Image = Annotated[str, Field(pattern="^data:image/png;base64,iVBORw0KGgo[A-Za-z0-9+/]*={0,2}$")]
Probability = Annotated[float, Field(ge=0, le=1)]
FileName = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9._+-]{0,250}$")]
Radius = Annotated[float, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0, le=1e12)]
