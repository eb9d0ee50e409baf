from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_serializer, field_validator
from pydantic_core import PydanticCustomError, core_schema

from vardy_worker import Functions
from vardy_worker.contracts.errors import RegistrationError
from vardy_worker.contracts.execution import Ref
from vardy_worker.functions.runtime import FunctionRuntime
from vardy_worker.ports import BadArguments, GoodArguments


class Channel(Enum):
    MAIL = "mail"
    PHONE = "phone"


class Line(BaseModel):
    model_config = ConfigDict(extra="forbid")

    sku: str = Field(min_length=2)
    count: int = 1


class Person(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        if name.startswith("SECRET"):
            msg = f"{name} is not known"
            raise ValueError(msg)
        return name.strip()


def runtime() -> FunctionRuntime:
    functions = Functions()

    @functions.write
    def order(
        customer_id: int,
        lines: list[Line],
        status: Literal["open", "paid"] | None = None,
        channel: Channel = Channel.MAIL,
        due: date | None = None,
    ) -> None: ...

    @functions.write
    def pay(
        amount: Decimal,
        at: datetime,
        key: UUID,
        ratio: Annotated[float, Field(ge=0, le=1)] = 0.5,
        flags: frozenset[int] = frozenset(),
    ) -> None: ...

    @functions.read
    def ping() -> None: ...

    @functions.read
    def either(target: int | str, person: Person | Line | None = None) -> None: ...

    return FunctionRuntime(functions)


def check(function: str, args: Any) -> GoodArguments | BadArguments:
    return runtime().check(function, args, ())


def good(function: str, args: Any) -> dict[str, Any]:
    checked = check(function, args)
    assert isinstance(checked, GoodArguments), checked
    return checked.args


def bad(function: str, args: Any) -> dict[str, str]:
    checked = check(function, args)
    assert isinstance(checked, BadArguments), checked
    assert all(problem.keys() == {"at", "message", "expected"} for problem in checked.problems)
    return {problem["at"]: problem["message"] for problem in checked.problems}


def test_good_arguments_come_back_complete_in_the_order_of_the_signature() -> None:
    args = good("order", {"lines": [{"sku": "ab"}], "customer_id": 7})
    assert args == {
        "customer_id": 7,
        "lines": [{"sku": "ab", "count": 1}],
        "status": None,
        "channel": "mail",
        "due": None,
    }
    assert list(args) == ["customer_id", "lines", "status", "channel", "due"]


def test_values_come_back_in_the_form_their_type_writes() -> None:
    args = good(
        "pay",
        {
            "amount": 12.5,
            "at": "2024-02-29T12:00:00+01:00",
            "key": "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
            "flags": [2, 2],
        },
    )
    assert args["amount"] == "12.5"
    assert args["at"] == "2024-02-29T12:00:00+01:00"
    assert args["key"] == "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    assert args["flags"] == [2]


class Tagged(BaseModel):
    tags: set[str]
    pairs: frozenset[tuple[int, str]] = frozenset()


def test_sets_are_stored_in_the_same_order_by_every_process() -> None:
    functions = Functions()

    @functions.write
    def tag(ids: set[int], tagged: dict[str, Tagged], words: list[str]) -> None: ...

    words = [chr(ord("a") + n * 7 % 26) for n in range(26)]
    checked = FunctionRuntime(functions).check(
        "tag",
        {
            "ids": [10, 9, 2**60, -1],
            "tagged": {"x": {"tags": words, "pairs": [[2, "b"], [2, "a"], [1, "c"]]}},
            "words": words,
        },
        (),
    )
    assert checked == GoodArguments(
        {
            "ids": [-1, 9, 10, str(2**60)],
            "tagged": {"x": {"tags": sorted(words), "pairs": [[1, "c"], [2, "a"], [2, "b"]]}},
            "words": words,
        }
    )


def test_good_arguments_are_good_again_and_do_not_change() -> None:
    first = good("pay", {"amount": "1.50", "at": "2024-02-29T12:00:00Z", "key": str(UUID(int=7)), "ratio": 1})
    assert good("pay", json.loads(json.dumps(first))) == first


@pytest.mark.parametrize("args", [None, {}])
def test_a_function_without_arguments_takes_nothing_or_an_empty_object(args: Any) -> None:
    assert good("ping", args) == {}


@pytest.mark.parametrize("args", [[7], "7", 7, True])
def test_anything_but_one_object_is_refused(args: Any) -> None:
    assert bad("order", args) == {"": "takes one object of named arguments"}


def test_every_problem_is_reported_with_place_and_expectation() -> None:
    problems = bad(
        "order",
        {
            "lines": [{"sku": "a"}, {"count": "many", "colour": "red"}],
            "status": "lost",
            "channel": 5,
            "due": "tomorrow",
            "extra": 1,
        },
    )
    assert problems == {
        "/customer_id": "is missing",
        "/lines/0/sku": "must have at least 2 characters",
        "/lines/1/sku": "is missing",
        "/lines/1/count": "must be an integer, not a string of 4 characters",
        "/lines/1/colour": "is not known here; the names are: sku, count",
        "/status": 'must be "open", "paid", or null, not a string of 4 characters',
        "/channel": 'must be "mail", or "phone", not an integer',
        "/due": "must be a string (YYYY-MM-DD), or null, not a string of 8 characters",
        "/extra": "is not known here; the names are: customer_id, lines, status, channel, due",
    }


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("7.0", "a string of 3 characters"),
        ("seven", "a string of 5 characters"),
        (" 7", "a string of 2 characters"),
        ("07", "a string of 2 characters"),
        (7.5, "a fraction"),
        (7.0, "a fraction"),
        (True, "a boolean"),
        (None, "null"),
        ([7], "a list of 1"),
        ({"id": 7, "name": "x"}, "an object with id, name"),
        ({}, "an empty object"),
    ],
)
def test_nothing_is_guessed_into_an_integer(value: Any, found: str) -> None:
    assert bad("order", {"customer_id": value, "lines": []}) == {"/customer_id": f"must be an integer, not {found}"}


