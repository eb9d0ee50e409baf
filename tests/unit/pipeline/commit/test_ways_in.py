"""However a plan comes to its commit, it is judged there once more, and used once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.support.factories import ANA, LEA
from tests.support.fakes import AnsweringModel, Guest, fenced
from tests.support.runs import WRITES, run
from tests.support.target import Target, code, requeue
from tests.support.worker import ALLOW_ALL, InterruptedHost, WorkerParts
from vardy_worker import FunctionError, Functions, verbs
from vardy_worker.active_rules import evaluate_plan
from vardy_worker.contracts.decision import Choice, DecisionMessage
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.job import Mode
from vardy_worker.contracts.status import Status
from vardy_worker.documents import CURRENT, RULES
from vardy_worker.ports import Change, Changed

if TYPE_CHECKING:
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.policy import PolicyResult

APPROVE_ALL = "default: approve\n"
BLOCK_ALL = "default: block\n"
TWO_LEADS = """
default: allow
rules: [{name: two-leads, on: ["*"], then: approve, approvers: {roles: [support_lead], quorum: 2}}]
"""
BUSY_TODAY = """
default: allow
rules: [{name: busy, on: ["*"], when: user_window.counts.book > 0, then: block}]
"""


def writes(guest: Guest) -> object:
    guest.effect("pay", amount=1)
    guest.effect("ring", who=1)
    return None


def changed(parts: WorkerParts, job: JobRecord, change: Change | None) -> JobRecord:
    assert change is not None
    assert isinstance(parts.store.change(change), Changed)
    return parts.job(job.id)


def judged(parts: WorkerParts, job: JobRecord) -> JobRecord:
    """A planned job is committed under the rules now active."""

    def evaluate(planned: JobRecord) -> PolicyResult:
        catalogue = parts.host.catalogue()
        return evaluate_plan(planned, rules=parts.rules, store=parts.store, catalogue=catalogue, four_eyes=True)

    change = verbs.commit_planned(
        job,
        digest=job.digest,
        evaluate=evaluate,
        now_ms=parts.clock.now_ms(),
        approval_ttl_seconds=3600,
    )
    return changed(parts, job, change)


def approve(parts: WorkerParts, job: JobRecord) -> Change | None:
    message = DecisionMessage(
        job_id=job.id, digest=job.digest, decision=Choice.APPROVE, user=LEA, reason="", via="api", key_id="key"
    )
    return verbs.decide(job, message=message, now_ms=parts.clock.now_ms(), four_eyes=True)


def allowed_at_once(parts: WorkerParts, _target: Target) -> JobRecord:
    return run(parts, writes, model=AnsweringModel(fenced(WRITES)))


def approved(parts: WorkerParts, _target: Target) -> JobRecord:
    parts.apply_rules(APPROVE_ALL)
    job = run(parts, writes, model=AnsweringModel(fenced(WRITES)))
    return changed(parts, job, approve(parts, job))


def planned_and_allowed(parts: WorkerParts, _target: Target) -> JobRecord:
    return judged(parts, run(parts, writes, model=AnsweringModel(fenced(WRITES)), mode=Mode.PLAN))


def planned_and_approved(parts: WorkerParts, _target: Target) -> JobRecord:
    parts.apply_rules(APPROVE_ALL)
    job = judged(parts, run(parts, writes, model=AnsweringModel(fenced(WRITES)), mode=Mode.PLAN))
    return changed(parts, job, approve(parts, job))


def requeued_after_a_failure(parts: WorkerParts, target: Target) -> JobRecord:
    return _requeued(parts, target, "pay", Status.FUNCTION_ERROR)


def requeued_half_way(parts: WorkerParts, target: Target) -> JobRecord:
    return _requeued(parts, target, "ring", Status.PARTIAL)


def _requeued(parts: WorkerParts, target: Target, failing: str, status: Status) -> JobRecord:
    target.failing[failing] = [FunctionError("Not now.")]
    job = allowed_at_once(parts, target)
    parts.committer().commit(job.id)
    stopped = parts.job(job.id)
    assert stopped.status is status
    target.calls.clear()
    requeue(parts, stopped)
    return parts.job(job.id)


Way = Callable[[WorkerParts, Target], "JobRecord"]
WAYS: tuple[Way, ...] = (
    allowed_at_once,
    approved,
    planned_and_allowed,
    planned_and_approved,
    requeued_after_a_failure,
    requeued_half_way,
)
REFUSED: dict[Way, Status] = {requeued_after_a_failure: Status.FUNCTION_ERROR, requeued_half_way: Status.PARTIAL}
EVERY_WAY = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


def commit(parts: WorkerParts, job: JobRecord) -> tuple[Status, str]:
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    return ended.status, code(ended)


@contextmanager
def released(parts: WorkerParts, functions: Functions) -> Iterator[None]:
    """The worker is replaced by one of another release, with these functions."""
    earlier, parts.host = parts.host, InterruptedHost(functions, threads=2)
    parts.host.start()
    try:
        yield
    finally:
        parts.host.stop()
        parts.host = earlier


def other_release(target: Target, *, gone: bool) -> Functions:
    """Functions of which `ring` takes one argument more, or which have no `ring` at all."""
    functions = Functions()

    @functions.write(idempotent=True, retries=2)
    def pay(amount: int) -> dict[str, int]:
        """Pays, safely repeated."""
        target.called("pay", "", amount=amount)
        return {"id": amount * 10}

    if not gone:

        @functions.write
        def ring(who: int, *, loud: bool = False) -> str:
            """Rings a bell, not safely repeated."""
            target.called("ring", "", who=who, loud=loud)
            return "rung"

    return functions


# --- what each way in goes through ----------------------------------------------------------


@EVERY_WAY
def test_a_plan_that_still_is_allowed_is_executed_once(parts: WorkerParts, target: Target, way: Way) -> None:
    job = way(parts, target)
    assert job.status is Status.COMMITTING
    assert commit(parts, job) == (Status.SUCCESS, "")
    pays = 0 if way is requeued_half_way else 1
    assert [name for name, _, _ in target.calls] == ["pay"] * pays + ["ring"]


@EVERY_WAY
def test_rules_that_block_by_now_stop_it(parts: WorkerParts, target: Target, way: Way) -> None:
    job = way(parts, target)
    parts.apply_rules(BLOCK_ALL)
    assert commit(parts, job) == (REFUSED.get(way, Status.POLICY_BLOCKED), "policy.changed")
    assert target.calls == []


@EVERY_WAY
def test_rules_that_cannot_be_read_stop_it(parts: WorkerParts, target: Target, way: Way) -> None:
    job = way(parts, target)
    parts.documents.put(RULES, CURRENT, {"version": 0, "digest": "", "text": "default: perhaps"})
    assert commit(parts, job) == (REFUSED.get(way, Status.POLICY_BLOCKED), "policy.changed")
    assert target.calls == []


@EVERY_WAY
def test_rules_that_ask_for_more_approvals_by_now_stop_it(parts: WorkerParts, target: Target, way: Way) -> None:
    job = way(parts, target)
    parts.apply_rules(TWO_LEADS)
    ended = commit(parts, job)
    if way is requeued_half_way:
        assert ended == (Status.PARTIAL, "policy.changed")
    else:
        assert ended == (Status.PENDING_APPROVAL, "")
        parked = parts.job(job.id)
        assert parked.revision == job.revision + 1
        assert parked.digest != job.digest
    assert target.calls == []


@EVERY_WAY
def test_what_the_requester_did_meanwhile_stops_it(parts: WorkerParts, target: Target, way: Way) -> None:
    job = way(parts, target)
    parts.apply_rules(ALLOW_ALL)
    other = parts.committing(parts.effect(0, "book", day=1))
    assert commit(parts, other) == (Status.SUCCESS, "")
    target.calls.clear()
    parts.apply_rules(BUSY_TODAY)
    assert commit(parts, job) == (REFUSED.get(way, Status.POLICY_BLOCKED), "policy.changed")
    assert target.calls == []


@EVERY_WAY
@pytest.mark.parametrize("gone", [False, True])
def test_a_function_of_another_version_or_none_stops_it(
    parts: WorkerParts, target: Target, way: Way, *, gone: bool
) -> None:
    job = way(parts, target)
    with released(parts, other_release(target, gone=gone)):
        ended = commit(parts, job)
    assert ended == (REFUSED.get(way, Status.POLICY_BLOCKED), "plan.function_changed")
    assert target.calls == []


# --- single use -----------------------------------------------------------------------------


@EVERY_WAY
def test_a_plan_that_was_committed_cannot_be_committed_again(parts: WorkerParts, target: Target, way: Way) -> None:
    job = way(parts, target)
    assert commit(parts, job) == (Status.SUCCESS, "")
    done = parts.job(job.id)
    calls = list(target.calls)
    wishes: tuple[Callable[[WorkerParts, JobRecord], object], ...] = (approve, judged, requeue)
    for again in wishes:
        with pytest.raises(RequestError) as refused:
            again(parts, done)
        assert refused.value.code == "job.conflict"
    for _ in range(3):
        assert commit(parts, done) == (Status.SUCCESS, "")
    assert target.calls == calls
    assert parts.job(job.id) == done


@EVERY_WAY
def test_a_plan_that_was_refused_counts_for_nothing_and_one_that_was_used_counts_once(
    parts: WorkerParts, target: Target, way: Way
) -> None:
    job = way(parts, target)
    commit(parts, job)
    parts.apply_rules(ALLOW_ALL)
    refused = allowed_at_once(parts, target)
    parts.apply_rules(BLOCK_ALL)
    assert commit(parts, refused)[0] is Status.POLICY_BLOCKED
    assert parts.store.user_totals(ANA.id, window_hours=24).counts == {"pay": 1, "ring": 1}
