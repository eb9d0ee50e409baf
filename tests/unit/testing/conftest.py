"""A shop that a company could have, and a worker in memory for its functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from vardy_worker import CallContext, FunctionError, Functions
from vardy_worker.testing import Harness

RULES = """\
default: approve
rules:
  - name: small-refunds
    on: [refund]
    when: args.amount_cents <= 1000
    then: allow
  - name: refunds
    on: [refund]
    when: args.amount_cents > 1000
    then: approve
    approvers: {roles: [lead]}
    message: "A lead approves larger refunds."
  - name: ceiling
    on: [refund]
    when: args.amount_cents > 100000
    then: block
    message: "Nobody refunds that much."
  - name: notes
    on: [write_note]
    then: allow
"""
REFUND = """async function run(params) {
  const payments = await list_payments({ customer_id: 7 });
  const refunded = await refund({ payment_id: payments[0].id, amount_cents: params.cents });
  await write_note({ text: refunded.id });
  console.log("planned", params.cents);
  return { refund: refunded.id, payments: payments.length };
}"""


@dataclass
class Shop:
    """What the functions of the shop read and write."""

    refunds: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    failing: list[Exception] = field(default_factory=list)
    contexts: list[CallContext] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def functions(shop: Shop) -> Functions:
    functions = Functions()

    @functions.on_start
    async def open_pool() -> None:
        shop.opened.append("open")

    @functions.on_stop
    def close_pool() -> None:
        shop.opened.append("closed")

    @functions.read
    def list_payments(customer_id: int) -> list[dict[str, int]]:
        """Payments of one customer."""
        return [{"id": customer_id * 10}]

    @functions.write(idempotent=True, retries=2, roles=["support"])
    def refund(context: CallContext, payment_id: int, amount_cents: int) -> dict[str, str]:
        """Give money back."""
        shop.contexts.append(context)
        if shop.failing:
            raise shop.failing.pop(0)
        if amount_cents == 13:
            raise FunctionError("Nobody refunds thirteen.")
        shop.refunds.setdefault(context.idempotency_key, amount_cents)
        return {"id": f"re_{payment_id}"}

    @functions.write
    async def write_note(text: str) -> str:
        """Write a note."""
        shop.notes.append(text)
        return text

    return functions


@pytest.fixture
def harness(functions: Functions) -> Iterator[Harness]:
    with Harness(functions, rules=RULES, user={"id": "ana", "roles": ["support"]}) as harness:
        yield harness