@pytest.mark.parametrize(
    ("args", "at"),
    [
        ({"amount": True, "at": "2024-02-29T12:00:00Z", "key": str(UUID(int=7))}, "/amount"),
        ({"amount": "NaN", "at": "2024-02-29T12:00:00Z", "key": str(UUID(int=7))}, "/amount"),
        ({"amount": 1, "at": 1_700_000_000, "key": str(UUID(int=7))}, "/at"),
        ({"amount": 1, "at": "2024-02-30T12:00:00Z", "key": str(UUID(int=7))}, "/at"),
        ({"amount": 1, "at": "2024-02-29T12:00:00Z", "key": "not-a-uuid"}, "/key"),
        ({"amount": 1, "at": "2024-02-29T12:00:00Z", "key": str(UUID(int=7)), "ratio": "0.5"}, "/ratio"),
        ({"amount": 1, "at": "2024-02-29T12:00:00Z", "key": str(UUID(int=7)), "flags": [1, "x"]}, "/flags/1"),
    ],
)
def test_values_that_only_look_like_the_type_are_refused(args: dict[str, Any], at: str) -> None:
    assert list(bad("pay", args)) == [at]


def test_a_limit_is_named_with_its_number() -> None:
    args = {"amount": 1, "at": "2024-02-29T12:00:00Z", "key": str(UUID(int=7)), "ratio": 2}
    assert bad("pay", args) == {"/ratio": "must be less than or equal to 1"}


@pytest.mark.parametrize("number", [2**53, -(2**53), 2**63 - 1, 2**64, 10**30])
def test_an_integer_beyond_a_double_goes_both_ways_as_a_decimal_string(number: int) -> None:
    for given in (number, str(number)):
        args = good("order", {"customer_id": given, "lines": []})
        assert args["customer_id"] == str(number)
        assert good("order", args) == args


