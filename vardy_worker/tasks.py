"""The Celery tasks: one line each. Messages carry ids; the store decides what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.queue import TASKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from celery import Celery

    from vardy_worker.process import WorkerProcess


def register_tasks(celery: Celery, worker: Callable[[], WorkerProcess]) -> None:
    """Registers the tasks; `worker()` is the process that runs them, there once Celery has started it."""

    @celery.task(name=TASKS["run"])  # type: ignore[untyped-decorator] # celery ships no types
    def run(job_id: str) -> None:
        worker().run(job_id)

    @celery.task(name=TASKS["commit"])  # type: ignore[untyped-decorator] # the same
    def commit(job_id: str) -> None:
        worker().commit(job_id)
