-- The demo shop's database. Money is in cents, days are ISO dates.
CREATE TABLE customers (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, city TEXT NOT NULL,
    segment TEXT NOT NULL, since TEXT NOT NULL,
    mailbox_full INTEGER NOT NULL DEFAULT 0  -- 1: mail to this customer is refused until it is emptied
);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id),
    placed_on TEXT NOT NULL, status TEXT NOT NULL, total_cents INTEGER NOT NULL
);
CREATE INDEX orders_by_customer ON orders (customer_id);
CREATE TABLE order_lines (
    order_id INTEGER NOT NULL REFERENCES orders (id), product TEXT NOT NULL,
    quantity INTEGER NOT NULL, unit_price_cents INTEGER NOT NULL
);
CREATE INDEX order_lines_by_order ON order_lines (order_id);
CREATE TABLE invoices (
    id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (id),
    customer_id INTEGER NOT NULL REFERENCES customers (id), issued_on TEXT NOT NULL, due_on TEXT NOT NULL,
    status TEXT NOT NULL, amount_cents INTEGER NOT NULL, vat_rate TEXT NOT NULL
);
CREATE INDEX invoices_by_customer ON invoices (customer_id);
CREATE TABLE payments (
    id INTEGER PRIMARY KEY, invoice_id INTEGER NOT NULL REFERENCES invoices (id),
    customer_id INTEGER NOT NULL REFERENCES customers (id), paid_on TEXT NOT NULL,
    amount_cents INTEGER NOT NULL, refunded_cents INTEGER NOT NULL DEFAULT 0, method TEXT NOT NULL
);
CREATE TABLE refunds (
    id INTEGER PRIMARY KEY, payment_id INTEGER NOT NULL REFERENCES payments (id),
    amount_cents INTEGER NOT NULL, reason TEXT NOT NULL
);
CREATE TABLE agents (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE tickets (
    id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id), subject TEXT NOT NULL,
    body TEXT NOT NULL, status TEXT NOT NULL, priority TEXT NOT NULL,
    agent_id INTEGER REFERENCES agents (id), opened_on TEXT NOT NULL
);
CREATE TABLE mails (
    id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id),
    subject TEXT NOT NULL, body TEXT NOT NULL, sent_at TEXT NOT NULL
);
CREATE TABLE courier_bookings (
    id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (id), collect_on TEXT NOT NULL
);
-- Results of writes by idempotency key, so that a repeated call gives the first result again.
CREATE TABLE applied (
    idempotency_key TEXT PRIMARY KEY, function TEXT NOT NULL, result TEXT NOT NULL
);
-- Simulated trouble: a name here means that it is there.
CREATE TABLE trouble (name TEXT PRIMARY KEY);
