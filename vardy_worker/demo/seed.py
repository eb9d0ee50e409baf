"""The demo shop as it is on its first day: always the same, its days counted back from today."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

FULL_MAILBOX = 6
"""The customer whose mailbox is full at first."""
DROPPED_LINE_CITY = "Faro"
COURIER_LINE = "courier_line"

CUSTOMERS = (
    ("Ana Figueira", "Lisboa", "private"),
    ("Bruno Tavares", "Lisboa", "private"),
    ("Carla Nogueira", "Porto", "business"),
    ("Duarte Pimentel", "Braga", "private"),
    ("Elsa Quaresma", "Coimbra", "private"),
    ("Filipe Abrantes", "Porto", "business"),
    ("Graça Valadares", "Lisboa", "private"),
    ("Hugo Seixas", "Aveiro", "private"),
    ("Inês Carvalhal", "Porto", "private"),
    ("Jorge Lacerda", "Braga", "business"),
    ("Luísa Monteverde", "Lisboa", "private"),
    ("Marta Falcão", "Faro", "private"),
    ("Nuno Bragança", "Coimbra", "business"),
    ("Olga Serrano", "Faro", "private"),
)
PRODUCTS = (
    ("espresso machine", 44_900),
    ("coffee grinder", 18_950),
    ("kettle", 5_900),
    ("filter papers", 450),
    ("house blend 1 kg", 2_350),
    ("cup", 1_200),
    ("descaler", 890),
)
AGENTS = ("Rui Madeira", "Sofia Lobato", "Teresa Vilar")
TICKETS = (
    (2, "Parcel not arrived", "It should have come on Monday.", "open", "high", 1),
    (4, "Wrong grinder", "I ordered the black one.", "open", "normal", 2),
    (5, "Invoice copy", "Please send me the invoice again.", "solved", "low", 2),
    (7, "Machine leaks", "Water under the machine after a week.", "open", "high", None),
    (9, "Change of address", "We moved to another street.", "open", "normal", 1),
    (12, "Kettle noise", "It whistles although it is electric.", "open", "low", 3),
    (13, "Bulk prices", "What does it cost from 50 kg?", "solved", "normal", 3),
)

ORDERS = 40
ORDER_STATUSES = ("delivered", "open", "shipped", "delivered")
PAY_DAYS = 14
FIRST_INVOICE = 1001


def fill(shop: sqlite3.Connection, today: date) -> None:
    """Puts the first day's rows into an empty database."""
    for number, (name, city, segment) in enumerate(CUSTOMERS, 1):
        mail = name.split()[0].lower().translate(str.maketrans("çêí", "cei")) + f"{number}@example.com"
        since = today - timedelta(days=200 + number * 37)
        shop.execute(
            "INSERT INTO customers VALUES (?, ?, ?, ?, ?, ?, ?)",
            (number, name, mail, city, segment, since.isoformat(), int(number == FULL_MAILBOX)),
        )
    for number, name in enumerate(AGENTS, 1):
        shop.execute("INSERT INTO agents VALUES (?, ?)", (number, name))
    for number in range(1, ORDERS + 1):
        _order(shop, number, today)
    for number, (customer_id, subject, body, status, priority, agent_id) in enumerate(TICKETS, 1):
        opened_on = (today - timedelta(days=number * 2)).isoformat()
        shop.execute(
            "INSERT INTO tickets VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (number, customer_id, subject, body, status, priority, agent_id, opened_on),
        )
    shop.execute("INSERT INTO trouble VALUES (?)", (COURIER_LINE,))


def _order(shop: sqlite3.Connection, number: int, today: date) -> None:
    customer_id = number * 5 % len(CUSTOMERS) + 1
    placed_on = today - timedelta(days=number * 7 % 60 + 1)
    lines = [(*PRODUCTS[(number + k) % len(PRODUCTS)], 1 + (number + k) % 2) for k in range(1 + number % 3)]
    total = sum(price * quantity for _, price, quantity in lines)
    status = ORDER_STATUSES[number % len(ORDER_STATUSES)]
    shop.execute(
        "INSERT INTO orders VALUES (?, ?, ?, ?, ?)", (number, customer_id, placed_on.isoformat(), status, total)
    )
    for product, price, quantity in lines:
        shop.execute("INSERT INTO order_lines VALUES (?, ?, ?, ?)", (number, product, quantity, price))
    paid = number % 3 != 0
    invoice_id = FIRST_INVOICE + number - 1
    due_on = placed_on + timedelta(days=PAY_DAYS)
    invoice = (invoice_id, number, customer_id, placed_on.isoformat(), due_on.isoformat())
    shop.execute(
        "INSERT INTO invoices VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (*invoice, "paid" if paid else "open", total, "0.23"),
    )
    if paid:
        paid_on = min(today, placed_on + timedelta(days=number % PAY_DAYS))
        shop.execute(
            "INSERT INTO payments (invoice_id, customer_id, paid_on, amount_cents, method) VALUES (?, ?, ?, ?, ?)",
            (invoice_id, customer_id, paid_on.isoformat(), total, "card" if number % 2 else "transfer"),
        )
