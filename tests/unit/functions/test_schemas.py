from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NotRequired
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from vardy_worker import CallContext, Functions
from vardy_worker.contracts.functions import Catalogue, FunctionSpec
from vardy_worker.functions.catalogue import build_catalogue
from vardy_worker.functions.schemas import without


class Channel(Enum):
    MAIL = "mail"
    PHONE = "phone"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Line(TypedDict):
    sku: str
    count: int
    note: NotRequired[str]


@dataclass
class Address:
    street: str
    number: int = 1


class Order(BaseModel):
    """One order."""

    id: UUID
    total: Decimal
    placed: datetime
    due: date | None = None
    channel: Channel = Channel.MAIL
    lines: list[Line] = Field(default_factory=list, description="in the order they were added")
    address: Address | None = None
    parent: Order | None = None


def spec_of(functions: Functions) -> FunctionSpec:
    return build_catalogue(functions).functions[0]


def test_arguments_become_one_closed_object_schema_with_defaults() -> None:
    functions = Functions()

    @functions.read
    def find(
        customer: Annotated[int, Field(description="the customer's number", ge=1)],
        status: Literal["open", "paid"] | None = None,
        since: date = date(2024, 1, 31),
        limit: Annotated[int, Field(le=100)] = 20,
        level: Level = Level.LOW,
    ) -> None: ...

    schema = spec_of(functions).input_schema
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["customer"]
    assert schema["properties"] == {
        "customer": {"type": "integer", "minimum": 1, "description": "the customer's number"},
        "status": {"anyOf": [{"enum": ["open", "paid"], "type": "string"}, {"type": "null"}], "default": None},
        "since": {"type": "string", "format": "date", "default": "2024-01-31"},
        "limit": {"type": "integer", "maximum": 100, "default": 20},
        "level": {"$ref": "#/$defs/Level", "default": 1},
    }
    assert schema["$defs"]["Level"] == {"enum": [1, 2], "type": "integer"}


def test_a_function_without_arguments_has_an_empty_closed_schema() -> None:
    functions = Functions()

    @functions.read
    def ping(context: CallContext) -> str:
        return context.job_id

    spec = spec_of(functions)
    assert spec.input_schema == {"type": "object", "additionalProperties": False, "properties": {}, "required": []}
    assert spec.output_schema == {"type": "string"}


def test_results_are_described_as_programs_get_them() -> None:
    functions = Functions()

    @functions.read
    def orders() -> list[Order]:
        return []

    schema = spec_of(functions).output_schema
    order = schema["$defs"]["Order"]
    assert order["required"] == ["id", "total", "placed", "due", "channel", "lines", "address", "parent"]
    assert order["properties"]["id"] == {"type": "string", "format": "uuid"}
    assert order["properties"]["total"]["type"] == "string"
    assert order["properties"]["total"]["format"] == "decimal"
    assert order["properties"]["placed"] == {"type": "string", "format": "date-time"}
    assert schema["$defs"]["Channel"] == {"type": "string", "enum": ["mail", "phone"]}
    assert schema["$defs"]["Address"]["required"] == ["street", "number"]
    assert schema["$defs"]["Line"]["required"] == ["sku", "count"]


def test_a_decimal_argument_takes_digits_or_a_number() -> None:
    functions = Functions()

    @functions.write
    def charge(amount: Annotated[Decimal, Field(gt=0, decimal_places=2)], wait: timedelta, at: time) -> None: ...

    properties = spec_of(functions).input_schema["properties"]
    number, digits = properties["amount"]["anyOf"]
    assert number == {"type": "number", "exclusiveMinimum": 0}
    assert (digits["type"], digits["format"]) == ("string", "decimal")
    assert (properties["wait"]["format"], properties["at"]["format"]) == ("duration", "time")


def test_every_schema_is_a_valid_json_schema() -> None:
    functions = Functions()

    @functions.write
    def place(order: Order, extra: dict[str, list[int]], pair: tuple[int, str], tags: set[str], any_: Any) -> Order:
        raise NotImplementedError

    spec = spec_of(functions)
    for schema in (spec.input_schema, spec.output_schema):
        Draft202012Validator.check_schema(schema)


def versions(**options: Any) -> tuple[str, str]:
    def plain(customer: int) -> list[str]:
        """One text."""
        return [str(customer)]

    functions, changed = Functions(), Functions()
    functions.write(name="act")(plain)
    changed.write(name="act", **options)(plain)
    return spec_of(functions).version, spec_of(changed).version


@pytest.mark.parametrize(
    "options",
    [
        {"idempotent": True},
        {"timeout_seconds": 31},
        {"retries": 1},
        {"roles": ["admin"]},
        {"key_valid_seconds": 60},
    ],
)
def test_every_option_changes_the_version(options: dict[str, Any]) -> None:
    before, after = versions(**options)
    assert before != after


def test_the_same_function_has_the_same_version_everywhere() -> None:
    before, after = versions()
    assert before == after
    assert len(before) == 64


def test_comments_change_no_version_and_types_do() -> None:
    class First(BaseModel):
        id: int = Field(description="old words")

    class Second(BaseModel):
        """Now with a text."""

        id: int = Field(description="new words", examples=[7])

    First.__name__ = Second.__name__ = First.__qualname__ = Second.__qualname__ = "Model"
    First.model_rebuild(force=True)
    Second.model_rebuild(force=True)

    def version(annotation: Any, doc: str) -> str:
        def act(model: Any, title: str = "x") -> Any:
            return (model, title)

        act.__annotations__ = {"model": annotation, "title": str, "return": annotation}
        act.__doc__ = doc
        functions = Functions()
        functions.write(act)
        return spec_of(functions).version

    assert version(First, "Old.") == version(Second, "New.")
    assert version(int, "") != version(str, "")


def test_a_version_does_not_depend_on_other_functions() -> None:
    def models() -> tuple[type[BaseModel], type[BaseModel]]:
        class Invoice(BaseModel):
            id: int

        first = Invoice

        class Invoice(BaseModel):  # type: ignore[no-redef] # two models of one name are the point
            text: str

        return first, Invoice

    first, second = models()

    def with_annotation(annotation: Any) -> Any:
        def act() -> Any:
            raise NotImplementedError

        act.__annotations__ = {"return": annotation}
        return act

    alone, together = Functions(), Functions()
    alone.read(name="one")(with_annotation(first))
    together.read(name="one")(with_annotation(first))
    together.read(name="two")(with_annotation(second))
    one = build_catalogue(together).get("one")
    assert one is not None
    assert one.version == spec_of(alone).version


def test_words_of_schemas_are_dropped_only_where_they_are_keywords() -> None:
    schema = {
        "title": "T",
        "properties": {"title": {"type": "string", "title": "Title"}, "description": {"default": {"title": 1}}},
        "anyOf": [{"title": "x", "const": {"title": 2}}],
    }
    assert without(schema, frozenset({"title", "description"})) == {
        "properties": {"title": {"type": "string"}, "description": {"default": {"title": 1}}},
        "anyOf": [{"const": {"title": 2}}],
    }


def test_a_catalogue_survives_being_published_as_json() -> None:
    functions = Functions()

    @functions.write
    def place(order: Order, big: Annotated[int, Field(le=2**63 - 1)]) -> Order:
        raise NotImplementedError

    catalogue = build_catalogue(functions)
    assert Catalogue.model_validate_json(catalogue.model_dump_json()) == catalogue
