"""Whoever looks at a plan that waits is told how its approval could be avoided, wherever it was parked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.factories import NOW_MS
from tests.support.fakes import AnsweringModel, Guest, fenced
from tests.support.runs import WRITES, run
from vardy_worker.contracts.job import Mode
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.view import job_view

if TYPE_CHECKING:
    from tests.support.worker import WorkerParts
    from vardy_worker.contracts.job import JobRecord

CEILING = """\
default: allow
rules:
- {name: ceiling, on: [pay], when: args.amount > 100, then: approve}
"""


def pays(guest: Guest) -> None:
    for amount in (50, 500, 60, 700):
        guest.effect("pay", amount=amount)


def ran(parts: WorkerParts, **fields: Any) -> JobRecord:
    return run(parts, pays, model=AnsweringModel(fenced(WRITES)), **fields)


def advice(job: JobRecord) -> tuple[tuple[int, ...], str] | None:
    plan = job_view(job).plan
    assert plan is not None
    return (plan.avoidable.without, plan.avoidable.message) if plan.avoidable else None


NAMED = ((1, 3), "Without effects 1 and 3 the rest would be allowed.")


def test_a_run_that_ends_waiting_says_what_to_leave_out(parts: WorkerParts) -> None:
    parts.apply_rules(CEILING)
    job = ran(parts)
    assert job.status is Status.PENDING_APPROVAL
    assert advice(job) == NAMED


def test_a_plan_that_was_only_planned_says_it_too(parts: WorkerParts) -> None:
    parts.apply_rules(CEILING)
    job = ran(parts, mode=Mode.PLAN)
    assert job.status is Status.PLANNED
    assert advice(job) == NAMED


def test_nothing_is_said_of_a_plan_that_is_allowed_or_blocked(parts: WorkerParts) -> None:
    for verdict in ("allow", "block"):
        parts.apply_rules(f"default: {verdict}\n")
        assert advice(ran(parts, mode=Mode.PLAN)) is None


def test_what_was_said_stays_when_the_rules_change_until_the_plan_is_judged_again(parts: WorkerParts) -> None:
    parts.apply_rules("default: allow\n")
    job = parts.committing(*(parts.effect(seq, "pay", amount=amount) for seq, amount in enumerate((50, 500, 600))))
    parts.apply_rules(CEILING)
    assert advice(parts.job(job.id)) is None
    parts.committer().commit(job.id)
    parked = parts.job(job.id)
    assert (parked.status, parked.revision) == (Status.PENDING_APPROVAL, 2)
    assert advice(parked) == ((1, 2), "Without effects 1 and 2 the rest would be allowed.")
    parts.apply_rules("default: approve\n")
    assert advice(parts.job(job.id)) == ((1, 2), "Without effects 1 and 2 the rest would be allowed.")
    assert parked.expires_at_ms is not None
    assert parked.expires_at_ms > NOW_MS
