"""A disk or a replica that is slow for long: the worker lives, and the job goes on with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.target import Target, code, states
from vardy_worker.contracts.errors import NotConfirmed
from vardy_worker.contracts.journal import EffectState
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from tests.support.worker import WorkerParts
    from vardy_worker.ports import Change

LONG = 10
"""More attempts than workers that a job may lose."""


class SlowDisk:
    """A store that makes every change, and whose disk confirms no durable one."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def change(self, change: Change) -> Any:
        reply = self._store.change(change)
        if change.durable:
            raise NotConfirmed("The disk is stuck.")
        return reply


def commit_over_a_slow_disk(parts: WorkerParts, job_id: str) -> None:
    sound = parts.store
    parts.store = SlowDisk(sound)
    for number in range(LONG):
        parts.committer(f"w{number}").commit(job_id)
        parts.clock.forward(60)
    parts.store = sound


def test_a_disk_that_is_slow_for_long_counts_as_no_lost_worker(parts: WorkerParts, target: Target) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    commit_over_a_slow_disk(parts, job.id)
    assert parts.job(job.id).status is Status.COMMITTING
    assert target.calls == [], "no call without a start that is on disk"
    parts.committer().commit(job.id)
    assert parts.job(job.id).status is Status.SUCCESS
    assert len(target.calls) == 1


def test_a_job_that_is_handed_back_is_due_again_within_seconds(parts: WorkerParts) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    parts.store = SlowDisk(sound := parts.store)
    parts.committer().commit(job.id)
    parts.store = sound
    assert parts.job(job.id).lease_until_ms == 0
    assert sound.take_due(limit=10, hide_ms=0) == []
    parts.clock.forward(5)
    assert [due.job_id for due in sound.take_due(limit=10, hide_ms=0)] == [job.id]


def test_a_function_that_is_not_idempotent_is_not_called_after_a_start_that_was_not_confirmed(
    parts: WorkerParts, target: Target
) -> None:
    job = parts.committing(parts.effect(0, "ring", who=1))
    commit_over_a_slow_disk(parts, job.id)
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended), states(ended)) == (Status.PARTIAL, "commit.unknown", [EffectState.UNKNOWN])
    assert target.calls == []
