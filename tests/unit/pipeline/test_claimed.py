"""What a worker asks of the store for a job that it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.factories import submission
from tests.support.fakes import AnsweringModel, PlayedSandbox, fenced
from tests.support.runs import READS
from vardy_worker.contracts.status import Status
from vardy_worker.store.memory_jobs import MemoryJobStore

if TYPE_CHECKING:
    from tests.support.worker import WorkerParts
    from vardy_worker.contracts.job import JobRecord


class Unread(MemoryJobStore):
    """Remembers which jobs were read."""

    def __init__(self, parts: WorkerParts) -> None:
        super().__init__(parts.clock)
        self.read: list[str] = []

    def get(self, job_id: str) -> JobRecord | None:
        self.read.append(job_id)
        return super().get(job_id)


@pytest.fixture
def store(parts: WorkerParts) -> Unread:
    parts.store = store = Unread(parts)
    return store


def test_a_run_reads_no_job_that_its_claim_has_told(parts: WorkerParts, store: Unread) -> None:
    job = parts.submit(submission())
    parts.runner(AnsweringModel(fenced(READS)), PlayedSandbox(lambda _: None)).run(job.id)
    assert store.read == []
    assert parts.job(job.id).status is Status.SUCCESS


def test_a_commit_reads_no_job_that_its_claim_has_told(parts: WorkerParts, store: Unread) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1), parts.effect(1, "pay", amount=2))
    store.read.clear()
    parts.committer().commit(job.id)
    assert store.read == []
    assert parts.job(job.id).status is Status.SUCCESS