@pytest.mark.parametrize("number", [0, 7, -7, 2**53 - 1])
def test_a_small_integer_that_came_as_a_string_is_a_number_again(number: int) -> None:
    args = good("order", {"customer_id": str(number), "lines": [{"sku": "77", "count": str(number)}]})
    assert args["customer_id"] == number
    assert args["lines"] == [{"sku": "77", "count": number}]


def test_digits_stay_text_where_text_is_allowed() -> None:
    assert good("either", {"target": "123"})["target"] == "123"
    assert good("either", {"target": 123})["target"] == 123


def test_digits_are_an_integer_where_the_only_texts_are_words_or_dates() -> None:
    functions = Functions()

    @functions.write
    def move(floor: Literal["top"] | int, when: date | int) -> None: ...

    checked = FunctionRuntime(functions).check("move", {"floor": "12", "when": "20240229"}, ())
    assert checked == GoodArguments({"floor": 12, "when": 20240229})


def test_a_union_names_all_its_members_and_no_label_of_the_validator() -> None:
    assert bad("either", {"target": None}) == {"/target": "must be an integer, or a string, not null"}
    assert set(bad("either", {"target": 1, "person": {"sku": 5}})) == {"/person/name", "/person/sku"}


def test_a_key_that_does_not_fit_is_told_from_its_value() -> None:
    functions = Functions()

    @functions.write
    def set_stock(levels: dict[int, str]) -> None: ...

    checked = FunctionRuntime(functions).check("set_stock", {"levels": {"7": "full", "seven": "full"}}, ())
    assert isinstance(checked, BadArguments)
    assert checked.problems == (
        {"at": "/levels/seven", "message": "is a key that does not fit", "expected": "another key"},
    )


def test_a_shape_names_ten_keys_at_the_most() -> None:
    message = bad("order", {"customer_id": {f"k{n}": n for n in range(12)}, "lines": []})["/customer_id"]
    assert message.endswith("an object with k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, …")


def test_the_words_of_a_companys_validator_are_not_repeated() -> None:
    checked = check("either", {"target": 1, "person": {"name": "SECRET-4711"}})
    assert isinstance(checked, BadArguments)
    assert "SECRET" not in json.dumps(checked.problems)
    assert checked.problems[0]["at"] == "/person/name"
    assert checked.problems[0]["message"] == "is refused by the function's own check"


@pytest.mark.parametrize("kind", ["too_long", "greater_than", "date_past", "finite_number", "value_error", "own_kind"])
def test_the_words_of_a_companys_validator_are_not_repeated_whatever_its_error_is_called(kind: str) -> None:
    functions = Functions()

    def refuse(value: str) -> str:
        raise PydanticCustomError(kind, "{value} should be another", {"value": value, "gt": 5})

    @functions.write
    def greet(name: Annotated[str, AfterValidator(refuse)]) -> None: ...

    checked = FunctionRuntime(functions).check("greet", {"name": "SECRET-4711"}, ())
    assert isinstance(checked, BadArguments)
    assert checked.problems == (
        {"at": "/name", "message": "is refused by the function's own check", "expected": "a string"},
    )


def test_a_validator_that_changes_the_value_is_shown_in_the_stored_form() -> None:
    assert good("either", {"target": 1, "person": {"name": "  Ana "}})["person"] == {"name": "Ana"}


def test_no_problem_repeats_a_value() -> None:
    marker = "MARKER-7f3a"
    args = {
        "customer_id": marker,
        "lines": [{"sku": [marker], "count": marker}, marker],
        "status": marker,
        "channel": marker,
        "due": marker,
    }
    checked = check("order", args)
    assert isinstance(checked, BadArguments)
    assert len(checked.problems) == 7
    assert marker not in json.dumps(checked.problems)


def test_arguments_nested_without_end_are_refused() -> None:
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    assert "deeper than 100 levels" in bad("order", {"customer_id": 1, "lines": deep})[""]


def test_text_that_is_no_unicode_is_refused() -> None:
    assert "not valid Unicode" in bad("either", {"target": "\ud800"})[""]


