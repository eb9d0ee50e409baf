from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vardy_worker.contracts.functions import Catalogue, FunctionKind, FunctionSpec
from vardy_worker.programs import check

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from vardy_worker.contracts.program import Finding

    Codes = Callable[..., list[str]]
    Findings = Callable[..., tuple[Finding, ...]]


@pytest.mark.parametrize(
    "call",
    [
        "list_customers()",
        "list_customers({})",
        "list_customers(undefined)",
        "list_invoices({customer_id: 7})",
        "list_invoices({customer_id: params.id, status: 'open'})",
        "list_invoices({customer_id: 7n, status: null})",
        "list_invoices({'customer_id': -7, status: undefined})",
        "list_invoices({['customer_id']: 7.0})",
        'list_invoices({customer_id: "9007199254740993"})',
        "list_invoices(params)",
        "list_invoices({...params})",
        "list_invoices({[params.key]: 1})",
        "list_invoices(...params.calls)",
        "list_invoices({customer_id: params.a ? 1 : 2})",
        "list_invoices({customer_id: params.a ?? 2, status: params.paid ? 'paid' : 'open'})",
        "list_invoices({customer_id: Number(params.a)})",
        (
            "create_ticket({customer_id: 1, title: `a ${params.x}`, priority: 'low', tags: ['a', params.b], "
            "urgent: !params.x})"
        ),
        "create_ticket({customer_id: 1, title: 'a', contact: {name: 'x', phone: null}})",
        "create_ticket({customer_id: 1, title: 'a', contact: params.contact})",
        "refund_payment({payment_id: 1, amount_cents: 1})",
    ],
)
def test_arguments_that_fit_or_cannot_be_seen_pass(codes: Codes, call: str) -> None:
    assert codes(f"return await {call};") == []


@pytest.mark.parametrize(
    ("call", "code", "argument"),
    [
        ("list_invoices()", "argument_missing", "/customer_id"),
        ("list_invoices({})", "argument_missing", "/customer_id"),
        ("list_invoices({customer_id: undefined})", "argument_missing", "/customer_id"),
        ("list_invoices({status: 'open', ...{}, customer: 1})", "argument_unknown", "/customer"),
        ("list_invoices({customer_id: 1, customerId: 2})", "argument_unknown", "/customerId"),
        ("list_invoices({customer_id: 1, state() {}})", "argument_unknown", "/state"),
        ("list_customers({limit: 5})", "argument_unknown", "/limit"),
        ("list_invoices({customer_id: '7'})", "argument_type", "/customer_id"),
        ("list_invoices({customer_id: `7`})", "argument_type", "/customer_id"),
        ("list_invoices({customer_id: 7.5})", "argument_type", "/customer_id"),
        ("list_invoices({customer_id: null})", "argument_type", "/customer_id"),
        ("list_invoices({customer_id: [1]})", "argument_type", "/customer_id"),
        ("list_invoices({customer_id: true})", "argument_type", "/customer_id"),
        ("list_invoices({customer_id: () => 1})", "argument_type", "/customer_id"),
        ("list_invoices({customer_id: params.a ? 1 : 'x'})", "argument_type", "/customer_id"),
        ("list_invoices({customer_id: 9007199254740993})", "argument_value", "/customer_id"),
        ("list_invoices({customer_id: 1, status: 'opened'})", "argument_value", "/status"),
        ("list_invoices({customer_id: 1, status: 3})", "argument_type", "/status"),
        ("create_ticket({customer_id: 1, title: 5})", "argument_type", "/title"),
        ("create_ticket({customer_id: 1, title: 'a', urgent: 'yes'})", "argument_type", "/urgent"),
        ("create_ticket({customer_id: 1, title: 'a', priority: 'medium'})", "argument_value", "/priority"),
        ("create_ticket({customer_id: 1, title: 'a', tags: 'x'})", "argument_type", "/tags"),
        ("create_ticket({customer_id: 1, title: 'a', tags: ['x', 1]})", "argument_type", "/tags/1"),
        ("create_ticket({customer_id: 1, title: 'a', contact: {}})", "argument_missing", "/contact/name"),
        ("create_ticket({customer_id: 1, title: 'a', contact: {name: 1}})", "argument_type", "/contact/name"),
        (
            "create_ticket({customer_id: 1, title: 'a', contact: {name: 'x', fax: 1}})",
            "argument_unknown",
            "/contact/fax",
        ),
        ("refund_payment({payment_id: 1, amount_cents: 0})", "argument_value", "/amount_cents"),
        ("refund_payment({payment_id: 1, amount_cents: -5})", "argument_value", "/amount_cents"),
    ],
)
def test_a_literal_that_contradicts_the_schema_is_blocked(
    findings: Findings, call: str, code: str, argument: str
) -> None:
    (finding,) = findings(f"async function run(params) {{ return await {call}; }}")

    assert finding.code == f"program.{code}"
    assert finding.details["argument"] == argument
    assert finding.details["function"] in finding.message


@pytest.mark.parametrize(
    "call",
    [
        "list_invoices(7, 'open')",
        "list_invoices(7)",
        "list_invoices('7')",
        "list_invoices([7])",
        "list_invoices({customer_id: 7}, {status: 'open'})",
        "list_invoices`7`",
        "list_invoices('a' + params.b)",
        "list_invoices(x => x)",
        "list_invoices(null)",
    ],
)
def test_anything_but_one_object_is_blocked(findings: Findings, call: str) -> None:
    (finding,) = findings(f"async function run(params) {{ return await {call}; }}")

    assert finding.code == "program.arguments_shape"
    assert "list_invoices({customer_id: …})" in finding.hint


