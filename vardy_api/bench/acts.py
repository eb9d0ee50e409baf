"""What a store does all day, as acts that can be timed on servers with few jobs and with many."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from vardy_worker.clock import SystemClock
from vardy_worker.contracts.audit import Action, AuditFilter
from vardy_worker.contracts.decision import Choice, DecisionMessage
from vardy_worker.contracts.job import JobFilter, JobKind
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User
from vardy_worker.ports import Changed, Claimed
from vardy_worker.settings import load_settings
from vardy_worker.store.keys import Keys
from vardy_worker.store.redis_presence import RedisPresence
from vardy_worker.verbs import decide

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vardy_api.bench.parked import Cost, Side
    from vardy_worker.contracts.job import QueueName

    Act = Callable[[Side], Cost]
    """Does something on a server, and says what it cost there."""

REPETITIONS = 20
USED_UP = 10
"""Jobs that one act takes."""
PAGE = 50
BATCH, BATCHES = 200, 3
"""What a reconciler's script call takes at once, and how many of them one act takes."""
HOUR_MS = 3_600_000
APPROVER = User(id="approver", roles=("accounting",))
EVERY_STATUS = tuple(Status)


def _page(where: JobFilter, place: str = "first") -> Act:
    def act(side: Side) -> Cost:
        def read() -> None:
            page = side.store.list_jobs(where, cursor=side.cursors.get(place), limit=PAGE)
            if len(page.items) < PAGE:
                raise RuntimeError(f"a page of {where} has only {len(page.items)} jobs")

        return side.cost(read, REPETITIONS)

    return act


def _in_vain(side: Side) -> Cost:
    """Two filters that match many jobs each, and have none in common."""
    where = JobFilter(user="user-1", owner="owner-2")
    return side.cost(lambda: side.store.list_jobs(where, cursor=None, limit=PAGE))


def _submit(side: Side) -> Cost:
    def submit() -> None:
        job, noted = side.filling.new_job()
        side.store.submit(job, None, due_at_ms=job.created_at_ms + HOUR_MS, audit=[noted])

    return side.cost(submit, REPETITIONS)


def _claim(side: Side) -> Cost:
    return side.cost(lambda: _claimed(side), USED_UP)


def _claimed(side: Side) -> str:
    job_id = side.queued.pop()
    queued = frozenset({Status.QUEUED})
    claimed = side.store.claim(job_id, expect=queued, to=Status.RUNNING, worker="bench", lease_ms=HOUR_MS)
    if not isinstance(claimed, Claimed):
        raise RuntimeError(f"a job could not be claimed: {claimed}")  # noqa: TRY004 - no type is at fault
    return job_id


def _heartbeat(side: Side) -> Cost:
    job_id = _claimed(side)
    return side.cost(lambda: side.store.heartbeat(job_id, fence=1, lease_ms=HOUR_MS), REPETITIONS)


def _decide(side: Side) -> Cost:
    def approve() -> None:
        job = side.store.get(side.parked.pop())
        if job is None:
            raise RuntimeError("a parked job is gone")
        approval = DecisionMessage(job_id=job.id, digest=job.digest, decision=Choice.APPROVE, user=APPROVER)
        change = decide(job, message=approval, now_ms=job.created_at_ms + HOUR_MS, four_eyes=True)
        if change is None or not isinstance(side.store.change(change), Changed):
            raise RuntimeError("a plan could not be approved")

    return side.cost(approve, USED_UP)


def _take_due(side: Side) -> Cost:
    side.filling.queued(BATCHES * BATCH, due_in_ms=-HOUR_MS)
    return side.cost(lambda: side.store.take_due(limit=BATCH, hide_ms=HOUR_MS), BATCHES)


def _nothing_due(side: Side) -> Cost:
    return side.cost(lambda: side.store.take_due(limit=BATCH, hide_ms=HOUR_MS), REPETITIONS)


def _upkeep(side: Side) -> Cost:
    """As many expired jobs are removed, and as many live ones looked at."""
    return side.cost(lambda: side.store.rebuild_due(grace_ms=HOUR_MS, limit=BATCH), BATCHES)


def _counts(side: Side) -> Cost:
    return side.cost(side.store.counts, REPETITIONS)


def _audit(side: Side) -> Cost:
    return side.cost(lambda: side.audit.page(AuditFilter(), cursor=None, limit=PAGE), REPETITIONS)


def _audit_in_vain(side: Side) -> Cost:
    """Entries of an action that was never done."""
    where = AuditFilter(action=Action.KEY_REVOKED)
    return side.cost(lambda: side.audit.page(where, cursor=None, limit=PAGE))


def _first_look(side: Side) -> Cost:
    """A reconciler's look that finds every due time to check and expired jobs to remove, as after a long stop."""
    side.client.delete(Keys(side.namespace).rebuilding)
    return _look(side)


def _look_at_backlog(side: Side) -> Cost:
    """A look when the messages of all queued jobs were lost."""
    side.make_due()
    return _look(side)


def _look(side: Side) -> Cost:
    reconciler = import_module("vardy_worker.reconcile").Reconciler(
        store=side.store,
        audit=side.audit,
        queue=_LostMessages(),
        presence=RedisPresence(side.client, side.namespace),
        clock=SystemClock(),
        settings=load_settings(),
        worker="bench",
    )
    return side.cost(reconciler.look)


class _LostMessages:
    """A queue in which nothing waits but what was published here."""

    def __init__(self) -> None:
        self._published: dict[QueueName, list[int]] = {"run": [], "commit": []}

    def publish(self, queue: QueueName, _job_id: str) -> None:
        self._published[queue].append(SystemClock().now_ms())

    def depth(self, queue: QueueName) -> int:
        return len(self._published[queue])

    def oldest_published_ms(self, queue: QueueName) -> int | None:
        return next(iter(self._published[queue]), None)


ACTS: Mapping[str, Act] = {
    "submit": _submit,
    "claim": _claim,
    "heartbeat": _heartbeat,
    "decide": _decide,
    "list": _page(JobFilter()),
    "list_half_way": _page(JobFilter(), "half way"),
    "list_near_the_end": _page(JobFilter(), "near the end"),
    "list_parked": _page(JobFilter(status=(Status.PENDING_APPROVAL,))),
    "list_parked_half_way": _page(JobFilter(status=(Status.PENDING_APPROVAL,)), "half way"),
    "list_every_status_of_a_user": _page(JobFilter(status=EVERY_STATUS, user="user-1")),
    "list_user": _page(JobFilter(user="user-1")),
    "list_owner_half_way": _page(JobFilter(owner="owner-1"), "half way"),
    "list_recipe": _page(JobFilter(recipe="recipe-1")),
    "list_kind": _page(JobFilter(kind=JobKind.RUN)),
    "list_parked_of_a_user": _page(JobFilter(status=(Status.PENDING_APPROVAL,), user="user-1")),
    "list_after": _page(JobFilter(created_after_ms=1, owner="owner-1")),
    "counts": _counts,
    "audit": _audit,
    "nothing_due": _nothing_due,
    "take_due": _take_due,
    "upkeep": _upkeep,
}
"""Those that must cost the same however many jobs there are."""

BOUNDED: Mapping[str, Act] = {
    "list_in_vain": _in_vain,
    "audit_in_vain": _audit_in_vain,
    "first_look": _first_look,
    "look_at_backlog": _look_at_backlog,
}
"""Those that do more the more there is to do, up to a bound."""
