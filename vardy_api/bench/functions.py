"""The functions that the benchmarks register: as little work of their own as possible."""

from __future__ import annotations

from pydantic import BaseModel

from vardy_worker import Functions

functions = Functions()
writes = Functions()
"""Apart from the others, whose declarations a model is sent."""

PROGRAM = """async function run(params) {
  const rows = await list_rows({ count: params.count });
  return { rows: rows.length, sum: rows.reduce((sum, row) => sum + row.amount, 0) };
}
"""
"""One read, and an output that depends on the data."""

MANY_CALLS_PROGRAM = """async function run(params) {
  let rows = 0;
  for (let call = 0; call < params.calls; call++) rows += (await list_rows({ count: params.count })).length;
  return { rows };
}
"""
"""Calls one after the other, each awaited before the next."""


class Row(BaseModel):
    """One small row."""

    id: int
    name: str
    amount: int


@functions.read
def list_rows(count: int) -> list[Row]:
    """As many rows as asked for."""
    return [Row(id=number, name=f"row {number}", amount=number * 3) for number in range(count)]


@writes.write(idempotent=True)
def note(number: int, cents: int, text: str) -> int:
    """Applies nothing."""
    return number + cents + len(text)
