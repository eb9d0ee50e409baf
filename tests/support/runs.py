"""Runs of one job through the run pipeline, on fakes of model and sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.factories import submission
from tests.support.fakes import AnsweringModel, Guest, PlayedSandbox, fenced
from vardy_worker.contracts.job import JobKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.worker import WorkerParts
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.status import Status

QUESTION = "How is Porto doing?"
ANSWER = "Porto has 3 orders."
READS = "async function run(params) {\n  return await count_orders({ city: 'Porto' });\n}"
WRITES = "async function run(params) {\n  await pay({ amount: 1 });\n  return 'done';\n}"
UNKNOWN = "async function run(params) {\n  return await count_order({ city: 'Porto' });\n}"


def run(
    parts: WorkerParts,
    *plays: Callable[[Guest], object],
    model: AnsweringModel | None = None,
    job: JobRecord | None = None,
    **fields: Any,
) -> JobRecord:
    given = job or parts.submit(submission(**fields))
    sandbox = PlayedSandbox(*(plays or (lambda _: None,)))
    parts.runner(model or AnsweringModel(fenced(READS)), sandbox).run(given.id)
    return parts.job(given.id)


def explore(
    parts: WorkerParts,
    *plays: Callable[[Guest], object],
    model: AnsweringModel | None = None,
    job: JobRecord | None = None,
    **fields: Any,
) -> JobRecord:
    """An explore: of several plays each is one round's; the model answers in order."""
    given = job or parts.submit(submission(**{"request": QUESTION, **fields}), kind=JobKind.EXPLORE)
    return run(parts, *plays, model=model or AnsweringModel(fenced(READS), ANSWER), job=given)


def outcome(job: JobRecord) -> tuple[Status, str]:
    return job.status, job.error.code if job.error else ""
