"""A company whose data, errors and exceptions all carry a mark that may not leave them.

Every mark begins alike, so that a cut or changed one is found too. No program of the tests
contains a mark: what carries one came from here, from params, or was put together at run time.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from vardy_worker import CallContext, FunctionError, Functions

PREFIX = "qzx7"

ROW_VALUE = f"{PREFIX}rowvalue"
ROW_KEY = f"{PREFIX}rowkey"
FUNCTION_ERROR = f"{PREFIX}functionerror"
EXCEPTION = f"{PREFIX}exception"
EXCEPTION_CAUSE = f"{PREFIX}causeofexception"
LOCAL_VARIABLE = f"{PREFIX}localvariable"
WRITE_EXCEPTION = f"{PREFIX}writeexception"
RESULT = f"{PREFIX}resultofwrite"

functions = Functions()


class Row(BaseModel):
    """One row."""

    id: int
    name: str
    tags: dict[str, str]


class Receipt(BaseModel):
    """What a write returns."""

    text: str


@functions.read
def list_rows() -> list[Row]:
    """All rows."""
    return [Row(id=number, name=f"{ROW_VALUE}{number}", tags={f"{ROW_KEY}{number}": ROW_VALUE}) for number in range(3)]


@functions.read
def count_by_name() -> dict[str, int]:
    """How many rows each name has."""
    return {f"{ROW_KEY}{number}": number for number in range(3)}


@functions.read
def double(value: int) -> int:
    """Twice the value."""
    return 2 * value


@functions.read
def find(name: str) -> Row:
    """Always fails, with a message for people."""
    raise FunctionError(f"{FUNCTION_ERROR}: there is no {name}")


@functions.read
def fall(name: str) -> int:
    """Always fails, with an exception that nobody expects."""
    secret = f"{LOCAL_VARIABLE} {name}"
    raise RuntimeError(EXCEPTION if secret else "") from ValueError(EXCEPTION_CAUSE)


@functions.read
def give_nonsense() -> int:
    """Returns what does not fit its type."""
    nonsense: Any = {ROW_KEY: ROW_VALUE}
    return nonsense  # type: ignore[no-any-return] # the point of it


@functions.write(idempotent=True)
def send(context: CallContext, to: str) -> Receipt:
    """Sends something."""
    context.logger.info("sent", to_characters=len(to))
    return Receipt(text=RESULT)


@functions.write
def drop(to: str) -> Receipt:
    """Fails at commit, with an exception that nobody expects."""
    raise RuntimeError(f"{WRITE_EXCEPTION} {len(to)}")
