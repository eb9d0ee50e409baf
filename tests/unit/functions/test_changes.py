"""What is said of a function that has another version than the one that was reviewed."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import pytest
from pydantic import create_model

from vardy_worker.contracts.recipe import ChangeKind
from vardy_worker.functions import Functions, build_catalogue
from vardy_worker.functions.changes import changes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.functions import FunctionSpec
    from vardy_worker.contracts.recipe import FunctionChange


def taking_a_model_of(amount: type) -> FunctionSpec:
    """A function of a model, in which another one has a field of the type."""
    inner = create_model("Inner", amount=(amount, ...))
    outer = create_model("Outer", inner=(inner, ...))

    def pay(price: Any) -> Any:
        return price

    pay.__annotations__ = {"price": outer, "return": outer}
    return spec(pay)


def spec(function: Callable[..., Any], kind: str = "write", **options: Any) -> FunctionSpec:
    functions = Functions()
    getattr(functions, kind)(name="pay", **options)(function)
    found = build_catalogue(functions).get("pay")
    assert found is not None
    return found


def changes(before: FunctionSpec | None, after: FunctionSpec | None) -> list[FunctionChange]:
    return list(changes_of("pay", before, after))


def plain(amount: int) -> str:
    return str(amount)


def pay_with_note(amount: int, note: str) -> str:
    return f"{amount}{note}"


def pay_with_optional_note(amount: int, note: str = "") -> str:
    return f"{amount}{note}"


def pay_with_another_default(amount: int, note: str = "none") -> str:
    return f"{amount}{note}"


def pay_decimal(amount: Decimal) -> str:
    return str(amount)


def pay_returning_number(amount: int) -> int:
    return amount


def pay_literal(amount: Literal[1, 2]) -> str:
    return str(amount)


def pay_one_or_all(amount: Literal[1, "all"] = 1) -> str:
    return str(amount)


def pay_or_not(amount: Literal[True, "all"] = True) -> str:
    return str(amount)


@pytest.mark.parametrize(
    ("before", "after", "kind", "at", "words"),
    [
        (plain, pay_with_note, ChangeKind.ARGUMENT_ADDED, "/input_schema/properties/note", "new, and required"),
        (plain, pay_with_optional_note, ChangeKind.ARGUMENT_ADDED, "/input_schema/properties/note", "may be left out"),
        (pay_with_note, plain, ChangeKind.ARGUMENT_REMOVED, "/input_schema/properties/note", "`note` is gone"),
        (pay_with_optional_note, pay_with_note, ChangeKind.ARGUMENT_REQUIRED, "/input_schema/required", "required now"),
        (pay_with_note, pay_with_optional_note, ChangeKind.ARGUMENT_OPTIONAL, "/input_schema/required", "be left out"),
        (
            pay_with_optional_note,
            pay_with_another_default,
            ChangeKind.ARGUMENT_DEFAULT,
            "/input_schema/properties/note/default",
            'is "none" now when it is left out; it was ""',
        ),
        (plain, pay_literal, ChangeKind.ARGUMENT_TYPE, "/input_schema/properties/amount", "takes `1 | 2` now; it took"),
        (
            plain,
            pay_returning_number,
            ChangeKind.RESULT,
            "/output_schema",
            "returns `number` now; it returned `string`",
        ),
    ],
)
def test_each_change_is_named_with_its_place(
    before: Callable[..., Any], after: Callable[..., Any], kind: ChangeKind, at: str, words: str
) -> None:
    [change] = changes(spec(before), spec(after))
    assert (change.function, change.change, change.at) == ("pay", kind, at)
    assert words in change.message
    assert change.before != change.after


@pytest.mark.parametrize(
    ("option", "before", "after"),
    [
        ("roles", [], ["lead"]),
        ("idempotent", False, True),
        ("timeout_seconds", 30.0, 5.0),
        ("retries", 0, 3),
        ("key_valid_seconds", None, 60.0),
    ],
)
def test_a_changed_option_is_named_with_both_values(option: str, before: Any, after: Any) -> None:
    [change] = changes(spec(plain, **{option: before}), spec(plain, **{option: after}))
    assert (change.change, change.at) == (ChangeKind.OPTION, f"/{option}")
    assert (change.before, change.after) == (before, after)


def test_a_truth_value_is_no_number() -> None:
    found = changes(spec(pay_one_or_all), spec(pay_or_not))
    assert [change.change for change in found] == [ChangeKind.ARGUMENT_TYPE, ChangeKind.ARGUMENT_DEFAULT]


def test_a_read_that_became_a_write_is_another_kind() -> None:
    [change] = changes(spec(plain, "read"), spec(plain))
    assert (change.change, change.before, change.after) == (ChangeKind.KIND, "read", "write")


def test_a_change_deep_in_a_model_names_its_place() -> None:
    argument, result = changes(taking_a_model_of(int), taking_a_model_of(str))
    place = "/$defs/Inner/properties/amount/type"
    assert (argument.change, result.change) == (ChangeKind.ARGUMENT_TYPE, ChangeKind.RESULT)
    assert argument.message == f"The argument `price` takes `Outer`, which is described otherwise at {place}."
    assert place in result.message


def test_several_changes_are_all_named() -> None:
    found = changes(spec(pay_with_note), spec(pay_decimal, retries=2))
    assert [change.change for change in found] == [
        ChangeKind.ARGUMENT_TYPE,
        ChangeKind.ARGUMENT_REMOVED,
        ChangeKind.OPTION,
    ]


def test_a_function_that_is_gone_or_was_not_kept_is_said_to_be() -> None:
    assert [change.change for change in changes(spec(plain), None)] == [ChangeKind.GONE]
    assert [change.change for change in changes(None, spec(plain))] == [ChangeKind.OTHER]


def test_a_version_that_differs_in_nothing_that_is_described_is_still_a_change() -> None:
    [change] = changes(spec(plain), spec(plain).model_copy(update={"version": "other", "doc": "Mended."}))
    assert change.change is ChangeKind.OTHER
