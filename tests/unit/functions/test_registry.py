from __future__ import annotations

import collections.abc
import functools
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import pytest
from pydantic import BaseModel, Field, SecretStr, field_serializer

import vardy_worker
from vardy_worker import CallContext, Functions
from vardy_worker.contracts.errors import RegistrationError
from vardy_worker.contracts.functions import FunctionKind
from vardy_worker.functions.catalogue import build_catalogue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def refusal(register: Callable[[Functions], object]) -> str:
    with pytest.raises(RegistrationError) as refused:
        register(Functions())
    assert refused.value.code == "functions.invalid"
    return refused.value.message


def test_a_decorated_function_stays_what_it_was() -> None:
    functions = Functions()

    def double(number: int) -> int:
        return 2 * number

    assert functions.read(double) is double
    assert functions.read(name="double_it")(double) is double
    assert double(4) == 8


def test_options_of_the_decorators_reach_the_catalogue() -> None:
    functions = Functions()

    @functions.read(timeout_seconds=2, roles=["support", "admin"])
    def list_orders() -> list[str]:
        """Orders."""
        return []

    @functions.write(idempotent=True, timeout_seconds=10, retries=3, roles=["admin"], key_valid_seconds=86_400)
    def cancel_order(order_id: int) -> None: ...

    @functions.write
    def note(text: str) -> None: ...

    catalogue = build_catalogue(functions)
    assert [spec.name for spec in catalogue.functions] == ["cancel_order", "list_orders", "note"]
    cancel, orders, noted = catalogue.functions
    assert (cancel.kind, cancel.idempotent, cancel.timeout_seconds) == (FunctionKind.WRITE, True, 10)
    assert (cancel.retries, cancel.roles, cancel.key_valid_seconds) == (3, ("admin",), 86_400)
    assert (orders.kind, orders.timeout_seconds, orders.roles) == (FunctionKind.READ, 2, ("admin", "support"))
    assert orders.doc == "Orders."
    assert (noted.idempotent, noted.retries, noted.roles, noted.timeout_seconds) == (False, 0, (), 30)


def test_a_name_may_be_given_where_the_python_name_will_not_do() -> None:
    functions = Functions()

    @functions.read(name="get_profile")
    def _profile(customer_id: int) -> str:
        return str(customer_id)

    assert [registered.name for registered in functions] == ["get_profile"]


def test_a_bound_method_can_be_registered() -> None:
    class Shop:
        def stock(self, sku: str) -> int:
            return len(sku)

    functions = Functions()
    functions.read(Shop().stock)
    spec = build_catalogue(functions).functions[0]
    assert list(spec.input_schema["properties"]) == ["sku"]


def untyped(number) -> int:  # type: ignore[no-untyped-def] # noqa: ANN001 - refused, and so are all up to `never`
    return int(number)


def no_result(number: int):  # type: ignore[no-untyped-def] # noqa: ANN201 - as above
    return number


def stars(*numbers: int) -> int:
    return sum(numbers)


def double_stars(**numbers: int) -> int:
    return sum(numbers.values())


def positional(number: int, /) -> int:
    return number


def yields() -> Iterator[int]:
    yield 1


def field_default(number: int = Field(5, ge=1)) -> int:
    return number


def wrong_default(number: int = None) -> int:  # type: ignore[assignment] # noqa: RUF013 - as above
    return number


def late_context(number: int, context: CallContext) -> int:
    return number + context.attempt


def never() -> NoReturn:
    raise SystemExit


@pytest.mark.parametrize(
    ("function", "fix"),
    [
        (untyped, "annotate it, for example `number: int`"),
        (no_result, "for example `-> Invoice`, or `-> None`"),
        (stars, "takes *numbers: programs pass named arguments only"),
        (double_stars, "takes **numbers: programs pass named arguments only"),
        (positional, "take the / out of the signature"),
        (yields, "return a list instead of yielding"),
        (field_default, "Annotated[<type>, Field(...)] = <default>"),
        (wrong_default, "adding `| None`"),
        (late_context, "must be its first argument"),
        (never, "said never to return"),
    ],
)
def test_a_signature_that_programs_cannot_call_is_refused_with_the_fix(function: Callable[..., Any], fix: str) -> None:
    assert fix in refusal(lambda functions: functions.read(function))


def test_what_is_no_function_is_refused() -> None:
    class Tool:
        def __init__(self, number: int) -> None:
            self.number = number

    assert "not int" in refusal(lambda functions: functions.read(7))  # type: ignore[call-overload] # the point
    assert "is a type" in refusal(lambda functions: functions.read(Tool))
    assert "is a partial" in refusal(lambda functions: functions.read(name="half")(functools.partial(round, 2.5)))
    assert "cannot be named '<lambda>'" in refusal(lambda functions: functions.read(lambda: None))


class Connection:
    """Not data."""


def test_types_that_are_not_data_are_refused() -> None:
    def takes(connection: Connection) -> None: ...

    def gives() -> Connection:
        return Connection()

    def calls(back: CallableType) -> None: ...

    def iterates(numbers: IterableType) -> None: ...

    assert "type that is not data (Connection)" in refusal(lambda functions: functions.read(takes))
    assert "The result of 'gives' has a type that is not data" in refusal(lambda functions: functions.read(gives))
    assert "has no JSON form" in refusal(lambda functions: functions.read(calls))
    assert "an iterator; use a list" in refusal(lambda functions: functions.read(iterates))


