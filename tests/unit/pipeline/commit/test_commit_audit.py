"""However a commit ends, it leaves one entry; what it does between leaves none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.audit import actions, check, entries
from tests.support.target import Target, lose_worker, requeue
from tests.support.worker import WorkerParts
from vardy_worker import FunctionError
from vardy_worker.contracts.audit import AuditState
from vardy_worker.contracts.job import JobRecord
from vardy_worker.contracts.status import Status
from vardy_worker.store.memory_audit import MemoryAuditTrail
from vardy_worker.store.memory_jobs import MemoryJobStore


def trail_of(parts: WorkerParts) -> MemoryAuditTrail:
    assert isinstance(parts.store, MemoryJobStore)
    return parts.store.audit


def _nothing(_parts: WorkerParts, _target: Target, _job: JobRecord) -> None:
    pass


def _first_fails(_parts: WorkerParts, target: Target, _job: JobRecord) -> None:
    target.failing["pay"] = [FunctionError("no")]


def _second_fails(_parts: WorkerParts, target: Target, _job: JobRecord) -> None:
    target.failing["ring"] = [FunctionError("no")]


def _second_crashes(_parts: WorkerParts, target: Target, _job: JobRecord) -> None:
    target.failing["ring"] = [RuntimeError("SECRET")]


def _cancelled(parts: WorkerParts, _target: Target, job: JobRecord) -> None:
    assert parts.store.request_cancel(job.id, by="lea")


def _blocked(parts: WorkerParts, _target: Target, _job: JobRecord) -> None:
    parts.apply_rules("default: block\n")


def _asked_again(parts: WorkerParts, _target: Target, _job: JobRecord) -> None:
    parts.apply_rules("default: approve\n")


def _killed(parts: WorkerParts, _target: Target, job: JobRecord) -> None:
    for _ in range(parts.settings.delivery_attempts_max):
        lose_worker(parts, job)


Around = Callable[[WorkerParts, Target, JobRecord], None]


@pytest.mark.parametrize(
    ("around", "status", "action", "code", "effects"),
    [
        (_nothing, Status.SUCCESS, "job.settled", None, {"total": 2, "succeeded": 2}),
        (
            _first_fails,
            Status.FUNCTION_ERROR,
            "job.settled",
            "function.failed",
            {"total": 2, "failed": 1, "pending": 1},
        ),
        (_second_fails, Status.PARTIAL, "job.settled", "commit.failed", {"total": 2, "succeeded": 1, "failed": 1}),
        (_second_crashes, Status.PARTIAL, "job.settled", "commit.unknown", {"total": 2, "succeeded": 1, "unknown": 1}),
        (_cancelled, Status.CANCELLED, "job.settled", "job.cancelled", {"total": 2, "pending": 2}),
        (_blocked, Status.POLICY_BLOCKED, "job.settled", "policy.changed", {"total": 2, "pending": 2}),
        (_asked_again, Status.PENDING_APPROVAL, "plan.reparked", None, None),
        (_killed, Status.PARTIAL, "job.settled", "commit.poison", {"total": 2, "unknown": 1, "pending": 1}),
    ],
)
def test_a_commit_leaves_one_entry_when_it_ends(
    parts: WorkerParts,
    target: Target,
    around: Around,
    status: Status,
    action: str,
    code: str | None,
    effects: dict[str, int] | None,
) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1), parts.effect(1, "ring", who=2))
    around(parts, target, job)
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert ended.status is status
    [entry] = entries(trail_of(parts), job.id)
    assert (entry.action, entry.by, entry.via, entry.digest) == (action, "vardy", "worker", ended.digest)
    assert entry.before is not None
    assert entry.before.status is Status.COMMITTING
    assert entry.after == AuditState(status=status, version=ended.version)
    assert (entry.details.get("code"), entry.details.get("effects")) == (code, effects)
    assert "SECRET" not in entry.model_dump_json()
    assert check(trail_of(parts))[job.id].ok


def test_a_plan_that_waits_again_is_named_by_its_new_digest(parts: WorkerParts) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    parts.apply_rules("default: approve\n")
    parts.committer().commit(job.id)
    [entry] = entries(trail_of(parts), job.id)
    assert entry.digest == parts.job(job.id).digest != job.digest
    assert entry.details["revision"] == 2


def test_a_retry_that_is_put_off_leaves_no_entry(parts: WorkerParts, target: Target) -> None:
    target.failing["pay"] = [FunctionError("busy", retryable=True)]
    job = parts.committing(parts.effect(0, "pay", amount=1))
    parts.committer().commit(job.id)
    assert (parts.job(job.id).status, actions(trail_of(parts), job.id)) == (Status.COMMITTING, [])
    parts.clock.forward(120)
    parts.committer().commit(job.id)
    assert (parts.job(job.id).status, actions(trail_of(parts), job.id)) == (Status.SUCCESS, ["job.settled"])


def test_a_second_message_leaves_no_second_entry(parts: WorkerParts) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    for _ in range(3):
        parts.committer().commit(job.id)
    assert actions(trail_of(parts), job.id) == ["job.settled"]


def test_a_repaired_commit_tells_each_step(parts: WorkerParts, target: Target) -> None:
    target.failing["ring"] = [FunctionError("no")]
    job = parts.committing(parts.effect(0, "pay", amount=1), parts.effect(1, "ring", who=2))
    parts.committer().commit(job.id)
    requeue(parts, parts.job(job.id))
    parts.committer().commit(job.id)
    found = entries(trail_of(parts), job.id)
    assert [(entry.action, entry.by) for entry in found] == [
        ("job.settled", "vardy"),
        ("commit.requeued", "olga"),
        ("job.settled", "vardy"),
    ]
    assert found[1].details == {"effects": [1]}
    assert found[2].after == AuditState(status=Status.SUCCESS, version=parts.job(job.id).version)
