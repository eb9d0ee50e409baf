"""What the rest of Vardy knows of a registered function, without importing the company's module."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from vardy_worker.contracts.base import Contract, JsonObject


class FunctionKind(StrEnum):
    """Reads run at once; writes become effects."""

    READ = "read"
    WRITE = "write"


class FunctionSpec(Contract):
    """One function of the catalogue.

    `input_schema` is the JSON Schema of the argument object (`properties`, `required`,
    `additionalProperties: false`, shared models under `$defs`); `output_schema` that of
    the result as programs see it (serialisation mode). `declaration` is the TypeScript
    text shown to the model. `version` is a digest of schemas and options, never of the
    docstring, so that a comment may be mended without voiding parked plans.
    """

    name: str
    kind: FunctionKind
    doc: str = ""
    input_schema: JsonObject
    output_schema: JsonObject
    declaration: str
    version: str
    roles: tuple[str, ...] = Field((), description="empty: everybody gets the function")
    idempotent: bool = False
    timeout_seconds: float = 30.0
    retries: int = 0
    key_valid_seconds: float | None = None

    def visible_to(self, roles: tuple[str, ...]) -> bool:
        """Whether a user with these roles gets the function at all."""
        return not self.roles or not set(self.roles).isdisjoint(roles)


class Catalogue(Contract):
    """All functions of a deployment, as a worker published them. Sorted by name."""

    functions: tuple[FunctionSpec, ...] = ()
    types: dict[str, str] = Field(
        default_factory=dict,
        description="TypeScript of the models that declarations name: type name to its text",
    )

    def get(self, name: str) -> FunctionSpec | None:
        """The function of that name."""
        return next((spec for spec in self.functions if spec.name == name), None)

    def for_user(
        self, roles: tuple[str, ...], only: tuple[str, ...] | None = None, *, reads_only: bool = False
    ) -> Catalogue:
        """The part a user may use, narrowed to `only` where a request says so."""
        return Catalogue(
            functions=tuple(
                spec
                for spec in self.functions
                if spec.visible_to(roles)
                and (only is None or spec.name in only)
                and not (reads_only and spec.kind is FunctionKind.WRITE)
            ),
            types=self.types,
        )
