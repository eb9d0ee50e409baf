"""Jobs for a running deployment: stored and published as the API does it, and waited for in the store."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vardy_api.bench.floors import ROWS, until_true
from vardy_api.bench.functions import PROGRAM, functions
from vardy_worker.contracts.audit import Action, AuditNote
from vardy_worker.contracts.ids import new_job_id
from vardy_worker.contracts.job import JobRecord, Submission
from vardy_worker.contracts.recipe import Recipe
from vardy_worker.contracts.status import Status, is_settled
from vardy_worker.contracts.user import User
from vardy_worker.demo.phrases import Answer
from vardy_worker.functions import build_catalogue
from vardy_worker.queue import CeleryQueue, make_celery
from vardy_worker.settings import load_settings
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from contextlib import ExitStack

BENCH_USER = User(id="bench")
RECIPE = "bench"
QUESTION = "How many rows are there?"
PARAMS = {"count": len(ROWS)}
DUE_MS = 600_000
"""When the reconciler would publish a job again: after the benchmark."""


def answer_with_program(_: list[tuple[str, str]]) -> Answer:
    """What a scripted model answers to `QUESTION`: the program of the recipe."""
    return Answer(f"```javascript\n{PROGRAM}```")


def stored_job(store: RedisJobStore, submission: Submission, recipe: Recipe | None, *, due_in_ms: int) -> str:
    """A job that no message tells of yet."""
    now_ms = time.time_ns() // 1_000_000
    record = JobRecord(id=new_job_id(), owner="bench", submission=submission, recipe=recipe, created_at_ms=now_ms)
    noted = AuditNote(action=Action.JOB_SUBMITTED, at_ms=now_ms, by=BENCH_USER.id)
    store.submit(record, None, due_at_ms=now_ms + due_in_ms, audit=[noted])
    return record.id


@dataclass(frozen=True, slots=True)
class Jobs:
    """Submits to the store and queue of one server."""

    store: RedisJobStore
    queue: CeleryQueue
    recipe: Recipe

    @classmethod
    def opened(cls, redis_url: str, opened: ExitStack) -> Jobs:
        """Connected until `opened` ends."""
        settings = load_settings(redis_url=redis_url)
        client = connect(redis_url)
        opened.callback(client.close)
        queue = CeleryQueue(make_celery(settings), settings)
        opened.callback(queue.close)
        pinned = {spec.name: spec.version for spec in build_catalogue(functions).functions}
        recipe = Recipe(name=RECIPE, source=PROGRAM, functions=pinned)
        return cls(RedisJobStore(client, settings.namespace), queue, recipe)

    def of_recipe(self) -> str:
        """Submits a job without any AI call: one read."""
        return self._submit(Submission(recipe=RECIPE, params=PARAMS, user=BENCH_USER), self.recipe)

    def asking(self) -> str:
        """Submits a job whose program comes from the model."""
        return self._submit(Submission(request=QUESTION, params=PARAMS, user=BENCH_USER), None)

    def _submit(self, submission: Submission, recipe: Recipe | None) -> str:
        job_id = stored_job(self.store, submission, recipe, due_in_ms=DUE_MS)
        self.queue.publish("run", job_id)
        return job_id

    def until_settled(self, jobs: list[str]) -> None:
        """Waits until all have succeeded. Raises `RuntimeError` for one that ended otherwise."""
        waiting = list(jobs)

        def all_settled() -> bool:
            while waiting:
                state = self.store.version(waiting[-1])
                if state is None or not is_settled(state[1]):
                    return False
                if state[1] is not Status.SUCCESS:
                    raise RuntimeError(f"a job ended as {state[1]}")
                waiting.pop()
            return True

        until_true(all_settled)