@pytest.mark.parametrize("method", ["forEach", "filter", "reduce", "sort", "findLastIndex"])
def test_a_function_handed_to_any_method_of_lists_is_blocked(codes: Codes, method: str) -> None:
    assert "program.arguments_shape" in codes(f"return await params.ids.{method}(get_customer);")


def test_a_function_handed_to_map_would_get_its_arguments_by_position(findings: Findings) -> None:
    (finding,) = findings("async function run(params) { return await Promise.all(params.ids.map(get_customer)); }")

    assert (finding.code, finding.column) == ("program.arguments_shape", 70)
    assert finding.hint == "Write `map((item) => get_customer({customer_id: …}))`."


def test_every_wrong_argument_is_reported_at_its_own_place(findings: Findings) -> None:
    found = findings(
        "async function run(params) {\n"
        "  return await create_ticket({\n"
        "    customer_id: 'x',\n"
        "    priority: 'medium',\n"
        "    colour: 'red',\n"
        "  });\n"
        "}"
    )

    assert [(f.code, f.line, f.column) for f in found] == [
        ("program.argument_missing", 2, 30),
        ("program.argument_type", 3, 18),
        ("program.argument_value", 4, 15),
        ("program.argument_unknown", 5, 5),
    ]
    assert found[2].details["allowed"] == ["low", "high"]
    assert found[2].message == '`priority` of `create_ticket` must be "low" or "high", not the string \'medium\'.'


def test_a_misspelt_argument_gets_a_suggestion(findings: Findings) -> None:
    found = findings("async function run(params) { return await list_invoices({customerId: 1}); }")

    unknown = next(finding for finding in found if finding.code == "program.argument_unknown")
    assert unknown.hint.startswith("Did you mean `customer_id`?")


@pytest.mark.parametrize(
    ("schema", "literal", "fits"),
    [
        ({"const": "a"}, "'a'", True),
        ({"const": "a"}, "'b'", False),
        ({"enum": [1, 2]}, "2", True),
        ({"enum": [1, 2]}, "3", False),
        ({"enum": [1]}, "true", False),
        ({"type": ["string", "null"]}, "null", True),
        ({"type": ["string", "null"]}, "1", False),
        ({"type": "number"}, "1", True),
        ({"type": "number", "maximum": 10}, "11", False),
        ({"type": "number", "maximum": 10}, "10", True),
        ({"type": "number", "minimum": 10}, "10", True),
        ({"type": "number", "exclusiveMinimum": 0}, "0", False),
        ({"type": "number", "exclusiveMaximum": 1}, "0.5", True),
        ({"allOf": [{"type": "string"}]}, "1", False),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "true", False),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "1e2", True),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "{a: 'x'}", False),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "{a: 1, [params.x]: 2}", True),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, "['a', 1]", True),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, "[1, 1]", False),
        ({"type": "array", "items": {"type": "integer"}}, "[...params.ids, 'x']", True),
        ({"$ref": "#/$defs/Loop"}, "{next: {next: {next: 1}}}", False),
        ({"$ref": "#/$defs/Missing"}, "1", True),
        (True, "1", True),
        ({}, "/a/", True),
    ],
)
def test_schemas_of_every_kind_are_followed(schema: Any, literal: str, fits: bool) -> None:
    loop = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Loop"}}}
    spec = FunctionSpec(
        name="f",
        kind=FunctionKind.READ,
        input_schema={"type": "object", "properties": {"x": schema}, "$defs": {"Loop": loop}},
        output_schema={},
        declaration="",
        version="1",
    )

    found = check(f"async function run(params) {{ return await f({{x: {literal}}}); }}", Catalogue(functions=(spec,)))

    assert (found == ()) is fits


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        ("list_invoices({customer_id: '7'})", "Write `7`, without quotes."),
        ("list_invoices({customer_id: ' -7 '})", "Write `-7`, without quotes."),
        ("list_invoices({customer_id: 7.5})", "Write a whole number; `Math.round(…)` makes one."),
        ("list_invoices({customer_id: '7.5'})", "Write a whole number; `Math.round(…)` makes one."),
        (
            "list_invoices({customer_id: 9007199254740993})",
            "A number beyond 2^53 keeps its digits only with an `n` behind them.",
        ),
        ("list_invoices({customer_id: 'the customer'})", "Take the value from `params` or from what a read returned."),
        ("list_invoices({customer_id: 1, status: 'opened'})", 'Did you mean "open"?'),
        ("create_ticket({customer_id: 1, title: 'a', priority: 'zzz'})", "Choose one of them."),
        ("list_invoices({customer_id: 1, status: [1]})", 'Give "open" or "paid".'),
        (
            "create_ticket({customer_id: 1, title: 'a', contact: {name: 'n', phone: 5}})",
            'Write `"5"`, with quotes.',
        ),
        ("create_ticket({customer_id: 1, title: 5})", 'Write `"5"`, with quotes.'),
        ("create_ticket({customer_id: 1, title: 'a', urgent: 'yes'})", "Write `true` or `false`, without quotes."),
        ("create_ticket({customer_id: 1, title: 'a', tags: 'x'})", "Put it into brackets: `[…]`."),
        (
            "refund_payment({payment_id: 1, amount_cents: 0})",
            "Take the value from `params` or from what a read returned.",
        ),
    ],
)
def test_a_wrong_literal_comes_with_what_to_write_instead(findings: Findings, call: str, hint: str) -> None:
    (finding,) = findings(f"async function run(params) {{ return await {call}; }}")

    assert finding.hint == hint
