"""Every result status, through the real processes: HTTP, Redis, Celery, model, sandbox, rules, journal."""

from __future__ import annotations

import time

import pytest

from tests.support.deployment import Deployment
from vardy_api.client import Vardy
from vardy_api.client_errors import Conflict
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User
from vardy_worker.contracts.view import JobView
from vardy_worker.demo.database import Database

ANA = User(id="ana", roles=("support",))
LEA = User(id="lea", roles=("support_lead",))
LEO = User(id="leo", roles=("support_lead",))
SECONDS = 60.0


def ask(vardy: Vardy, request: str, **fields: object) -> JobView:
    return vardy.run(request, user=ANA, timeout_seconds=SECONDS, **fields)  # type: ignore[arg-type] # passed on


def code(job: JobView) -> str:
    return job.error.code if job.error else ""


def test_success_of_a_question(vardy: Vardy) -> None:
    job = ask(vardy, "Which customers have overdue invoices?")
    assert (job.status, code(job)) == (Status.SUCCESS, "")
    assert job.program is not None
    assert job.usage.prompt_tokens > 0
    assert job.usage.model
    assert job.output


def test_success_of_a_write_that_the_rules_allow(vardy: Vardy) -> None:
    job = ask(vardy, "Refund 5.00 of payment 7")
    assert job.status is Status.SUCCESS
    assert job.plan is not None
    assert job.plan.counts.succeeded == job.plan.counts.total == 1
    assert job.effects[0].rules == ("small-refunds",)


def test_success_after_a_repair(vardy: Vardy) -> None:
    job = ask(vardy, "How many open tickets does each agent have?")
    assert job.status is Status.SUCCESS
    assert job.program is not None
    assert job.program.attempts == 2


def test_success_of_effects_that_refer_to_each_other(vardy: Vardy) -> None:
    job = ask(vardy, "Open a ticket about order 21, assign it to agent 2 and tell the customer")
    assert job.status is Status.SUCCESS, job.error
    refs = [ref for effect in job.effects for ref in effect.refs]
    assert refs
    assert all(effect.result is not None for effect in job.effects)


def test_planned(vardy: Vardy) -> None:
    job = ask(vardy, "Cancel order 17", mode="plan")
    assert job.status is Status.PLANNED
    assert job.plan is not None
    assert job.plan.counts.pending == 1
    assert vardy.plan(job).digest == job.plan.digest


def test_a_planned_job_is_committed_later(vardy: Vardy) -> None:
    job = ask(vardy, "Cancel order 21", mode="plan")
    committed = vardy.commit(job, user=ANA, timeout_seconds=SECONDS)
    assert committed.status is Status.SUCCESS


def test_pending_approval_then_success(vardy: Vardy) -> None:
    job = ask(vardy, "Refund 60.00 of payment 1")
    assert (job.status, code(job)) == (Status.PENDING_APPROVAL, "")
    assert job.plan is not None
    assert job.plan.approvals[0].roles == ("support_lead",)
    assert job.plan.expires_at is not None
    done = vardy.commit(job, user=LEA, timeout_seconds=SECONDS)
    assert done.status is Status.SUCCESS
    assert [d.user.id for d in done.decisions] == ["lea"]


@pytest.mark.parametrize(
    ("decide", "expected"), [("deny", "policy.denied"), ("ceiling", "policy.blocked")], ids=["denied", "by a rule"]
)
def test_policy_blocked(vardy: Vardy, decide: str, expected: str) -> None:
    if decide == "deny":
        job = vardy.deny(ask(vardy, "Refund 70.00 of payment 1"), user=LEA, reason="too much")
    else:
        job = ask(vardy, "Refund 1500.00 of payment 1")
    assert (job.status, code(job)) == (Status.POLICY_BLOCKED, expected)


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [("Clear the warehouse", "validation.program"), ("Mail everybody without a text", "validation.arguments")],
)
def test_validation_blocked(vardy: Vardy, request_text: str, expected: str) -> None:
    job = ask(vardy, request_text)
    assert (job.status, code(job)) == (Status.VALIDATION_BLOCKED, expected)


def test_function_error_of_a_read(vardy: Vardy) -> None:
    job = ask(vardy, "What is the status of order 9999?")
    assert (job.status, code(job)) == (Status.FUNCTION_ERROR, "function.failed")
    assert job.error is not None
    assert "9999" in job.error.message


def test_function_error_of_a_first_write(vardy: Vardy) -> None:
    job = ask(vardy, "Cancel order 2")
    assert (job.status, code(job)) == (Status.FUNCTION_ERROR, "function.failed")
    assert job.effects[0].state == "FAILED"


def test_execution_error(vardy: Vardy) -> None:
    began = time.monotonic()
    job = vardy.run("Count to infinity", user=ANA, limits={"execute_seconds_max": 1}, timeout_seconds=SECONDS)
    assert job.status is Status.EXECUTION_ERROR
    assert code(job) in {"execution.timeout", "execution.cpu"}
    assert time.monotonic() - began < 20


def test_generation_error_keeps_what_the_model_said_for_the_operator(vardy: Vardy) -> None:
    job = ask(vardy, "Write me a poem")
    assert (job.status, code(job)) == (Status.GENERATION_ERROR, "generation.no_program")


def test_generation_error_of_an_unknown_phrase_names_the_known_ones(vardy: Vardy) -> None:
    job = ask(vardy, "Make everything better")
    assert job.status is Status.GENERATION_ERROR


def test_partial_then_requeued_to_success(vardy: Vardy, deployment: Deployment) -> None:
    job = ask(vardy, "Remind every customer with an overdue invoice")
    assert job.status is Status.PENDING_APPROVAL
    once = vardy.approve(job, user=LEA, timeout_seconds=SECONDS)
    assert once.status is Status.PENDING_APPROVAL, "one of two leads is not enough"
    job = vardy.wait(vardy.approve(job, user=LEO), timeout_seconds=SECONDS)
    assert (job.status, code(job)) == (Status.PARTIAL, "commit.failed")
    assert job.plan is not None
    counts = job.plan.counts
    assert counts.succeeded > 0
    assert counts.failed == 1
    done = {effect.seq for effect in job.effects if effect.state == "SUCCEEDED"}

    shop = Database()
    shop.open(deployment.folder / "shop")
    shop.empty_mailbox()
    shop.close()
    requeued = vardy.wait(vardy.requeue(job, user=LEA), timeout_seconds=SECONDS)
    assert requeued.status is Status.SUCCESS
    assert all(effect.attempts == 1 for effect in requeued.effects if effect.seq in done)
    keys = [effect.idempotency_key for effect in requeued.effects]
    assert keys == [effect.idempotency_key for effect in job.effects]


def test_partial_with_an_unknown_outcome_is_resolved_and_never_called_again(vardy: Vardy) -> None:
    job = ask(vardy, "Book a courier for order 5")
    assert (job.status, code(job)) == (Status.PARTIAL, "commit.unknown")
    assert job.effects[0].state == "UNKNOWN"
    with pytest.raises(Conflict) as caught:
        vardy.requeue(job, user=LEA)
    assert caught.value.code == "commit.unresolved"
    booking = {"id": 1, "order_id": 5, "collect_on": "2026-01-01"}
    resolved = vardy.resolve(job, 0, done=True, result=booking, reason="the courier has it", user=LEA)
    assert (resolved.status, resolved.effects[0].state) == (Status.PARTIAL, "RESOLVED_DONE")
    done = vardy.wait(vardy.requeue(resolved, user=LEA), timeout_seconds=SECONDS)
    assert done.status is Status.SUCCESS
    assert done.effects[0].attempts == 1
