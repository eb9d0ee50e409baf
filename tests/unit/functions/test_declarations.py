from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Generic, Literal, NotRequired, TypeVar
from uuid import UUID

import pytest
import tree_sitter_typescript
from pydantic import BaseModel, Field, RootModel
from tree_sitter import Language, Parser
from typing_extensions import TypedDict

from vardy_worker import Functions
from vardy_worker.functions.catalogue import build_catalogue
from vardy_worker.functions.declarations import declarations_for

ItemT = TypeVar("ItemT")


class Status(Enum):
    OPEN = "open"
    PAID = "paid"


class Line(TypedDict):
    sku: str
    note: NotRequired[str]


class Invoice(BaseModel):
    """One invoice."""

    id: int
    total: Decimal = Field(description="in euros")
    due: date
    status: Status
    lines: list[Line] = []


class Node(BaseModel):
    value: int
    children: list[Node] = []


class Page(BaseModel, Generic[ItemT]):
    items: list[ItemT]
    after: str | None


class Tags(RootModel[list[str]]):
    pass


def declaration(function: Any, *, kind: str = "read") -> str:
    functions = Functions()
    getattr(functions, kind)(function)
    return build_catalogue(functions).functions[0].declaration


def check_syntax(text: str) -> None:
    tree = Parser(Language(tree_sitter_typescript.language_typescript())).parse(text.encode())
    assert not tree.root_node.has_error, text


def test_a_read_is_declared_with_its_named_arguments_and_result() -> None:
    def list_invoices(customer_id: int, status: Literal["open", "paid"] | None = None) -> list[Invoice]:
        """Invoices of one customer, newest first."""
        raise NotImplementedError

    assert declaration(list_invoices) == (
        "/** Invoices of one customer, newest first. */\n"
        'declare function list_invoices(args: {customer_id: number; status?: "open" | "paid" | null}): '
        "Promise<Invoice[]>;"
    )


def test_a_write_returns_a_placeholder_of_its_result() -> None:
    def refund_payment(payment_id: int) -> Invoice:
        raise NotImplementedError

    assert declaration(refund_payment, kind="write").endswith("Promise<Effect<Invoice>>;")


def test_a_function_that_needs_no_argument_may_be_called_without() -> None:
    def ping() -> None: ...

    def top(count: int = 10) -> list[str]:
        return ["x"] * count

    assert declaration(ping) == "declare function ping(): Promise<null>;"
    assert declaration(top) == (
        "declare function top(args?: {\n  /** default 10 */\n  count?: number;\n}): Promise<string[]>;"
    )


def test_values_have_the_types_that_programs_meet() -> None:
    def f() -> dict[str, tuple[UUID, datetime, Status, list[int | None], bool, float, Any]]:
        raise NotImplementedError

    assert declaration(f).endswith(
        "Promise<Record<string, [string /* uuid */, string /* ISO date and time */, Status, (number | null)[], "
        "boolean, number, any]>>;"
    )


def test_only_integers_declared_wider_than_a_double_are_declared_as_bigint_too() -> None:
    def f(small: int, wide: Annotated[int, Field(ge=0, le=2**63 - 1)]) -> int:
        return small + wide

    assert declaration(f) == (
        "declare function f(args: {\n  small: number;\n  /** at least 0 */\n  wide: number | bigint;\n}): "
        "Promise<number>;"
    )


def test_limits_of_arguments_are_said_in_their_comments() -> None:
    def f(
        name: Annotated[str, Field(min_length=1)],
        code: Annotated[str, Field(min_length=2, max_length=3, pattern="^[A-Z]+$")],
        note: Annotated[str, Field(max_length=9, description="for people")],
        ids: Annotated[list[int], Field(min_length=2)],
        rate: Annotated[float, Field(gt=0, lt=1)],
    ) -> None: ...

    comments = [line.strip() for line in declaration(f).splitlines() if "/**" in line]
    assert comments == [
        "/** not empty */",
        "/** 2 to 3 characters; matches ^[A-Z]+$ */",
        "/** for people · at most 9 characters */",
        "/** at least 2 items */",
        "/** more than 0; less than 1 */",
    ]


def test_models_become_interfaces_with_their_comments() -> None:
    functions = Functions()

    @functions.read
    def list_invoices() -> list[Invoice]:
        return []

    @functions.read
    def tags() -> Tags:
        return Tags([])

    types = build_catalogue(functions).types
    assert types == {
        "Invoice": (
            "/** One invoice. */\ninterface Invoice {\n  id: number;\n  /** in euros */\n"
            "  total: string /* decimal digits */;\n  due: string /* YYYY-MM-DD */;\n"
            "  status: Status;\n  lines: Line[];\n}"
        ),
        "Line": "interface Line {sku: string; note?: string}",
        "Status": 'type Status = "open" | "paid";',
        "Tags": "type Tags = string[];",
    }


