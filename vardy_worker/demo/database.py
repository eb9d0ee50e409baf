"""The demo shop's state: an SQLite file, or a database in memory.

Two troubles are simulated, so that a demo can show what happens when a commit stops
half-way. Both are plain state of the database, and both can be mended:

- the mailbox of customer `FULL_MAILBOX` refuses mail until `empty_mailbox()`;
- the line to the courier drops after bookings for orders from `DROPPED_LINE_CITY`, until
  `mend_courier_line()`: the booking is made, but the caller never hears of it.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import resources
from typing import TYPE_CHECKING, TypeVar

from vardy_worker.demo.seed import COURIER_LINE, DROPPED_LINE_CITY, FULL_MAILBOX, fill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import date
    from pathlib import Path

    from pydantic import BaseModel

__all__ = ["COURIER_LINE", "DROPPED_LINE_CITY", "FULL_MAILBOX", "Database"]

FILE_NAME = "shop.sqlite3"
BUSY_SECONDS = 10

RecordT = TypeVar("RecordT", bound="BaseModel")
Row = sqlite3.Row


class Database:
    """One connection, shared by the threads of a process; other processes may use the same file.

    A new database is filled with the same shop every time, its days counted back from `today`.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def open(self, directory: Path | None, *, today: date | None = None) -> None:
        """Opens `shop.sqlite3` in the directory, or without one a database that ends with `close()`."""
        self.close()
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
        path = ":memory:" if directory is None else str(directory / FILE_NAME)
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        connection.row_factory = Row
        connection.execute("PRAGMA foreign_keys = ON")
        self._connection = connection
        with self.transaction() as shop:
            if not shop.execute("SELECT 1 FROM sqlite_master WHERE name = 'customers'").fetchone():
                schema = resources.files("vardy_worker.demo").joinpath("schema.sql").read_text(encoding="utf-8")
                # Not `executescript`, which would end the transaction and let another process in.
                for statement in _statements(schema):
                    shop.execute(statement)
                fill(shop, today or datetime.now(UTC).date())

    @property
    def is_open(self) -> bool:
        """Whether there is a connection."""
        return self._connection is not None

    def close(self) -> None:
        """Closes the connection, if it is open."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction that may write: all of it happens, or nothing."""
        with self._lock:
            if self._connection is None:
                raise RuntimeError("The demo shop is not open.")
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.rollback()
                raise
            self._connection.commit()

    def rows(self, query: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """All rows of a query."""
        with self._lock:
            if self._connection is None:
                raise RuntimeError("The demo shop is not open.")
            return self._connection.execute(query, parameters).fetchall()

    def row(self, query: str, parameters: tuple[object, ...] = ()) -> Row | None:
        """The first row of a query."""
        found = self.rows(query, parameters)
        return found[0] if found else None

    def once(
        self, key: str, function: str, kind: type[RecordT], apply: Callable[[sqlite3.Connection], RecordT]
    ) -> RecordT:
        """Applies a change unless this idempotency key was used before; then gives that result again.

        The change and the memory of it are one transaction. Raises `ValueError` for an empty
        key, under which different changes would be taken for one.
        """
        if not key:
            raise ValueError("A write needs an idempotency key.")
        with self.transaction() as shop:
            known = shop.execute("SELECT result FROM applied WHERE idempotency_key = ?", (key,)).fetchone()
            if known:
                return kind.model_validate_json(known["result"])
            result = apply(shop)
            shop.execute("INSERT INTO applied VALUES (?, ?, ?)", (key, function, result.model_dump_json()))
            return result

    def empty_mailbox(self, customer_id: int = FULL_MAILBOX) -> None:
        """Lets the customer get mail again."""
        with self.transaction() as shop:
            shop.execute("UPDATE customers SET mailbox_full = 0 WHERE id = ?", (customer_id,))

    def mend_courier_line(self) -> None:
        """Lets the shop hear of bookings again."""
        with self.transaction() as shop:
            shop.execute("DELETE FROM trouble WHERE name = ?", (COURIER_LINE,))


def _statements(script: str) -> list[str]:
    statements: list[str] = []
    pending = ""
    for line in script.splitlines():
        pending += line + "\n"
        if sqlite3.complete_statement(pending):
            statements.append(pending)
            pending = ""
    return statements
