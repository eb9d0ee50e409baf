"""A reviewed program saved under a name; it runs without a model call."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from vardy_worker.contracts.base import Contract, JsonObject, JsonValue, sha256_json
from vardy_worker.contracts.envelope import Envelope
from vardy_worker.contracts.user import AskedId

if TYPE_CHECKING:
    from vardy_worker.contracts.functions import Catalogue


class Recipe(Contract):
    """One version of a recipe.

    `params_schema` is a JSON Schema (2020-12) of the params object. `functions` maps each
    function the program calls to the version it was reviewed against; the program gets no other.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,62}$")
    version: int = 1
    description: str = Field("", max_length=2000)
    source: str
    params_schema: JsonObject = Field(default_factory=lambda: {"type": "object"})
    functions: dict[str, str] = Field(default_factory=dict)
    judge: bool = Field(False, description="whether its program has `classify` and `ai`")  # noqa: FBT003 - pydantic takes the default first
    envelope: Envelope | None = Field(None, description="none: no plan is within it")
    reviewed_by: AskedId = ""
    reviewed_at_ms: int = 0
    from_job: str | None = None

    @property
    def digest(self) -> str:
        """Hex SHA-256 of what was reviewed: everything but the version, the reviewer and the job it came from."""
        others = {"version", "reviewed_by", "reviewed_at_ms", "from_job"}
        return sha256_json(self.model_dump(mode="json", exclude=others))

    def changed_functions(self, catalogue: Catalogue) -> tuple[str, ...]:
        """The functions that have another version by now, or are gone: with any, it needs a review."""
        present = {spec.name: spec.version for spec in catalogue.functions}
        return tuple(name for name, version in sorted(self.functions.items()) if present.get(name) != version)


class ChangeKind(StrEnum):
    """What became of a function since a recipe was reviewed."""

    GONE = "gone"
    KIND = "kind"
    ARGUMENT_ADDED = "argument_added"
    ARGUMENT_REMOVED = "argument_removed"
    ARGUMENT_REQUIRED = "argument_required"
    ARGUMENT_OPTIONAL = "argument_optional"
    ARGUMENT_TYPE = "argument_type"
    ARGUMENT_DEFAULT = "argument_default"
    RESULT = "result"
    OPTION = "option"
    OTHER = "other"


class FunctionChange(Contract):
    """One difference between a function as it was reviewed and as it is now.

    `at` is a pointer into the function's entry of the catalogue, such as
    `/input_schema/properties/limit`; `before` and `after` are what stood and stands there.
    """

    function: str
    change: ChangeKind
    message: str
    at: str = ""
    before: JsonValue = None
    after: JsonValue = None


class FileFinding(Contract):
    """One thing that is wrong with a recipe's file, or worth a look, at its line and column, both from 1."""

    line: int
    column: int
    message: str
    code: str = ""
    severity: Literal["error", "warning"] = "error"
