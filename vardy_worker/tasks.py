"""The Celery tasks. Messages carry ids; the store decides what happens."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from vardy_worker.logs import get_logger
from vardy_worker.queue import TASKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from celery import Celery

    from vardy_worker.process import WorkerProcess

log = get_logger(__name__)


def register_tasks(celery: Celery, worker: Callable[[], WorkerProcess]) -> None:
    """Registers the tasks; `worker()` is the process that runs them, there once Celery has started it."""

    @celery.task(name=TASKS["run"])  # type: ignore[untyped-decorator] # celery ships no types
    def run(job_id: str) -> None:
        worker().run(job_id)
        drain_if_exhausted(worker())

    @celery.task(name=TASKS["commit"])  # type: ignore[untyped-decorator] # the same
    def commit(job_id: str) -> None:
        worker().commit(job_id)
        drain_if_exhausted(worker())


def drain_if_exhausted(worker: WorkerProcess) -> None:
    """Asks this process to finish its jobs and end, for its supervisor to start a fresh one.

    A function that hangs in a thread cannot be killed, and many of them leave no thread for
    the next call; a process without a sandbox can run nothing.
    """
    if worker.exhausted:
        log.error("worker.exhausted", worker=worker.name)
        os.kill(os.getpid(), signal.SIGTERM)
