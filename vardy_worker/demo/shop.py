"""The demo shop's functions, written as a company would write its own.

The state lives in `VARDY_DEMO_DIR` (an SQLite file); without it, in memory until the worker
stops. `shop` may be opened by hand before the worker starts, which then keeps it.
"""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from vardy_worker import CallContext, FunctionError, Functions
from vardy_worker.demo.database import COURIER_LINE, DROPPED_LINE_CITY, Database
from vardy_worker.demo.records import (
    Agent,
    CourierBooking,
    Currency,
    Customer,
    ExchangeRate,
    Invoice,
    InvoiceStatus,
    Mail,
    Order,
    OrderDetails,
    OrderLine,
    OrderStatus,
    Payment,
    Priority,
    Refund,
    Segment,
    Ticket,
    TicketStatus,
)

if TYPE_CHECKING:
    import sqlite3

DIRECTORY_VARIABLE = "VARDY_DEMO_DIR"
RATES = {"BRL": Decimal("6.15"), "GBP": Decimal("0.86"), "USD": Decimal("1.09")}

functions = Functions()
shop = Database()


@functions.on_start
def open_shop() -> None:
    """Opens the shop unless it is open already."""
    directory = os.environ.get(DIRECTORY_VARIABLE)
    if not shop.is_open:
        shop.open(Path(directory) if directory else None)


@functions.on_stop
def close_shop() -> None:
    """Closes the shop."""
    shop.close()


# --- reads ------------------------------------------------------------------------------


@functions.read
def list_customers(city: str | None = None, segment: Segment | None = None) -> list[Customer]:
    """All customers, or those of one city or segment, by id."""
    rows = shop.rows(
        "SELECT * FROM customers WHERE (?1 IS NULL OR city = ?1) AND (?2 IS NULL OR segment = ?2) ORDER BY id",
        (city, segment),
    )
    return [Customer.model_validate(dict(row)) for row in rows]


@functions.read
def get_customer(customer_id: int) -> Customer:
    """One customer."""
    return Customer.model_validate(dict(_needed("customer", "customers", customer_id)))


@functions.read
def list_orders(
    customer_id: int | None = None,
    status: OrderStatus | None = None,
    placed_since: date | None = None,
) -> list[Order]:
    """Orders, newest first, without their lines."""
    rows = shop.rows(
        "SELECT * FROM orders WHERE (?1 IS NULL OR customer_id = ?1) AND (?2 IS NULL OR status = ?2)"
        " AND (?3 IS NULL OR placed_on >= ?3) ORDER BY placed_on DESC, id DESC",
        (customer_id, status, placed_since and placed_since.isoformat()),
    )
    return [Order.model_validate(dict(row)) for row in rows]


@functions.read
def get_order(order_id: int) -> OrderDetails:
    """One order with its lines."""
    order = _needed("order", "orders", order_id)
    lines = shop.rows("SELECT * FROM order_lines WHERE order_id = ? ORDER BY rowid", (order_id,))
    return OrderDetails(**dict(order), lines=[OrderLine.model_validate(dict(line)) for line in lines])


@functions.read
def list_invoices(
    customer_id: int | None = None,
    status: InvoiceStatus | None = None,
    due_before: date | None = None,
) -> list[Invoice]:
    """Invoices, oldest due date first. Overdue ones are open and due before today."""
    rows = shop.rows(
        "SELECT * FROM invoices WHERE (?1 IS NULL OR customer_id = ?1) AND (?2 IS NULL OR status = ?2)"
        " AND (?3 IS NULL OR due_on < ?3) ORDER BY due_on, id",
        (customer_id, status, due_before and due_before.isoformat()),
    )
    return [Invoice.model_validate(dict(row)) for row in rows]


@functions.read
def list_payments(customer_id: int | None = None, invoice_id: int | None = None) -> list[Payment]:
    """Payments, newest first."""
    rows = shop.rows(
        "SELECT * FROM payments WHERE (?1 IS NULL OR customer_id = ?1) AND (?2 IS NULL OR invoice_id = ?2)"
        " ORDER BY paid_on DESC, id DESC",
        (customer_id, invoice_id),
    )
    return [Payment.model_validate(dict(row)) for row in rows]


