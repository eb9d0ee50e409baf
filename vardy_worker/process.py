"""One worker process: what it starts, in which order, and how it stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from vardy_worker.documents import publish_catalogue
from vardy_worker.logs import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vardy_worker.leases import LeaseKeeper
    from vardy_worker.pipeline.commit import CommitPipeline
    from vardy_worker.pipeline.run import RunPipeline
    from vardy_worker.ports import Documents, FunctionHost
    from vardy_worker.reconcile import Reconciler

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """The parts of a running worker. `runs` is None in a worker that serves commits alone."""

    name: str
    documents: Documents
    host: FunctionHost
    leases: LeaseKeeper
    reconciler: Reconciler
    runs: RunPipeline | None
    commits: CommitPipeline | None
    closing: Sequence[Callable[[], None]] = ()
    """Called last, in order, when the worker stops."""

    def start(self) -> None:
        """Opens the company's pools, publishes the catalogue, begins to reconcile."""
        self.host.start()
        changed = publish_catalogue(self.documents, self.host.catalogue())
        self.reconciler.start()
        log.info(
            "worker.started",
            worker=self.name,
            functions=len(self.host.catalogue().functions),
            catalogue_changed=changed,
        )

    def stop(self) -> None:
        """After the last job has ended: gives everything back."""
        self.reconciler.stop()
        self.leases.stop()
        for close in self.closing:
            close()
        self.host.stop()
        log.info("worker.stopped", worker=self.name)

    @property
    def exhausted(self) -> bool:
        """The process should be replaced: too many functions hang for good, or no sandbox can be started."""
        return self.host.exhausted or (self.runs is not None and self.runs.unfit.is_set())

    def run(self, job_id: str) -> None:
        """The run task."""
        if self.runs is None:
            log.error("worker.wrong_queue", queue="run", job_id=job_id)
            return
        with structlog.contextvars.bound_contextvars(job_id=job_id):
            self.runs.run(job_id)

    def commit(self, job_id: str) -> None:
        """The commit task."""
        if self.commits is None:
            log.error("worker.wrong_queue", queue="commit", job_id=job_id)
            return
        with structlog.contextvars.bound_contextvars(job_id=job_id):
            self.commits.commit(job_id)