def test_a_model_that_is_read_otherwise_than_written_has_two_types() -> None:
    functions = Functions()

    @functions.write
    def save(invoice: Invoice) -> Invoice:
        return invoice

    types = build_catalogue(functions).types
    assert "total: number | string /* decimal digits */;" in types["InvoiceInput"]
    assert "lines?: Line[];" in types["InvoiceInput"]
    assert "total: string /* decimal digits */;" in types["Invoice"]
    assert (
        "save(args: {invoice: InvoiceInput}): Promise<Effect<Invoice>>"
        in build_catalogue(functions).functions[0].declaration
    )


def test_two_models_of_one_name_get_two_types() -> None:
    class Other:
        class Invoice(BaseModel):
            text: str

    functions = Functions()

    @functions.read
    def mine() -> Invoice:
        raise NotImplementedError

    @functions.read
    def theirs() -> Other.Invoice:
        raise NotImplementedError

    catalogue = build_catalogue(functions)
    names = [name for name in catalogue.types if name.endswith("Invoice")]
    assert len(names) == 2
    for spec, field in zip(catalogue.functions, ("total", "text"), strict=True):
        returned = spec.declaration.removesuffix(">;").rpartition("<")[2]
        assert f"{field}: string" in catalogue.types[returned]


def test_a_model_named_like_a_global_gets_another_name() -> None:
    class Promise(BaseModel):
        kept: bool

    functions = Functions()

    @functions.read
    def promise_of() -> Promise:
        raise NotImplementedError

    assert list(build_catalogue(functions).types) == ["ModelPromise"]


def test_generic_and_recursive_models_are_declared() -> None:
    functions = Functions()

    @functions.read
    def page() -> Page[Invoice]:
        raise NotImplementedError

    @functions.read
    def tree() -> Node:
        raise NotImplementedError

    catalogue = build_catalogue(functions)
    assert catalogue.types["PageInvoice"] == "interface PageInvoice {items: Invoice[]; after: string | null}"
    assert catalogue.types["Node"] == "interface Node {value: number; children: Node[]}"
    check_syntax(declarations_for(catalogue))


def test_declarations_hold_exactly_the_types_that_the_functions_need() -> None:
    functions = Functions()

    @functions.read
    def list_invoices() -> list[Invoice]:
        """Not a Node."""
        return []

    @functions.write
    def plant(node: Node) -> None: ...

    @functions.read
    def say(word: Literal["Node"]) -> str:
        return word

    catalogue = build_catalogue(functions)
    whole = declarations_for(catalogue)
    assert [word for word in ("Effect<T>", "interface Node", "interface Invoice ") if word in whole] == [
        "Effect<T>",
        "interface Node",
        "interface Invoice ",
    ]
    reads = declarations_for(catalogue.for_user((), reads_only=True))
    assert "interface Invoice " in reads
    assert "interface Line " in reads
    assert "interface Node" not in reads
    assert "Effect" not in reads
    assert declarations_for(catalogue.for_user((), only=())) == ""


def test_declarations_do_not_depend_on_the_order_of_registration() -> None:
    def one() -> Invoice:
        raise NotImplementedError

    def two() -> Node:
        raise NotImplementedError

    forwards, backwards = Functions(), Functions()
    for function in (one, two):
        forwards.read(function)
    for function in (two, one):
        backwards.read(function)
    assert declarations_for(build_catalogue(forwards)) == declarations_for(build_catalogue(backwards))


@pytest.mark.parametrize(
    "text",
    [
        "ends here */ declare function evil(): void; /*",
        "/* nested */",
        "carriage\rreturn */",
        "separator\u2028 */ x",
        "nul\x00 bell\x07",
        "**/",
    ],
)
def test_no_docstring_or_description_can_end_its_comment(text: str) -> None:
    class Model(BaseModel):
        field: int = Field(description=text)

    Model.__doc__ = text
    Model.model_rebuild(force=True)

    def act(number: Annotated[int, Field(description=text)]) -> Model:
        raise NotImplementedError

    act.__doc__ = text
    functions = Functions()
    functions.read(act)
    rendered = declarations_for(build_catalogue(functions))
    tree = Parser(Language(tree_sitter_typescript.language_typescript())).parse(rendered.encode())
    assert not tree.root_node.has_error
    kinds = [node.type for node in tree.root_node.named_children if node.type != "comment"]
    assert kinds == ["interface_declaration", "ambient_declaration"]
    assert "\x00" not in rendered
    assert "\u2028" not in rendered


def test_field_names_that_are_no_identifiers_are_quoted() -> None:
    class Model(BaseModel):
        content_type: str = Field(alias="content-type")

    functions = Functions()

    @functions.read
    def f() -> Model:
        raise NotImplementedError

    assert build_catalogue(functions).types["Model"] == 'interface Model {"content-type": string}'
