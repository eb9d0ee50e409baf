"""Typed values from a read through a program into a plan, and out of the plan into a write: the same values."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.support.factories import ANA, NOW_MS, planned_job
from vardy_worker import Functions
from vardy_worker.adapters.sandbox import ChildSandbox
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.limits import Limits
from vardy_worker.contracts.plan import Plan
from vardy_worker.contracts.program import Program
from vardy_worker.functions.runtime import FunctionRuntime
from vardy_worker.ports import CallOk, FunctionCall
from vardy_worker.stages.execute import Executed, ExecuteInput, execute
from vardy_worker.stages.plan import plan_of

JOB = "job_01HZZZZZZZZZZZZZZZZZZZZZZZ"
SOURCE = """async function run(params) {
  const record = await read_record();
  const copy = structuredClone(record);
  const parts = { ...record, lines: record.lines.map((line) => ({ ...line })) };
  await write_record({ record });
  await write_record({ record: copy });
  await write_record({ record: parts });
  return record;
}"""


class State(Enum):
    OPEN = "open"
    PAID = "paid"


class Rank(IntEnum):
    LOW = 1
    HIGH = 2**60


class Line(BaseModel):
    id: int
    price: Decimal | None
    share: float
    state: State | None
    rank: Rank = Rank.LOW


class Record(BaseModel):
    key: UUID
    made: datetime
    due: date | None
    pause: timedelta
    sure: bool
    note: str | None
    counts: dict[str, int]
    nested: list[list[int | None]]
    lines: list[Line]


integers = (
    st.integers(-10, 10) | st.integers(-(2**80), 2**80) | st.sampled_from([2**53, -(2**53), 2**63 - 1, 2**53 - 1])
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["__proto__", "then", "toJSON", ""]
)
lines = st.builds(
    Line,
    id=integers,
    price=st.none() | st.decimals(allow_nan=False, allow_infinity=False) | st.just(Decimal("0.10")),
    # There is one zero in JSON.
    share=st.floats(allow_nan=False, allow_infinity=False).map(lambda share: share + 0.0),
    state=st.none() | st.sampled_from(State),
    rank=st.sampled_from(Rank),
)
zones = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45)), timezone(-timedelta(hours=9))])
records = st.builds(
    Record,
    key=st.uuids(),
    made=st.datetimes(min_value=datetime(1000, 1, 1), timezones=zones),  # noqa: DTZ001 - hypothesis adds the zone
    due=st.none() | st.dates(),
    pause=st.timedeltas(timedelta(0), timedelta(days=1000)),
    sure=st.booleans(),
    note=st.none() | texts,
    counts=st.dictionaries(texts, integers, max_size=3),
    nested=st.lists(st.lists(st.none() | integers, max_size=2), max_size=2),
    lines=st.lists(lines, max_size=3),
)


class Shop:
    """What is read, and what was written."""

    def __init__(self) -> None:
        self.record: Record | None = None
        self.written: list[Record] = []
        functions = Functions()

        @functions.read
        def read_record() -> Record:
            assert self.record is not None
            return self.record

        @functions.write
        def write_record(record: Record) -> None:
            self.written.append(record)

        self.runtime = FunctionRuntime(functions, threads=2)


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    shop = Shop()
    shop.runtime.start()
    yield shop
    shop.runtime.stop()


def plan_for(sandbox: ChildSandbox, shop: Shop) -> Plan:
    program = Program(source=SOURCE, sha256=sha256_text(SOURCE))
    job = ExecuteInput(
        job_id=JOB,
        program=program,
        catalogue=shop.runtime.catalogue(),
        params={},
        user=ANA,
        limits=Limits(execute_seconds_max=20),
        now_ms=NOW_MS,
    )
    executed = execute(job, sandbox=sandbox, host=shop.runtime, clock=SystemClock())
    assert isinstance(executed, Executed), executed
    plan = plan_of(planned_job(id=JOB, program=program), executed.effects, rules_digest="", plan_bytes_max=10**6)
    assert isinstance(plan, Plan)
    return plan


def commit(shop: Shop, plan: Plan) -> None:
    for effect in plan.body().effects:
        call = FunctionCall(effect.function, effect.args, JOB, ANA)
        [outcome] = shop.runtime.call_many(
            [call], deadline=time.monotonic() + 30, in_flight_max=1, result_bytes_max=10**6
        )
        assert isinstance(outcome, CallOk), outcome


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=records)
def test_a_record_that_was_read_is_written_as_it_was(sandbox: ChildSandbox, shop: Shop, record: Any) -> None:
    shop.record = record
    shop.written.clear()
    commit(shop, plan_for(sandbox, shop))
    assert len(shop.written) == 3
    for written in shop.written:
        assert written == record
        # Decimals that are equal may differ in their digits, which must stay too.
        assert written.model_dump(mode="json") == record.model_dump(mode="json")
