"""The rounds of an explore in every store: kept as they were written, whatever is written beside or after them."""

from __future__ import annotations

import pytest

from tests.support.factories import NOW_MS
from tests.support.worlds import job_in
from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.execution import CallSummary, ValueShape
from vardy_worker.contracts.explore import Round
from vardy_worker.contracts.program import Finding, Program
from vardy_worker.contracts.status import Stage, Status
from vardy_worker.ports import Change, Changed, Claimed, Conflict, JobStore
from vardy_worker.prompts.summary import summary_text

RUNNING = frozenset({Status.RUNNING})
SOURCE = "async function run() { return 1; }\n"
PROGRAM = Program(source=SOURCE, sha256=sha256_text(SOURCE), line_map=(1,), attempts=1, prompt="explore-1")
UNDER_WAY = Round(n=1, program=PROGRAM)
FINDING = Finding(code="program.no_return", message="“No return.”", line=1, column=1, severity="warning")
FAILED = Round(
    n=2,
    program=PROGRAM.model_copy(update={"warnings": (FINDING,)}),
    error=ErrorInfo(code="function.failed", message="there is no “Atlântida”", details={"line": 2}),
    calls=(CallSummary(id=0, function="find", ok=False, code="function.failed"),),
    shapes=(ValueShape(label="find returned", shape="{id: number}"),),
    ended_at_ms=NOW_MS + 1,
)
SUMMARIES = [
    None,
    0,
    "",
    False,
    [],
    {},
    {"b": 1, "a": {"é…": None}, "10": 1, "2": 1, "…": "3 more keys"},
    [[], {}, "… 3 more items"],
    {"n": 1, "program": None, "error": None, "truncated": False},
    1.5e300,
    -0.1,
    2**53,
    "\u0000\u2028😀",
]


def writes(store: JobStore, job_id: str, *rounds: Round, fence: int | None = None) -> Changed | object:
    event = Event(type="round", data={"n": len(rounds), "state": "running"}, at_ms=NOW_MS)
    return store.change(
        Change(
            job_id,
            RUNNING,
            Status.RUNNING,
            expect_fence=fence,
            set={"rounds": rounds, "stage": Stage.EXECUTE},
            events=(event,),
        )
    )


def rounds_of(store: JobStore, job_id: str) -> tuple[Round, ...]:
    found = store.get(job_id)
    assert found is not None
    return found.rounds


@pytest.mark.parametrize("summary", SUMMARIES, ids=repr)
def test_a_summary_is_read_as_it_was_written_with_its_keys_in_order(store: JobStore, summary: object) -> None:
    job = job_in(store, Status.RUNNING)
    written = Round(n=1, program=PROGRAM, summary=summary, truncated=True, ended_at_ms=NOW_MS)
    writes(store, job.id, written)
    [read] = rounds_of(store, job.id)
    assert read == written
    assert summary_text(read.summary) == summary_text(summary)


def test_rounds_grow_and_stay_when_other_fields_change(store: JobStore) -> None:
    job = job_in(store, Status.RUNNING)
    assert rounds_of(store, job.id) == ()
    writes(store, job.id, UNDER_WAY)
    ended = UNDER_WAY.model_copy(update={"summary": {"orders": 3}, "ended_at_ms": NOW_MS})
    writes(store, job.id, ended)
    writes(store, job.id, ended, FAILED)
    assert isinstance(store.change(Change(job.id, RUNNING, Status.SUCCESS, set={"answer": "“3” orders"})), Changed)
    assert rounds_of(store, job.id) == (ended, FAILED)
    found = store.get(job.id)
    assert found is not None
    assert found.answer == "“3” orders"
    told = [event.data for event in store.events(job.id) if event.type == "round"]
    assert told == [{"n": 1, "state": "running"}, {"n": 1, "state": "running"}, {"n": 2, "state": "running"}]


def test_a_worker_that_was_overtaken_writes_no_round(store: JobStore) -> None:
    job = job_in(store, Status.RUNNING)
    claims = [
        store.claim(job.id, expect=RUNNING, to=Status.RUNNING, worker=worker, lease_ms=0) for worker in ("w1", "w2")
    ]
    first, second = claims
    assert isinstance(first, Claimed)
    assert isinstance(second, Claimed)
    assert isinstance(writes(store, job.id, UNDER_WAY, fence=second.fence), Changed)
    assert isinstance(writes(store, job.id, UNDER_WAY, FAILED, fence=first.fence), Conflict)
    assert rounds_of(store, job.id) == (UNDER_WAY,)
