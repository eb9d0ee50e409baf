"""A small catalogue, and the checks on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from vardy_worker.contracts.functions import Catalogue, FunctionKind, FunctionSpec
from vardy_worker.programs import check

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.program import Finding


def _spec(name: str, kind: FunctionKind, properties: dict[str, Any], **more: Any) -> FunctionSpec:
    schema = {"type": "object", "properties": properties, "additionalProperties": False, **more}
    return FunctionSpec(
        name=name,
        kind=kind,
        input_schema=schema,
        output_schema={},
        declaration=f"declare function {name}(): Promise<unknown>;",
        version="v1",
    )


@pytest.fixture(scope="session")
def shop() -> Catalogue:
    read, write = FunctionKind.READ, FunctionKind.WRITE
    integer, text = {"type": "integer"}, {"type": "string"}
    status = {"anyOf": [{"enum": ["open", "paid"], "type": "string"}, {"type": "null"}], "default": None}
    contact = {
        "type": "object",
        "properties": {"name": text, "phone": {"anyOf": [text, {"type": "null"}]}},
        "required": ["name"],
        "additionalProperties": False,
    }
    ticket = {
        "customer_id": integer,
        "title": text,
        "priority": {"type": "string", "enum": ["low", "high"]},
        "contact": {"$ref": "#/$defs/Contact"},
        "tags": {"type": "array", "items": text},
        "urgent": {"type": "boolean"},
    }
    email = {"to": text, "body": text, "cc": {"type": "array", "items": text}}
    refund = {"payment_id": integer, "amount_cents": {"type": "integer", "minimum": 1}}
    return Catalogue(
        functions=(
            _spec("create_ticket", write, ticket, required=["customer_id", "title"], **{"$defs": {"Contact": contact}}),
            _spec("get_customer", read, {"customer_id": integer}, required=["customer_id"]),
            _spec("list_customers", read, {}),
            _spec("list_invoices", read, {"customer_id": integer, "status": status}, required=["customer_id"]),
            _spec("refund_payment", write, refund, required=["payment_id", "amount_cents"]),
            _spec("send_email", write, email, required=["to", "body"]),
        )
    )


@pytest.fixture(scope="session")
def findings(shop: Catalogue) -> Callable[..., tuple[Finding, ...]]:
    """Checks a program against the shop."""

    def of(source: str, **options: Any) -> tuple[Finding, ...]:
        return check(source, shop, **options)

    return of


@pytest.fixture(scope="session")
def codes(findings: Callable[..., tuple[Finding, ...]]) -> Callable[..., list[str]]:
    """The codes of all findings for the body of a `run`, by place."""

    def of(body: str, **options: Any) -> list[str]:
        source = f"async function run(params) {{\n{body}\n}}"
        return [finding.code for finding in findings(source, **options)]

    return of
