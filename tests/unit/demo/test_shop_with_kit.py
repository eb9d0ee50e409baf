"""The demo shop tested as a company tests its own: by the kit, with its rules."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from vardy_worker.demo.shop import functions, shop
from vardy_worker.testing import CrashPoint, Harness, crash_points

if TYPE_CHECKING:
    from collections.abc import Iterator

RULES = Path(str(resources.files("vardy_worker.demo").joinpath("rules.yaml")))
ANA = {"id": "ana", "roles": ["support"]}
LEA = {"id": "lea", "roles": ["support_lead"]}
WRITES: dict[str, tuple[dict[str, Any], str]] = {
    "cancel_order": ({"order_id": 17}, "orders WHERE status = 'cancelled'"),
    "refund_payment": ({"payment_id": 5, "amount_cents": 100}, "refunds"),
    "send_email": ({"customer_id": 1, "subject": "Hello", "body": "Hello"}, "mails"),
    "create_ticket": ({"customer_id": 1, "subject": "Hello"}, "tickets"),
    "assign_ticket": ({"ticket_id": 1, "agent_id": 2}, "tickets WHERE id = 1 AND agent_id = 2"),
    "book_courier": ({"order_id": 17}, "courier_bookings"),
    "write_off_invoice": ({"invoice_id": 1003, "reason": "Bankrupt"}, "invoices WHERE id = 1003 AND status = 'void'"),
}


@pytest.fixture
def harness() -> Iterator[Harness]:
    with Harness(functions, rules=RULES, user=ANA) as harness:
        yield harness


def test_every_write_is_tested_here() -> None:
    assert set(WRITES) == {function.name for function in functions if function.kind.value == "write"}


# Calls that overlap wait for the one transaction that all writes share, so one function of them will do.
POINTS = [
    point
    for name in WRITES
    for point in crash_points(functions, name)
    if name == "refund_payment" or not (point.moment == "timed-out" and point.line)
]


@pytest.mark.parametrize("point", POINTS, ids=str)
def test_every_write_is_applied_exactly_once(point: CrashPoint) -> None:
    args, rows = WRITES[point.function]

    def count() -> int:
        found = shop.row(f"SELECT count(*) FROM {rows}")  # noqa: S608 - from the table above
        assert found is not None
        return int(found[0])

    report = point.check(args, applied=count)
    assert report.applied == 1


def test_a_refund_is_approved_by_a_lead_and_mailed_with_its_number(harness: Harness) -> None:
    job = harness.run(
        """async function run(params) {
          const refund = await refund_payment({ payment_id: 5, amount_cents: params.cents });
          await create_ticket({ customer_id: 1, subject: "Refunded", body: refund.reason });
          return { refund: refund.id };
        }""",
        params={"cents": 5_001},
    )
    assert (job.status, job.plan and job.plan.verdict) == ("PENDING_APPROVAL", "approve")
    done = harness.approve(job, user=LEA)
    assert (done.status, done.output) == ("SUCCESS", {"refund": done.effects[0].result["id"]})
