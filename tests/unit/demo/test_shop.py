from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from vardy_worker import CallContext, FunctionError
from vardy_worker.contracts.user import User
from vardy_worker.demo import shop as module
from vardy_worker.demo.database import DROPPED_LINE_CITY, FULL_MAILBOX, Database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TODAY = date(2026, 6, 15)


@pytest.fixture
def shop() -> Iterator[Database]:
    module.shop.open(None, today=TODAY)
    yield module.shop
    module.shop.close()


def context(key: str = "key-1") -> CallContext:
    return CallContext(job_id="job_1", user=User(id="ana"), idempotency_key=key)


def overdue_customers() -> set[int]:
    return {invoice.customer_id for invoice in module.list_invoices(status="open", due_before=TODAY)}


@pytest.mark.usefixtures("shop")
def test_a_new_shop_is_the_same_every_time() -> None:
    first = (module.list_customers(), module.list_orders(), module.list_invoices(), module.list_payments())
    module.shop.open(None, today=TODAY)
    assert first == (module.list_customers(), module.list_orders(), module.list_invoices(), module.list_payments())
    assert len(first[0]) == 14
    assert len(first[1]) == 40


@pytest.mark.usefixtures("shop")
def test_an_order_is_the_sum_of_its_lines_and_has_one_invoice() -> None:
    for order in module.list_orders():
        details = module.get_order(order.id)
        assert details.total_cents == sum(line.quantity * line.unit_price_cents for line in details.lines)
        invoices = [one for one in module.list_invoices(customer_id=order.customer_id) if one.order_id == order.id]
        assert [invoice.amount_cents for invoice in invoices] == [order.total_cents]


@pytest.mark.usefixtures("shop")
def test_filters_narrow_and_combine() -> None:
    assert {customer.city for customer in module.list_customers(city="Porto")} == {"Porto"}
    for order in module.list_orders(customer_id=2, status="open", placed_since=date(2026, 4, 1)):
        assert (order.customer_id, order.status) == (2, "open")
        assert order.placed_on >= date(2026, 4, 1)
    assert module.list_tickets(status="open", agent_id=1)
    assert module.list_payments(customer_id=8)
    assert module.list_customers(city="Nowhere") == []


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("call", [module.get_customer, module.get_order])
def test_what_is_not_there_is_a_domain_error(call: object) -> None:
    assert callable(call)
    with pytest.raises(FunctionError, match="There is no"):
        call(9999)


@pytest.mark.usefixtures("shop")
def test_a_repeated_refund_is_made_once() -> None:
    first = module.refund_payment(context(), payment_id=5, amount_cents=2500)
    again = module.refund_payment(context(), payment_id=5, amount_cents=2500)
    assert first == again
    other = module.refund_payment(context("key-2"), payment_id=5, amount_cents=2500)
    assert other.id != first.id
    refunded = [payment.refunded_cents for payment in module.list_payments() if payment.id == 5]
    assert refunded == [5000]


@pytest.mark.usefixtures("shop")
def test_more_than_was_paid_is_not_refunded() -> None:
    payment = module.list_payments(customer_id=7)[0]
    with pytest.raises(FunctionError, match="left to refund"):
        module.refund_payment(context(), payment_id=payment.id, amount_cents=payment.amount_cents + 1)
    assert module.list_payments(customer_id=7)[0].refunded_cents == 0


@pytest.mark.usefixtures("shop")
def test_cancelling_voids_the_open_invoice_and_shipped_orders_stay() -> None:
    order = next(one for one in module.list_orders(status="open") if one.id % 3 == 0)
    assert module.cancel_order(context(), order_id=order.id).status == "cancelled"
    assert module.get_order(order.id).status == "cancelled"
    invoice = next(one for one in module.list_invoices(customer_id=order.customer_id) if one.order_id == order.id)
    assert invoice.status == "void"
    with pytest.raises(FunctionError, match="cannot be cancelled"):
        module.cancel_order(context("key-2"), order_id=2)


def test_a_full_mailbox_refuses_mail_until_it_is_emptied(shop: Database) -> None:
    with pytest.raises(FunctionError, match="full"):
        module.send_email(context(), customer_id=FULL_MAILBOX, subject="Hello", body="Hello")
    assert module.list_mails() == []
    shop.empty_mailbox()
    mail = module.send_email(context(), customer_id=FULL_MAILBOX, subject="Hello", body="Hello")
    assert module.list_mails() == [mail]
    assert module.send_email(context(), customer_id=FULL_MAILBOX, subject="Hello", body="Hello") == mail
    assert module.list_mails(customer_id=FULL_MAILBOX) == [mail]


