"""Waiting until a job settles, over as many requests as that takes."""

from __future__ import annotations

import inspect

from vardy_api import client_calls as calls
from vardy_api.client_arguments import as_seconds, as_user, checked, job_id_of
from vardy_api.client_errors import WaitTimeout, unfit
from vardy_api.client_flows import WAITING_PAUSE_SECONDS, Ask, Decision, Flow, Flows, Pause
from vardy_api.shapes import WAIT_SECONDS_MAX, DecisionRequest
from vardy_worker.contracts.decision import Choice
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.view import JobView

HELD_SECONDS_MIN = 0.5
"""A long poll answered sooner, and unsettled, was not held back: then the client pauses itself."""
OUTAGE_SECONDS_MIN = 4.0
"""A service that is away for less is waited for, whenever the wait ends."""
CUT_SECONDS_MIN = 2.0
"""A request that broke sooner was not cut for being held; the service may only be restarting."""


class WaitingFlows(Flows):
    """Waits by long polls, and by shorter ones where something on the way cuts those."""

    def _end(self, timeout_seconds: float | None) -> float:
        """When a wait that begins now is over."""
        return self._now() + as_seconds(timeout_seconds, "timeout_seconds")

    def _settled(self, job: JobView | str, end: float, timeout_seconds: float | None) -> Flow[JobView]:
        """The job when it has settled; asks about each plan that comes back pending, once per digest."""
        asked: set[str] = set()
        while True:
            seen = yield from self._wait(job, end, timeout_seconds)
            if not self._asks or seen.status is not Status.PENDING_APPROVAL or seen.plan is None:
                return seen
            if seen.plan.digest in asked:
                return seen
            asked.add(seen.plan.digest)
            decision = as_decision((yield Ask(seen)))
            if decision is None:
                return seen
            choice = Choice.APPROVE if decision.approve else Choice.DENY
            with checked():
                request = DecisionRequest(decision=choice, user=as_user(decision.user), reason=decision.reason)
            job = yield from self._perform(calls.decide(seen.id, seen.plan.digest, request))

    def _wait_if(self, job: JobView, *, wait: bool, timeout_seconds: float | None) -> Flow[JobView]:
        """The job as it is, or when it has settled. Nobody is asked: somebody has just decided."""
        if not wait:
            return job
        return (yield from self._wait(job, self._end(timeout_seconds), timeout_seconds))

    def _wait(self, job: JobView | str, end: float, timeout_seconds: float | None) -> Flow[JobView]:
        """Polls until the job has settled. Raises `WaitTimeout` at `end`, `timeout_seconds` after the wait began."""
        if isinstance(job, JobView) and job.settled:
            return job
        job_id = job_id_of(job)
        held = float(WAIT_SECONDS_MAX)
        while True:
            began = self._now()
            wait = whole(min(held, end - began))
            plain = calls.read_job(job_id)
            seen, cut = yield from self._held(
                calls.read_job(job_id, wait_seconds=wait),
                plain,
                until=max(end, began + OUTAGE_SECONDS_MIN),
                pauses=WAITING_PAUSE_SECONDS,
            )
            if seen.settled:
                return seen
            took = self._now() - began
            if self._now() >= end:
                raise WaitTimeout(seen, timeout_seconds or 0)
            if cut and took >= CUT_SECONDS_MIN:
                held = min(wait, took) / 2
            if took < HELD_SECONDS_MIN:
                yield Pause(max(0.0, min(HELD_SECONDS_MIN, end - self._now())))


def as_decision(answer: object) -> Decision | None:
    """What `on_approval` answered. Raises `InvalidArguments` for what is no plain yes or no, and nothing is decided."""
    if answer is None or (isinstance(answer, Decision) and isinstance(answer.approve, bool)):
        return answer
    if inspect.iscoroutine(answer):
        answer.close()
        message = "a coroutine function is for AsyncVardy"
    else:
        message = "answer with a Decision, whose `approve` is True or False, or with None"
    raise unfit({"at": "/on_approval", "message": message})


def whole(seconds: float) -> float:
    """As many seconds as a request may be held back."""
    return round(min(max(seconds, 0), WAIT_SECONDS_MAX), 3)