CallableType = collections.abc.Callable[[int], int]
IterableType = collections.abc.Iterable[int]


class Login(BaseModel):
    user: str
    password: SecretStr


class Masked(BaseModel):
    number: str
    hidden: str = Field("", exclude=True)


def test_arguments_that_plans_cannot_store_are_refused() -> None:
    def log_in(login: Login) -> None: ...

    def charge(cards: list[Masked]) -> None: ...

    assert "'login' of 'log_in' holds a secret" in refusal(lambda functions: functions.write(log_in))
    assert "loses or renames hidden" in refusal(lambda functions: functions.write(charge))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"timeout_seconds": float("inf")}, "timeout_seconds"),
        ({"retries": -1}, "retries"),
        ({"key_valid_seconds": 0}, "key_valid_seconds"),
        ({"roles": "admin"}, r"write roles=\['admin'\]"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RegistrationError, match=message):

        @Functions().write(**options)
        def change() -> None: ...


def test_an_annotation_may_name_a_model_defined_further_down() -> None:
    functions = Functions()

    @functions.read
    def latest() -> DefinedBelow:
        return DefinedBelow(id=1)

    assert "id" in build_catalogue(functions).functions[0].output_schema["properties"]


class DefinedBelow(BaseModel):
    id: int


class HalfDefined(BaseModel):
    part: PartDefinedBelow


half = Functions()


@half.read
def half_defined() -> HalfDefined:
    return HalfDefined(part=PartDefinedBelow(id=7))


class PartDefinedBelow(BaseModel):
    id: int


def test_a_model_may_name_another_that_is_defined_after_the_function() -> None:
    assert "PartDefinedBelow" in build_catalogue(half).functions[0].output_schema["$defs"]


class NeverWhole(BaseModel):
    part: NowhereDefined  # type: ignore[name-defined] # noqa: F821 - the point of the test


def test_a_model_that_is_never_whole_is_refused_when_the_catalogue_is_built() -> None:
    functions = Functions()

    @functions.read
    def broken(model: NeverWhole) -> None: ...

    with pytest.raises(RegistrationError, match="'model' of 'broken' has a type that names 'NowhereDefined'"):
        build_catalogue(functions)


def test_an_annotation_that_is_no_type_is_refused() -> None:
    def wrong(number: int) -> int:
        return number

    wrong.__annotations__["number"] = "int +"
    assert "A type of 'wrong' cannot be read" in refusal(lambda functions: functions.read(wrong))


def test_a_builtin_without_a_signature_is_refused() -> None:
    assert "The signature of 'next_item' cannot be read" in refusal(
        lambda functions: functions.read(name="next_item")(next)
    )


def test_a_type_that_pydantic_cannot_compile_is_refused() -> None:
    def wrong(code: Annotated[str, Field(pattern="(")]) -> None: ...

    assert "'code' of 'wrong' has a type that cannot be used" in refusal(lambda functions: functions.read(wrong))


def test_an_annotation_that_names_nothing_is_refused_when_the_catalogue_is_built() -> None:
    functions = Functions()

    @functions.read
    def broken() -> Missing:  # type: ignore[name-defined] # noqa: F821 - the point of the test
        ...

    with pytest.raises(RegistrationError, match="names 'Missing', which does not exist"):
        build_catalogue(functions)


def test_hooks_with_arguments_are_refused() -> None:
    def opens(pool: object) -> None: ...

    with pytest.raises(RegistrationError, match="must take no arguments, but it needs pool"):
        Functions().on_start(opens)  # type: ignore[type-var] # the point of the test
    with pytest.raises(RegistrationError, match=r"write @functions\.on_stop"):
        Functions().on_stop(None)  # type: ignore[type-var] # the point of the test


def test_functions_of_several_modules_can_be_joined() -> None:
    shop, mail = Functions(), Functions()

    @shop.read
    def list_orders() -> list[str]:
        return []

    @mail.write
    def send_email(to: str) -> None: ...

    mail.on_start(lambda: None)
    shop.include(mail)
    assert [registered.name for registered in shop] == ["list_orders", "send_email"]
    assert len(shop.start_hooks) == 1
    with pytest.raises(RegistrationError, match="registered already"):
        shop.include(mail)


def test_the_context_is_no_argument_for_programs() -> None:
    functions = Functions()

    @functions.write
    def pay(_context: CallContext, amount: Annotated[int, Field(gt=0)], to: Literal["bank", "card"]) -> None: ...

    spec = build_catalogue(functions).functions[0]
    assert list(spec.input_schema["properties"]) == ["amount", "to"]
    assert "context" not in spec.declaration


def test_a_serializer_of_the_company_that_keeps_the_fields_is_accepted() -> None:
    class Upper(BaseModel):
        code: str

        @field_serializer("code")
        def _write(self, code: str) -> str:
            return code.upper()

    functions = Functions()

    @functions.write
    def use(code: Upper) -> None: ...

    assert build_catalogue(functions).get("use") is not None


def test_the_package_exports_exactly_what_a_functions_module_needs() -> None:
    assert vardy_worker.__all__ == ["CallContext", "FunctionError", "Functions"]
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = vardy_worker.Nothing