@pytest.mark.usefixtures("shop")
def test_the_full_mailbox_lies_in_the_middle_of_the_reminders() -> None:
    reminded = sorted(overdue_customers())
    assert len(reminded) > 5
    assert reminded[0] < FULL_MAILBOX < reminded[-1]
    assert FULL_MAILBOX in reminded


def test_a_dropped_line_leaves_the_booking_behind(shop: Database) -> None:
    far = {customer.id for customer in module.list_customers(city=DROPPED_LINE_CITY)}
    assert module.get_order(5).customer_id in far
    with pytest.raises(ConnectionResetError):
        module.book_courier(order_id=5)
    assert len(shop.rows("SELECT * FROM courier_bookings WHERE order_id = 5")) == 1
    shop.mend_courier_line()
    assert module.book_courier(order_id=5).order_id == 5
    assert len(shop.rows("SELECT * FROM courier_bookings WHERE order_id = 5")) == 2


@pytest.mark.usefixtures("shop")
def test_other_orders_reach_the_courier() -> None:
    assert module.book_courier(order_id=17).collect_on > datetime.now(UTC).date()
    with pytest.raises(FunctionError, match="nothing to collect"):
        module.book_courier(order_id=2)


@pytest.mark.usefixtures("shop")
def test_a_ticket_is_opened_and_assigned() -> None:
    ticket = module.create_ticket(context(), customer_id=2, subject="Late parcel", priority="high")
    assert ticket.agent_id is None
    assert module.assign_ticket(context("key-2"), ticket_id=ticket.id, agent_id=2).agent_id == 2
    with pytest.raises(FunctionError, match="There is no agent 99"):
        module.assign_ticket(context("key-3"), ticket_id=ticket.id, agent_id=99)


@pytest.mark.usefixtures("shop")
def test_only_an_open_invoice_is_written_off() -> None:
    invoice = module.list_invoices(status="open")[0]
    assert module.write_off_invoice(context(), invoice_id=invoice.id, reason="Bankrupt").status == "void"
    with pytest.raises(FunctionError, match="nothing to write off"):
        module.write_off_invoice(context("key-2"), invoice_id=invoice.id, reason="Bankrupt")


@pytest.mark.usefixtures("shop")
def test_a_failed_write_changes_nothing_and_may_be_repeated_with_its_key() -> None:
    with pytest.raises(FunctionError):
        module.create_ticket(context(), customer_id=9999, subject="Hello")
    assert module.create_ticket(context(), customer_id=2, subject="Hello").customer_id == 2


def test_a_file_keeps_the_shop_and_other_processes_may_mend_it(tmp_path: Path, shop: Database) -> None:
    shop.open(tmp_path / "demo", today=TODAY)
    module.create_ticket(context(), customer_id=2, subject="Hello")
    operator = Database()
    operator.open(tmp_path / "demo")
    operator.empty_mailbox()
    operator.close()
    assert module.send_email(context("key-2"), customer_id=FULL_MAILBOX, subject="Hello", body="Hello").id == 1
    shop.close()
    shop.open(tmp_path / "demo", today=date(2030, 1, 1))
    assert [ticket.subject for ticket in module.list_tickets(customer_id=2)] == ["Hello", "Parcel not arrived"]


def test_the_start_hook_opens_the_shop_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(module.DIRECTORY_VARIABLE, str(tmp_path))
    module.open_shop()
    try:
        assert (tmp_path / "shop.sqlite3").exists()
        assert len(module.list_customers()) == 14
    finally:
        module.close_shop()


def test_a_closed_shop_says_so() -> None:
    with pytest.raises(RuntimeError, match="not open"):
        module.list_customers()


@pytest.mark.usefixtures("shop")
def test_a_write_without_a_key_is_refused() -> None:
    with pytest.raises(ValueError, match="idempotency key"):
        module.create_ticket(context(""), customer_id=2, subject="Hello")


def test_an_exchange_rate_is_a_decimal() -> None:
    assert asyncio.run(module.get_exchange_rate("USD")).rate == Decimal("1.09")