@functions.read
def list_tickets(
    status: TicketStatus | None = None, customer_id: int | None = None, agent_id: int | None = None
) -> list[Ticket]:
    """Support tickets, newest first."""
    rows = shop.rows(
        "SELECT * FROM tickets WHERE (?1 IS NULL OR status = ?1) AND (?2 IS NULL OR customer_id = ?2)"
        " AND (?3 IS NULL OR agent_id = ?3) ORDER BY opened_on DESC, id DESC",
        (status, customer_id, agent_id),
    )
    return [Ticket.model_validate(dict(row)) for row in rows]


@functions.read
def list_agents() -> list[Agent]:
    """The people who answer tickets."""
    return [Agent.model_validate(dict(row)) for row in shop.rows("SELECT * FROM agents ORDER BY id")]


@functions.read
def list_mails(customer_id: int | None = None) -> list[Mail]:
    """Mails that were sent, newest first."""
    rows = shop.rows("SELECT * FROM mails WHERE ?1 IS NULL OR customer_id = ?1 ORDER BY id DESC", (customer_id,))
    return [Mail.model_validate(dict(row)) for row in rows]


@functions.read
async def get_exchange_rate(currency: Currency) -> ExchangeRate:
    """What one euro buys, by the shop's fixed list."""
    return ExchangeRate(currency=currency, rate=RATES[currency])


# --- writes -----------------------------------------------------------------------------


@functions.write(idempotent=True)
def cancel_order(context: CallContext, order_id: int, reason: str = "") -> Order:
    """Cancel an order that has not been shipped. Its invoice becomes void."""

    def cancel(connection: sqlite3.Connection) -> Order:
        order = _needed("order", "orders", order_id)
        if order["status"] != "open":
            raise FunctionError(f"Order {order_id} is {order['status']}, so it cannot be cancelled.")
        connection.execute("UPDATE orders SET status = 'cancelled' WHERE id = ?", (order_id,))
        connection.execute("UPDATE invoices SET status = 'void' WHERE order_id = ? AND status = 'open'", (order_id,))
        return Order.model_validate({**dict(order), "status": "cancelled"})

    context.logger.info("order.cancelled", order_id=order_id, with_reason=bool(reason))
    return shop.once(context.idempotency_key, "cancel_order", Order, cancel)


@functions.write(idempotent=True, timeout_seconds=10)
def refund_payment(
    context: CallContext, payment_id: int, amount_cents: Annotated[int, Field(gt=0)], reason: str = ""
) -> Refund:
    """Give money back for one payment, at most what was paid and not yet refunded."""

    def refund(connection: sqlite3.Connection) -> Refund:
        payment = _needed("payment", "payments", payment_id)
        left = payment["amount_cents"] - payment["refunded_cents"]
        if amount_cents > left:
            raise FunctionError(f"Of payment {payment_id} only {left} cents are left to refund.")
        connection.execute(
            "UPDATE payments SET refunded_cents = refunded_cents + ? WHERE id = ?", (amount_cents, payment_id)
        )
        refund_id = _insert(
            connection,
            "INSERT INTO refunds (payment_id, amount_cents, reason) VALUES (?, ?, ?)",
            (payment_id, amount_cents, reason),
        )
        return Refund(id=refund_id, payment_id=payment_id, amount_cents=amount_cents, reason=reason)

    return shop.once(context.idempotency_key, "refund_payment", Refund, refund)


@functions.write(idempotent=True, timeout_seconds=10, retries=2)
def send_email(
    context: CallContext,
    customer_id: int,
    subject: Annotated[str, Field(min_length=1, max_length=200)],
    body: Annotated[str, Field(min_length=1, max_length=10_000)],
) -> Mail:
    """Send one mail to one customer."""

    def send(connection: sqlite3.Connection) -> Mail:
        customer = _needed("customer", "customers", customer_id)
        if customer["mailbox_full"]:
            raise FunctionError(f"The mailbox of customer {customer_id} is full: the mail was refused.")
        sent_at = datetime.now(UTC).replace(microsecond=0)
        mail_id = _insert(
            connection,
            "INSERT INTO mails (customer_id, subject, body, sent_at) VALUES (?, ?, ?, ?)",
            (customer_id, subject, body, sent_at.isoformat()),
        )
        return Mail(id=mail_id, customer_id=customer_id, subject=subject, body=body, sent_at=sent_at)

    return shop.once(context.idempotency_key, "send_email", Mail, send)


