"""A run leaves one entry where it makes a plan, and none where it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.audit import entries
from tests.support.fakes import AnsweringModel, fenced, threw
from tests.support.runs import READS, WRITES, run
from vardy_worker.contracts.audit import AuditState
from vardy_worker.contracts.job import Mode
from vardy_worker.contracts.status import Status
from vardy_worker.store.memory_jobs import MemoryJobStore

if TYPE_CHECKING:
    from tests.support.fakes import Guest
    from tests.support.worker import WorkerParts
    from vardy_worker.store.memory_audit import MemoryAuditTrail

ASKS = """
default: approve
rules:
  - name: many
    on: [pay]
    when: plan.total >= 1
    then: approve
"""


def trail_of(parts: WorkerParts) -> MemoryAuditTrail:
    assert isinstance(parts.store, MemoryJobStore)
    return parts.store.audit


def writes(guest: Guest) -> str:
    guest.effect("pay", amount=1)
    guest.effect("pay", amount=2)
    return "done"


@pytest.mark.parametrize(
    ("rules", "mode", "status", "verdict", "asking"),
    [
        (ASKS, Mode.EXECUTE, Status.PENDING_APPROVAL, "approve", ["many"]),
        (ASKS, Mode.PLAN, Status.PLANNED, "approve", ["many"]),
        ("default: allow\n", Mode.PLAN, Status.PLANNED, "allow", []),
        ("default: allow\n", Mode.EXECUTE, Status.COMMITTING, "allow", []),
        ("default: block\n", Mode.EXECUTE, Status.POLICY_BLOCKED, "block", []),
        ("default: block\n", Mode.PLAN, Status.PLANNED, "block", []),
    ],
)
def test_a_plan_leaves_one_entry_with_its_verdict(
    parts: WorkerParts, rules: str, mode: Mode, status: Status, verdict: str, asking: list[str]
) -> None:
    parts.apply_rules(rules)
    job = run(parts, writes, model=AnsweringModel(fenced(WRITES)), mode=mode)
    assert job.status is status
    [entry] = entries(trail_of(parts), job.id)
    assert (entry.action, entry.by, entry.via, entry.digest) == ("plan.made", "vardy", "worker", job.digest)
    assert entry.before == AuditState(status=Status.RUNNING, version=job.version - 1)
    assert entry.after == AuditState(status=status, version=job.version)
    told = {name: entry.details[name] for name in ("effects", "revision", "verdict", "rules")}
    assert told == {"effects": 2, "revision": 1, "verdict": verdict, "rules": asking}


def test_a_run_without_a_plan_leaves_no_entry(parts: WorkerParts) -> None:
    ended = [
        run(parts, lambda guest: guest.value("count_orders", city="Porto"), model=AnsweringModel(fenced(READS))),
        run(parts, lambda _: threw(), model=AnsweringModel(fenced(READS))),
        run(parts, model=AnsweringModel("No.", "No.")),
    ]
    assert {job.status for job in ended} == {Status.SUCCESS, Status.EXECUTION_ERROR, Status.GENERATION_ERROR}
    assert [entries(trail_of(parts), job.id) for job in ended] == [[], [], []]
