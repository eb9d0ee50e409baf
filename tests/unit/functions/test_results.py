from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import SimpleNamespace
from typing import Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, TypeAdapter
from typing_extensions import TypedDict

from vardy_worker.functions.results import BadResult, OversizeResult, Result, serialise


class Colour(Enum):
    RED = "red"


class Row(TypedDict):
    id: int
    name: str


@dataclass
class Pair:
    left: int
    right: Decimal


class Invoice(BaseModel):
    id: int
    total: Decimal
    due: date
    note: str | None = None
    parent: Invoice | None = None


class Rich(Invoice):
    password: str = "hunter2"


def written(annotation: Any, returned: Any) -> Any:
    result = serialise(TypeAdapter(annotation), returned, bytes_max=10_000)
    assert isinstance(result, Result), result
    return result.value


def refused(annotation: Any, returned: Any) -> BadResult:
    result = serialise(TypeAdapter(annotation), returned, bytes_max=10_000)
    assert isinstance(result, BadResult), result
    return result


@pytest.mark.parametrize(
    ("annotation", "returned", "value"),
    [
        (None, None, None),
        (bool, True, True),
        (int, 2**80, 2**80),
        (float, 0.5, 0.5),
        (float, 3, 3.0),
        (str, "ü\u2028", "ü\u2028"),
        (Decimal, Decimal("1.50"), "1.50"),
        (date, date(2024, 2, 29), "2024-02-29"),
        (datetime, datetime(2024, 2, 29, 12, tzinfo=UTC), "2024-02-29T12:00:00Z"),
        (time, time(12, 30), "12:30:00"),
        (timedelta, timedelta(minutes=90), "PT1H30M"),
        (UUID, UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (Colour, Colour.RED, "red"),
        (Literal["a", "b"], "b", "b"),
        (tuple[int, str], (1, "x"), [1, "x"]),
        (set[int], {3}, [3]),
        (dict[int, str], {1: "x"}, {"1": "x"}),
        (list[Row], [{"id": 1, "name": "x", "undeclared": "y"}], [{"id": 1, "name": "x"}]),
        (Pair, Pair(1, Decimal("2.0")), {"left": 1, "right": "2.0"}),
        (Any, {"when": date(2024, 2, 29), "ids": (1, 2)}, {"when": "2024-02-29", "ids": [1, 2]}),
    ],
)
def test_a_result_becomes_plain_json(annotation: Any, returned: Any, value: Any) -> None:
    got = written(annotation, returned)
    assert got == value
    assert type(got) is type(value)
    json.dumps(got, allow_nan=False)


def test_a_model_may_be_returned_as_a_mapping_or_as_an_object_with_its_attributes() -> None:
    whole = {"id": 1, "total": "2.50", "due": "2024-02-29", "note": None, "parent": None}
    row = {"id": 1, "total": Decimal("2.50"), "due": date(2024, 2, 29)}
    assert written(Invoice, row) == whole
    assert written(Invoice, SimpleNamespace(**row)) == whole
    assert written(Invoice, Invoice(**row)) == whole


def test_fields_that_are_not_declared_do_not_go_out() -> None:
    rich = Rich(id=1, total=Decimal(1), due=date(2024, 2, 29))
    assert "password" not in written(Invoice, rich)
    assert "password" not in written(list[Invoice], [rich])[0]


def test_aliases_of_fields_are_what_programs_see() -> None:
    class Mail(BaseModel):
        sender: str = Field(alias="from")

    assert written(Mail, Mail(**{"from": "ana"})) == {"from": "ana"}


@pytest.mark.parametrize(
    ("annotation", "returned", "at"),
    [
        (int, None, ""),
        (list[int], [1, "SECRET"], "/1"),
        (Invoice, {"id": "SECRET", "total": 1, "due": "2024-02-29"}, "/id"),
        (list[Invoice], [{"id": 1, "total": 1, "due": "2024-02-29"}, {"id": 1, "due": "2024-02-29"}], "/1/total"),
        (Literal["a"], "SECRET", ""),
        (None, "SECRET", ""),
        (Row, {"id": 1}, "/name"),
    ],
)
def test_a_result_of_another_type_is_bad_at_its_place_and_its_value_is_not_said(
    annotation: Any, returned: Any, at: str
) -> None:
    bad = refused(annotation, returned)
    assert bad.at == at
    assert "SECRET" not in bad.reason


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_nan_and_infinity_are_bad_results_with_their_place(number: float) -> None:
    assert refused(float, number) == BadResult("", "is NaN or Infinity, which JSON cannot hold")
    assert refused(dict[str, list[float]], {"a": [1.0], "b": [2.0, number]}).at == "/b/1"
    assert refused(Any, {"x": number}).at == "/x"


def test_text_that_speaks_of_nan_is_only_text() -> None:
    assert written(list[str], ["NaN", "Infinity"]) == ["NaN", "Infinity"]


def test_a_model_that_was_broken_after_validation_is_bad_where_it_broke() -> None:
    invoice = Invoice(id=1, total=Decimal(1), due=date(2024, 2, 29))
    invoice.note = 7  # type: ignore[assignment] # the point of the test
    bad = refused(list[Invoice], [invoice])
    assert bad.at == "/0/note"


def test_a_result_that_contains_itself_is_bad() -> None:
    invoice = Invoice(id=1, total=Decimal(1), due=date(2024, 2, 29))
    invoice.parent = invoice
    rows: list[Any] = []
    rows.append(rows)
    assert "refers to itself" in refused(Invoice, invoice).reason
    assert refused(list[Any], rows).at == ""


def test_what_has_no_json_form_is_bad() -> None:
    assert refused(Any, {"x": object()}).reason == "cannot be written as JSON"
    assert refused(Any, "\ud800").reason == "cannot be written as JSON"
    assert refused(Any, {"raw": b"\xff"}).reason == "cannot be written as JSON"


def test_a_result_is_measured_in_bytes_of_json() -> None:
    adapter = TypeAdapter(str)
    assert serialise(adapter, "é" * 9, bytes_max=20) == Result("é" * 9)
    assert serialise(adapter, "é" * 10, bytes_max=20) == OversizeResult(22)