def test_a_key_that_tampers_with_prototypes_is_just_unknown() -> None:
    assert "is not known here" in bad("ping", json.loads('{"__proto__": {"admin": true}}'))["/__proto__"]


def test_a_function_that_is_not_registered_is_said_so() -> None:
    assert bad("nothing", {}) == {"": "there is no function 'nothing'"}


class Renamed(BaseModel):
    size: int = Field(validation_alias="groesse", serialization_alias="size_out")


def test_a_model_that_reads_other_names_than_it_writes_is_refused_at_registration() -> None:
    def measure(size: Renamed) -> None: ...

    with pytest.raises(RegistrationError, match="loses or renames groesse, size_out"):
        Functions().write(measure)


class Point:
    """A type of the company that writes less than it reads."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        del source, handler
        return core_schema.no_info_after_validator_function(
            cls,
            core_schema.str_schema(),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda point: point.text[:3], return_schema=core_schema.str_schema()
            ),
        )


class Moody(BaseModel):
    """A model whose own writing fails."""

    text: str

    @field_serializer("text")
    def _write(self, text: str) -> str:
        if text.startswith("SECRET"):
            msg = f"cannot write {text}"
            raise ValueError(msg)
        return "" if text == "empty" else text

    @field_validator("text")
    @classmethod
    def _filled(cls, text: str) -> str:
        if not text:
            raise ValueError
        return text


def test_a_value_that_its_own_type_cannot_write_or_read_back_is_refused() -> None:
    functions = Functions()

    @functions.write
    def count() -> dict[str, int]:
        raise NotImplementedError

    @functions.write
    def go(moody: Moody, to: int) -> None: ...

    host = FunctionRuntime(functions)
    cannot_write = host.check("go", {"moody": {"text": "SECRET"}, "to": 1}, ())
    assert isinstance(cannot_write, BadArguments)
    assert "cannot be stored as JSON" in cannot_write.problems[0]["message"]
    assert "SECRET" not in repr(cannot_write)
    beside_a_reference = host.check(
        "go", {"moody": {"text": "SECRET"}}, (Ref(at="/to", effect=0, path="/x"),), effects=["count"]
    )
    assert isinstance(beside_a_reference, BadArguments)
    cannot_read_back = host.check("go", {"moody": {"text": "empty"}, "to": 1}, ())
    assert isinstance(cannot_read_back, BadArguments)
    assert cannot_read_back.problems[0]["at"] == "/moody/text"


def test_a_value_that_does_not_survive_storing_is_refused_rather_than_changed() -> None:
    functions = Functions()

    @functions.write
    def go(to: Point) -> None: ...

    host = FunctionRuntime(functions)
    assert isinstance(host.check("go", {"to": "abc"}, ()), GoodArguments)
    checked = host.check("go", {"to": "abcdef"}, ())
    assert isinstance(checked, BadArguments)
    assert "does not survive being stored" in checked.problems[0]["message"]


@pytest.mark.parametrize("number", [2**53, -(2**60), 10**16, 10**20, int(1.5e300)])
def test_a_large_number_of_a_program_is_taken_where_any_number_is(number: int) -> None:
    functions = Functions()

    @functions.write
    def weigh(grams: float, others: list[float | None]) -> None: ...

    checked = FunctionRuntime(functions).check("weigh", {"grams": str(number), "others": [str(number), None]}, ())
    assert checked == GoodArguments({"grams": float(number), "others": [float(number), None]})


@pytest.mark.parametrize("text", ["5", str(2**53 + 1), "1" + "0" * 400, "1e20", "-0", ""])
def test_a_text_that_no_float_holds_or_that_is_no_large_number_stays_a_text(text: str) -> None:
    functions = Functions()

    @functions.write
    def weigh(grams: float) -> None: ...

    checked = FunctionRuntime(functions).check("weigh", {"grams": text}, ())
    assert isinstance(checked, BadArguments)
    assert [problem["at"] for problem in checked.problems] == ["/grams"]
