"""Values on their way through the company's functions, for generated types and values."""

from __future__ import annotations

import json
import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, TypeAdapter

from vardy_worker import Functions
from vardy_worker.contracts.base import INT_SAFE_MAX, canonical_json
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.user import User
from vardy_worker.functions.names import check_function_name, suggest
from vardy_worker.functions.runtime import FunctionRuntime
from vardy_worker.ports import BadArguments, CallOk, FunctionCall, GoodArguments

if TYPE_CHECKING:
    from collections.abc import Iterator


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Item(BaseModel):
    id: int
    price: Decimal
    size: Size | None = None
    labels: dict[str, int] = {}


class Order(BaseModel):
    key: UUID
    placed: datetime
    due: date
    items: list[Item]
    note: Literal["gift", "plain"] | int = "plain"
    pause: timedelta = timedelta(0)


functions = Functions()


@functions.write
def keep(order: Order, big: int, ratio: Annotated[float, Field(ge=0)] = 1.0, *, sure: bool = False) -> Order:
    del big, ratio, sure
    return order


@functions.read
def echo(value: int) -> int:
    return value


@functions.read
def echo_any(value: Any) -> Any:
    return value


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
integers = st.one_of(st.integers(-10, 10), st.integers(-(2**70), 2**70))
decimals = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12)
items = st.builds(
    Item,
    id=integers,
    price=decimals,
    size=st.sampled_from([None, *Size]),
    labels=st.dictionaries(texts, integers, max_size=3),
)
orders = st.builds(
    Order,
    key=st.uuids(),
    placed=st.datetimes(timezones=st.just(UTC)),
    due=st.dates(),
    items=st.lists(items, max_size=3),
    note=st.one_of(st.sampled_from(["gift", "plain"]), integers),
    pause=st.timedeltas(timedelta(0), timedelta(days=1000)),
)
json_values = st.recursive(
    st.none() | st.booleans() | integers | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=15,
)


@pytest.fixture(scope="module")
def host() -> Iterator[FunctionRuntime]:
    runtime = FunctionRuntime(functions, threads=2)
    runtime.start()
    yield runtime
    runtime.stop()


def call(host: FunctionRuntime, function: str, args: dict[str, Any]) -> Any:
    outcome = host.call_many(
        [FunctionCall(function, args, "job_1", User(id="ana"))],
        deadline=time.monotonic() + 30,
        in_flight_max=1,
        result_bytes_max=10**7,
    )[0]
    assert isinstance(outcome, CallOk), outcome
    return outcome.value


def as_a_program_sends(value: Any) -> Any:
    """Integers that a double cannot hold leave a program as decimal strings."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) > INT_SAFE_MAX:
        return str(value)
    if isinstance(value, dict):
        return {key: as_a_program_sends(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_a_program_sends(item) for item in value]
    return value


@given(order=orders, big=integers, ratio=st.floats(0, 1e6), sure=st.booleans())
@settings(max_examples=150, deadline=None)
def test_arguments_that_a_type_writes_are_stored_unchanged_and_reach_the_function_unchanged(
    host: FunctionRuntime, order: Order, big: int, ratio: float, sure: bool
) -> None:
    sent = as_a_program_sends({"order": order.model_dump(mode="json"), "big": big, "ratio": ratio, "sure": sure})
    checked = host.check("keep", sent, ())
    assert isinstance(checked, GoodArguments), checked
    # What a plan stores: canonical, read back, good again, and the same again.
    stored = json.loads(canonical_json(checked.args))
    again = host.check("keep", stored, ())
    assert isinstance(again, GoodArguments), again
    assert canonical_json(again.args) == canonical_json(checked.args)
    returned = call(host, "keep", stored)
    assert TypeAdapter(Order).validate_python(returned) == order
    spec = host.catalogue().get("keep")
    assert spec is not None
    assert Draft202012Validator(spec.output_schema).is_valid(returned)


@given(value=integers)
@settings(max_examples=150, deadline=None)
def test_an_integer_of_any_size_goes_round_exactly(host: FunctionRuntime, value: int) -> None:
    for sent in (value, str(value)):
        checked = host.check("echo", {"value": sent}, ())
        assert isinstance(checked, GoodArguments)
        assert call(host, "echo", checked.args) == value


@given(value=json_values)
@settings(max_examples=150, deadline=None)
def test_any_json_goes_round_as_it_is(host: FunctionRuntime, value: Any) -> None:
    checked = host.check("echo_any", {"value": value}, ())
    assert isinstance(checked, GoodArguments), checked
    assert call(host, "echo_any", {"value": value}) == value
    assert checked.args == {"value": as_a_program_sends(value)}


@given(args=json_values, refs=st.lists(st.builds(Ref, at=texts, effect=st.integers(-1, 3), path=texts), max_size=3))
@settings(max_examples=200, deadline=None)
def test_checking_never_fails_and_never_repeats_a_long_text(host: FunctionRuntime, args: Any, refs: list[Ref]) -> None:
    marker = "MARKER-0b7c"
    spiked = {**args, "big": marker, "order": {"key": marker}} if isinstance(args, dict) else args
    checked = host.check("keep", spiked, refs, effects=["keep", "keep"])
    assert isinstance(checked, BadArguments)
    assert marker not in repr(checked.problems)


@given(name=st.text(max_size=80), taken=st.sets(st.sampled_from(["get_item", "function_record", "run_record"])))
@settings(max_examples=300, deadline=None)
def test_every_suggested_name_can_be_taken(name: str, taken: set[str]) -> None:
    check_function_name(suggest(name, taken), taken)
