"""A reviewed program saved under a name; it runs without a model call."""

from __future__ import annotations

from pydantic import Field

from vardy_worker.contracts.base import Contract, JsonObject


class Recipe(Contract):
    """One version of a recipe.

    `params_schema` is a JSON Schema (2020-12) of the params object. `functions` maps each
    function the program calls to the version it was reviewed against.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,62}$")
    version: int = 1
    description: str = Field("", max_length=2000)
    source: str
    params_schema: JsonObject = Field(default_factory=lambda: {"type": "object"})
    functions: dict[str, str] = Field(default_factory=dict)
    judge: bool = Field(False, description="whether its program has `classify` and `ai`")  # noqa: FBT003 - pydantic takes the default first
    reviewed_by: str = ""
    reviewed_at_ms: int = 0
    from_job: str | None = None