@functions.write(idempotent=True)
def create_ticket(
    context: CallContext,
    customer_id: int,
    subject: Annotated[str, Field(min_length=1, max_length=200)],
    body: str = "",
    priority: Priority = "normal",
) -> Ticket:
    """Open a support ticket for a customer."""

    def create(connection: sqlite3.Connection) -> Ticket:
        _needed("customer", "customers", customer_id)
        opened_on = datetime.now(UTC).date()
        ticket_id = _insert(
            connection,
            "INSERT INTO tickets (customer_id, subject, body, status, priority, opened_on)"
            " VALUES (?, ?, ?, 'open', ?, ?)",
            (customer_id, subject, body, priority, opened_on.isoformat()),
        )
        return Ticket.model_validate(dict(_needed("ticket", "tickets", ticket_id)))

    return shop.once(context.idempotency_key, "create_ticket", Ticket, create)


@functions.write(idempotent=True)
def assign_ticket(context: CallContext, ticket_id: int, agent_id: int) -> Ticket:
    """Give a ticket to an agent."""

    def assign(connection: sqlite3.Connection) -> Ticket:
        _needed("ticket", "tickets", ticket_id)
        _needed("agent", "agents", agent_id)
        connection.execute("UPDATE tickets SET agent_id = ? WHERE id = ?", (agent_id, ticket_id))
        return Ticket.model_validate(dict(_needed("ticket", "tickets", ticket_id)))

    return shop.once(context.idempotency_key, "assign_ticket", Ticket, assign)


@functions.write
def book_courier(order_id: int) -> CourierBooking:
    """Have an open order collected tomorrow. The courier cannot tell a repeated booking from a new one."""
    with shop.transaction() as connection:
        order = _needed("order", "orders", order_id)
        if order["status"] != "open":
            raise FunctionError(f"Order {order_id} is {order['status']}, so there is nothing to collect.")
        city = _needed("customer", "customers", order["customer_id"])["city"]
        line_drops = city == DROPPED_LINE_CITY and shop.row("SELECT 1 FROM trouble WHERE name = ?", (COURIER_LINE,))
        collect_on = datetime.now(UTC).date() + timedelta(days=1)
        booking_id = _insert(
            connection,
            "INSERT INTO courier_bookings (order_id, collect_on) VALUES (?, ?)",
            (order_id, collect_on.isoformat()),
        )
    if line_drops:
        # The booking stands, and the shop does not know: an outcome that is honestly unknown.
        raise ConnectionResetError("The line to the courier dropped before the answer came.")
    return CourierBooking(id=booking_id, order_id=order_id, collect_on=collect_on)


@functions.write(idempotent=True, roles=("finance",))
def write_off_invoice(context: CallContext, invoice_id: int, reason: str) -> Invoice:
    """Give up an open invoice. For finance only."""

    def write_off(connection: sqlite3.Connection) -> Invoice:
        invoice = _needed("invoice", "invoices", invoice_id)
        if invoice["status"] != "open":
            raise FunctionError(f"Invoice {invoice_id} is {invoice['status']}, so there is nothing to write off.")
        connection.execute("UPDATE invoices SET status = 'void' WHERE id = ?", (invoice_id,))
        return Invoice.model_validate({**dict(invoice), "status": "void"})

    context.logger.info("invoice.written_off", invoice_id=invoice_id, with_reason=bool(reason))
    return shop.once(context.idempotency_key, "write_off_invoice", Invoice, write_off)


def _needed(what: str, table: str, row_id: int) -> sqlite3.Row:
    row = shop.row(f"SELECT * FROM {table} WHERE id = ?", (row_id,))  # noqa: S608 - tables are named above
    if row is None:
        raise FunctionError(f"There is no {what} {row_id}.")
    return row


def _insert(connection: sqlite3.Connection, statement: str, values: tuple[object, ...]) -> int:
    row_id = connection.execute(statement, values).lastrowid
    if row_id is None:
        raise RuntimeError("SQLite gave no id for an inserted row.")
    return row_id
