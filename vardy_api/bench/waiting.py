"""`waiting`: many jobs that each wait for a model's answer, in one worker."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from vardy_api.bench.floors import until_true
from vardy_api.bench.functions import PROGRAM
from vardy_api.bench.measuring import Measurement, needs_proc, percentile, rss_mib
from vardy_api.bench.service import BENCH_USER, bench_stack
from vardy_worker.contracts.audit import Action, AuditNote
from vardy_worker.contracts.ids import new_job_id
from vardy_worker.contracts.job import JobRecord, Submission
from vardy_worker.contracts.status import Status, is_settled
from vardy_worker.demo.phrases import Answer
from vardy_worker.demo.scripted import ScriptedModel
from vardy_worker.queue import CeleryQueue, make_celery
from vardy_worker.settings import load_settings
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from collections.abc import Sequence

JOBS = 200
ANSWER_SECONDS = 2.0
SECONDS_MAX = 4.0
MIB_MAX = 1.0


def waiting() -> Measurement:
    """From the first submission to the last settlement, and what the worker grows by while all wait."""
    needs_proc("waiting")
    with ExitStack() as opened:
        model = opened.enter_context(ScriptedModel(answer=_answer))
        stack = opened.enter_context(bench_stack(**model.environment()))
        settings = load_settings(redis_url=stack.redis_url)
        client = connect(stack.redis_url)
        opened.callback(client.close)
        store, queue = RedisJobStore(client, settings.namespace), CeleryQueue(make_celery(settings), settings)
        # The first job of a worker that asks loads the model library.
        _settled(store, _submit(store, queue, 1))
        worker = stack.pid("worker")
        before = rss_mib(worker)
        model.forget()
        model.delay_seconds = ANSWER_SECONDS
        began = time.perf_counter()
        jobs = _submit(store, queue, JOBS)
        submitted = time.perf_counter() - began
        all_wait = model.wait_for_requests(JOBS, timeout_seconds=ANSWER_SECONDS)
        grown = (rss_mib(worker) - before) / JOBS
        records = _settled(store, jobs)
        seconds = time.perf_counter() - began
    took = [((record.settled_at_ms or 0) - record.created_at_ms) / 1000 for record in records]
    return Measurement(
        name="waiting",
        what=f"{JOBS} jobs that wait {ANSWER_SECONDS:g} s each for a model, one worker, all settled",
        value=seconds,
        unit="s",
        floor=ANSWER_SECONDS,
        floor_what="one answer of the model",
        ratio=seconds / ANSWER_SECONDS,
        target=f"≤ {SECONDS_MAX:g} s, ≤ {MIB_MAX:g} MiB for each job that waits",
        met=seconds <= SECONDS_MAX and grown <= MIB_MAX and all_wait,
        details={
            "mib_for_each": round(grown, 3),
            "all_waited_at_once": all_wait,
            "submitted_s": round(submitted, 2),
            "job_p50_s": round(percentile(took, 0.5), 2),
        },
    )


def _submit(store: RedisJobStore, queue: CeleryQueue, count: int) -> list[str]:
    made = []
    for _ in range(count):
        now_ms = time.time_ns() // 1_000_000
        submission = Submission(request="How many rows are there?", params={"count": 20}, user=BENCH_USER)
        record = JobRecord(id=new_job_id(), owner="bench", submission=submission, created_at_ms=now_ms)
        noted = AuditNote(action=Action.JOB_SUBMITTED, at_ms=now_ms, by=BENCH_USER.id)
        store.submit(record, None, due_at_ms=now_ms + 60_000, audit=[noted])
        queue.publish("run", record.id)
        made.append(record.id)
    return made


def _settled(store: RedisJobStore, jobs: Sequence[str]) -> list[JobRecord]:
    records = []
    for job_id in jobs:

        def is_over(job_id: str = job_id) -> bool:
            state = store.version(job_id)
            return state is not None and is_settled(state[1])

        until_true(is_over)
        record = store.get(job_id)
        if record is None or record.status is not Status.SUCCESS:
            raise RuntimeError(f"a job ended as {record and (record.status, record.error)}")
        records.append(record)
    return records


def _answer(_: list[tuple[str, str]]) -> Answer:
    return Answer(f"```javascript\n{PROGRAM}```")
