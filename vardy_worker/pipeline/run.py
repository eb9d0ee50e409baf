"""The run task: claims a job and takes it as far as it goes.

claim ─▶ run: program, plan, verdict (`to_plan`)
       └ explore: rounds of reads, answer (`explore`)
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vardy_worker.contracts.errors import JOB_ERRORS, FenceLost, NotConfirmed, SettingsError, StoreUnavailable
from vardy_worker.contracts.ids import new_id
from vardy_worker.contracts.job import JobKind
from vardy_worker.contracts.status import Status
from vardy_worker.logs import get_logger
from vardy_worker.pipeline.checked import CheckedPrograms
from vardy_worker.pipeline.explore import explore_job
from vardy_worker.pipeline.in_hand import JobInHand
from vardy_worker.pipeline.to_plan import run_job
from vardy_worker.ports import Claimed

if TYPE_CHECKING:
    from vardy_worker.active_rules import ActiveRules
    from vardy_worker.leases import LeaseKeeper
    from vardy_worker.ports import Clock, FunctionHost, JobStore, Judge, Model, Queue, Sandbox
    from vardy_worker.settings import Settings

log = get_logger(__name__)

CLAIMABLE = frozenset({Status.QUEUED, Status.RUNNING})


@dataclass(frozen=True, slots=True)
class RunPipeline:
    """Everything a run needs."""

    store: JobStore
    queue: Queue
    host: FunctionHost
    model: Model
    sandbox: Sandbox
    rules: ActiveRules
    leases: LeaseKeeper
    clock: Clock
    settings: Settings
    worker: str
    judge: Judge | None = None
    """The model behind `classify` and `ai`; None while VARDY_JUDGE_MODEL is not set."""
    checked: CheckedPrograms = field(default_factory=CheckedPrograms)
    unfit: threading.Event = field(default_factory=threading.Event)
    """Set when no sandbox can be started in this process, which should then be replaced."""

    def run(self, job_id: str) -> None:
        """Takes one job as far as it goes. Safe to call any number of times."""
        if self.leases.has(job_id, "run"):
            log.info("run.not_claimed", reason="in_hand")
            return
        lease_ms = int(self.settings.execute_lease_seconds * 1000)
        claim = self.store.claim(job_id, expect=CLAIMABLE, to=Status.RUNNING, worker=self.worker, lease_ms=lease_ms)
        if not isinstance(claim, Claimed):
            log.info("run.not_claimed", reason=claim.reason)
            return
        with self.leases.hold(job_id, fence=claim.fence, lease_ms=lease_ms) as hold:
            work = JobInHand(self, claim.job, claim.fence, hold)
            try:
                _advance(work, deliveries=claim.deliveries)
            except FenceLost as error:
                log.warning("run.taken_over", reason=error.message)
                work.leave_usage()
            except NotConfirmed as error:
                log.warning("run.put_off", reason=error.message)
                with suppress(StoreUnavailable, FenceLost):
                    work.hand_back()
            except StoreUnavailable as error:
                log.warning("run.left_to_the_reconciler", reason=error.message)
            except SettingsError as error:
                log.error("run.handed_back", reason=error.message)  # noqa: TRY400 - one sentence
                self.unfit.set()
                work.hand_back()


def _advance(work: JobInHand, *, deliveries: int) -> None:
    """Everything between the claim and the job's next status."""
    if deliveries > work.parts.settings.delivery_attempts_max:
        work.give_up()
        return
    if (missing := work.judge_missing()) is not None:
        work.settle(JOB_ERRORS[missing.code], error=missing)
        return
    try:
        if work.job.kind is JobKind.EXPLORE:
            explore_job(work)
        else:
            run_job(work)
    except (FenceLost, StoreUnavailable, SettingsError):
        raise
    except Exception:
        # The last resort: a fault of Vardy's own settles the job instead of killing workers in turn.
        correlation_id = new_id("err")
        log.exception("run.crashed", correlation_id=correlation_id)
        work.settle_crashed(correlation_id)
