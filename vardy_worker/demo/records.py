"""What the demo shop's functions return."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, Field

OrderStatus = Literal["open", "shipped", "delivered", "cancelled"]
InvoiceStatus = Literal["open", "paid", "void"]
TicketStatus = Literal["open", "solved"]
Priority = Literal["low", "normal", "high"]
Segment = Literal["private", "business"]
Currency = Literal["BRL", "GBP", "USD"]


class Customer(BaseModel):
    """A customer of the shop."""

    id: int
    name: str
    email: str
    city: str
    segment: Segment
    since: date


class OrderLine(BaseModel):
    """One product of an order."""

    product: str
    quantity: int
    unit_price_cents: int


class Order(BaseModel):
    """An order, without its lines."""

    id: int
    customer_id: int
    placed_on: date
    status: OrderStatus
    total_cents: int


class OrderDetails(Order):
    """An order with its lines."""

    lines: list[OrderLine]


class Invoice(BaseModel):
    """An invoice: one per order."""

    id: int
    order_id: int
    customer_id: int
    issued_on: date
    due_on: date = Field(description="unpaid after this day means overdue")
    status: InvoiceStatus
    amount_cents: int = Field(description="VAT included")
    vat_rate: Decimal


class Payment(BaseModel):
    """A payment of one invoice."""

    id: int
    invoice_id: int
    customer_id: int
    paid_on: date
    amount_cents: int
    refunded_cents: int = Field(description="already given back")
    method: Literal["card", "transfer"]


class Ticket(BaseModel):
    """A support ticket."""

    id: int
    customer_id: int
    subject: str
    body: str
    status: TicketStatus
    priority: Priority
    agent_id: int | None = Field(description="null: nobody has it yet")
    opened_on: date


class Agent(BaseModel):
    """Somebody who answers tickets."""

    id: int
    name: str


class Mail(BaseModel):
    """A mail that was sent to a customer."""

    id: int
    customer_id: int
    subject: str
    body: str
    sent_at: datetime


class Refund(BaseModel):
    """Money given back."""

    id: int
    payment_id: int
    amount_cents: int
    reason: str


class CourierBooking(BaseModel):
    """A courier who collects one order."""

    id: int
    order_id: int
    collect_on: date


class ExchangeRate(BaseModel):
    """What one euro buys."""

    currency: Currency
    rate: Decimal
