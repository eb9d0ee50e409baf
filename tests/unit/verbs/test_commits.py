from typing import Any

import pytest

from tests.support.factories import LEA, NOW_MS, effect, planned_job, policy
from vardy_worker.contracts.base import JsonValue
from vardy_worker.contracts.decision import Choice, Decision
from vardy_worker.contracts.errors import ErrorInfo, RequestError
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.functions import Catalogue, FunctionKind, FunctionSpec
from vardy_worker.contracts.ids import idempotency_key
from vardy_worker.contracts.job import JobRecord
from vardy_worker.contracts.journal import EffectRecord, EffectState
from vardy_worker.contracts.policy import ApprovalNeed, Verdict
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change
from vardy_worker.verbs import cancel, commit_planned, discard, expire, requeue, resolve

DAY_SECONDS = 86_400


def spec(name: str, **fields: Any) -> FunctionSpec:
    given = {"kind": FunctionKind.WRITE, "input_schema": {}, "output_schema": {}, "declaration": "", "version": "v1"}
    return FunctionSpec(name=name, **{**given, **fields})


SAFE = Catalogue(functions=(spec("refund_payment", idempotent=True),))
UNSAFE = Catalogue(functions=(spec("refund_payment"),))


def half_done(*states: EffectState, status: Status = Status.PARTIAL, **fields: Any) -> JobRecord:
    effects = tuple(effect(seq) for seq in range(len(states)))
    job = planned_job(status, effects=effects, **fields)
    records = tuple(
        EffectRecord(
            seq=seq,
            state=state,
            attempts=1,
            tries=1,
            first_started_at_ms=NOW_MS,
            idempotency_key=idempotency_key(job.id, job.digest, seq),
        )
        for seq, state in enumerate(states)
    )
    return job.model_copy(update={"effects": records})


def refused(code: str, act: Any, *args: Any, **fields: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        act(*args, **fields)
    assert caught.value.code == code
    return caught.value


# --- committing a planned job -----------------------------------------------------------


def commit(
    job: JobRecord, verdict: Verdict = Verdict.ALLOW, *, rules_digest: str | None = None, **fields: Any
) -> Change:
    need = (ApprovalNeed(rule="a-rule"),) if verdict is Verdict.APPROVE else ()
    now = policy(verdict, 1, *need, rules_digest=rules_digest or (job.policy.rules_digest if job.policy else ""))
    given = {"digest": job.digest, "now_ms": NOW_MS, "approval_ttl_seconds": DAY_SECONDS, **fields}
    return commit_planned(job, evaluate=lambda _: now, **given)


def test_what_the_rules_allow_is_committed() -> None:
    assert commit(planned_job(Status.PLANNED)).to is Status.COMMITTING


def test_what_the_rules_block_is_blocked_and_says_by_which_rule() -> None:
    change = commit(planned_job(Status.PLANNED), Verdict.BLOCK)
    assert change.to is Status.POLICY_BLOCKED
    assert change.set["error"].details["rule"] == "a-rule"


def test_what_needs_an_approval_is_parked_with_the_same_digest_under_the_same_rules() -> None:
    change = commit(planned_job(Status.PLANNED), Verdict.APPROVE)
    assert change.to is Status.PENDING_APPROVAL
    assert "plan" not in change.set
    assert change.set["expires_at_ms"] == change.due_at_ms == NOW_MS + DAY_SECONDS * 1000


def test_under_other_rules_it_is_parked_as_a_new_revision_with_the_same_effects() -> None:
    job = planned_job(Status.PLANNED)
    change = commit(job, Verdict.APPROVE, rules_digest="other")
    made = change.set["plan"]
    assert change.set["revision"] == 2
    assert made.digest != job.digest
    assert job.plan is not None
    assert made.body().effects == job.plan.body().effects


@pytest.mark.parametrize("status", sorted(set(Status) - {Status.PLANNED}))
def test_only_a_planned_job_is_committed_by_hand(status: Status) -> None:
    refused("job.conflict", commit, planned_job(status))


def test_a_planned_job_is_committed_only_by_its_digest() -> None:
    refused("digest.missing", commit, planned_job(Status.PLANNED), digest="")
    refused("digest.mismatch", commit, planned_job(Status.PLANNED), digest="0")


def test_a_planned_job_expires_like_a_parked_one() -> None:
    refused("approval.expired", commit, planned_job(Status.PLANNED, expires_at_ms=NOW_MS))


# --- expiry and cancelling ----------------------------------------------------------------


@pytest.mark.parametrize("status", [Status.PENDING_APPROVAL, Status.PLANNED])
def test_a_plan_whose_time_is_over_is_blocked(status: Status) -> None:
    change = expire(planned_job(status, expires_at_ms=NOW_MS), now_ms=NOW_MS)
    assert change is not None
    assert change.to is Status.POLICY_BLOCKED
    assert change.set["error"].code == "policy.expired"


def test_a_plan_does_not_expire_early_nor_while_it_commits() -> None:
    assert expire(planned_job(expires_at_ms=NOW_MS + 1), now_ms=NOW_MS) is None
    assert expire(planned_job(Status.COMMITTING, expires_at_ms=NOW_MS), now_ms=NOW_MS) is None


@pytest.mark.parametrize("status", [Status.QUEUED, Status.RUNNING, Status.PENDING_APPROVAL, Status.PLANNED])
def test_what_has_not_begun_to_commit_is_cancelled_at_once(status: Status) -> None:
    change = cancel(planned_job(status), by="ana", now_ms=NOW_MS)
    assert change is not None
    assert change.to is Status.CANCELLED


def test_a_commit_is_asked_to_stop_not_stopped() -> None:
    assert cancel(planned_job(Status.COMMITTING), by="ana", now_ms=NOW_MS) is None


@pytest.mark.parametrize("status", [Status.SUCCESS, Status.PARTIAL, Status.CANCELLED, Status.FUNCTION_ERROR])
def test_a_job_that_ended_is_not_cancelled(status: Status) -> None:
    refused("job.conflict", cancel, planned_job(status), by="ana", now_ms=NOW_MS)


# --- requeue --------------------------------------------------------------------------------


def test_a_requeue_starts_again_with_fresh_tries_for_what_is_not_done() -> None:
    job = half_done(EffectState.SUCCEEDED, EffectState.FAILED, EffectState.PENDING)
    change = requeue(job, catalogue=UNSAFE, by="olga", now_ms=NOW_MS)
    assert change.to is Status.COMMITTING
    assert [(record.seq, record.tries) for record in change.effects] == [(1, 0), (2, 0)]
    assert change.set["commit_checked"] is False


def test_a_requeue_keeps_every_idempotency_key() -> None:
    job = half_done(EffectState.FAILED)
    change = requeue(job, catalogue=SAFE, by="olga", now_ms=NOW_MS)
    assert change.effects[0].idempotency_key == job.effects[0].idempotency_key


def test_an_unknown_effect_that_is_not_idempotent_must_be_resolved_first() -> None:
    job = half_done(EffectState.SUCCEEDED, EffectState.UNKNOWN)
    error = refused("commit.unresolved", requeue, job, catalogue=UNSAFE, by="olga", now_ms=NOW_MS)
    assert error.details["effects"] == [1]
    assert "refund_payment is not idempotent" in error.message
    gone = refused("commit.unresolved", requeue, job, catalogue=Catalogue(), by="olga", now_ms=NOW_MS)
    assert "no worker has refund_payment any more" in gone.message


def test_an_unknown_effect_that_is_idempotent_is_requeued() -> None:
    job = half_done(EffectState.UNKNOWN)
    assert requeue(job, catalogue=SAFE, by="olga", now_ms=NOW_MS).to is Status.COMMITTING


def test_an_idempotency_key_past_its_time_must_be_resolved() -> None:
    catalogue = Catalogue(functions=(spec("refund_payment", idempotent=True, key_valid_seconds=60),))
    job = half_done(EffectState.UNKNOWN)
    assert requeue(job, catalogue=catalogue, by="olga", now_ms=NOW_MS + 59_000).to is Status.COMMITTING
    error = refused("commit.unresolved", requeue, job, catalogue=catalogue, by="olga", now_ms=NOW_MS + 60_000)
    assert "takes a key again for 60 s only" in error.message


def test_a_function_error_of_a_commit_is_requeued_while_the_approval_lives() -> None:
    job = half_done(EffectState.FAILED, status=Status.FUNCTION_ERROR)
    assert requeue(job, catalogue=SAFE, by="olga", now_ms=NOW_MS).to is Status.COMMITTING
    late = job.model_copy(update={"expires_at_ms": NOW_MS})
    refused("approval.expired", requeue, late, catalogue=SAFE, by="olga", now_ms=NOW_MS)


def test_a_function_error_of_a_read_has_nothing_to_requeue() -> None:
    job = planned_job(Status.FUNCTION_ERROR).model_copy(update={"plan": None})
    refused("job.conflict", requeue, job, catalogue=SAFE, by="olga", now_ms=NOW_MS)


def test_a_discarded_job_is_not_requeued() -> None:
    job = half_done(EffectState.SUCCEEDED, error=ErrorInfo(code="commit.discarded", message="given up"))
    refused("job.conflict", requeue, job, catalogue=SAFE, by="olga", now_ms=NOW_MS)


@pytest.mark.parametrize("status", sorted(set(Status) - {Status.PARTIAL, Status.FUNCTION_ERROR}))
def test_no_other_status_is_requeued(status: Status) -> None:
    refused("job.conflict", requeue, planned_job(status), catalogue=SAFE, by="olga", now_ms=NOW_MS)


# --- resolve and discard ------------------------------------------------------------------------


def settle(job: JobRecord, seq: int = 0, *, done: bool = True, result: JsonValue = None, **fields: Any) -> Change:
    def check(_function: str, value: JsonValue) -> str | None:
        return None if isinstance(value, dict) else "The result must be an object."

    given = {"done": done, "result": result, "reason": "asked the bank", "by": "olga", **fields}
    return resolve(job, seq, now_ms=NOW_MS, check_result=check, **given)


@pytest.mark.parametrize(("done", "state"), [(True, EffectState.RESOLVED_DONE), (False, EffectState.RESOLVED_NOT_DONE)])
def test_an_unknown_effect_is_settled_and_the_status_stays(done: bool, state: EffectState) -> None:
    change = settle(half_done(EffectState.UNKNOWN), done=done)
    assert change.to is None
    assert change.effects[0].state is state
    assert change.journal[0].by == "olga"
    assert change.journal[0].reason == "asked the bank"


@pytest.mark.parametrize("state", sorted(set(EffectState) - {EffectState.UNKNOWN}))
def test_only_an_unknown_effect_is_resolved(state: EffectState) -> None:
    refused("effect.not_unknown", settle, half_done(state))


def test_an_effect_that_is_not_there_is_not_resolved() -> None:
    refused("effect.not_found", settle, half_done(EffectState.UNKNOWN), 5)


def test_a_resolution_needs_a_reason() -> None:
    refused("approval.reason", settle, half_done(EffectState.UNKNOWN), reason=" ")


def test_a_result_that_a_later_effect_refers_to_is_needed_and_checked() -> None:
    effects = (effect(0), effect(1, refs=(Ref(at="/ticket_id", effect=0, path="/id"),)))
    job = planned_job(Status.PARTIAL, effects=effects)
    job = job.model_copy(update={"effects": (EffectRecord(seq=0, state=EffectState.UNKNOWN),)})
    refused("effect.result", settle, job)
    change = settle(job, result={"id": 7})
    assert change.effects[0].result == {"id": 7}


def test_a_result_that_the_output_refers_to_is_needed() -> None:
    job = half_done(EffectState.UNKNOWN, output_refs=(Ref(at="/ticket", effect=0),))
    refused("effect.result", settle, job)


def test_not_done_needs_no_result() -> None:
    job = half_done(EffectState.UNKNOWN, output_refs=(Ref(at="/ticket", effect=0),))
    assert settle(job, done=False).effects[0].result is None


def test_discarding_skips_what_was_never_tried_and_leaves_the_rest_honest() -> None:
    job = half_done(EffectState.SUCCEEDED, EffectState.UNKNOWN, EffectState.FAILED, EffectState.PENDING)
    change = discard(job, by="olga", reason="done by hand", now_ms=NOW_MS)
    assert [(record.seq, record.state) for record in change.effects] == [(3, EffectState.SKIPPED)]
    assert change.set["error"].code == "commit.discarded"


def test_a_discard_is_told_by_journal_and_events_effect_by_effect() -> None:
    job = half_done(EffectState.SUCCEEDED, EffectState.UNKNOWN, EffectState.PENDING, EffectState.PENDING)
    change = discard(job, by="olga", reason="done by hand", now_ms=NOW_MS)
    told = [(entry.seq, entry.state, entry.by, entry.reason, entry.worker) for entry in change.journal]
    assert told == [(seq, EffectState.SKIPPED, "olga", "done by hand", "") for seq in (2, 3)]
    keys = {record.seq: record.idempotency_key for record in job.effects}
    assert {entry.seq: entry.idempotency_key for entry in change.journal} == {seq: keys[seq] for seq in (2, 3)}
    assert [event.data["seq"] for event in change.events if event.type == "effect"] == [2, 3]


def test_only_a_partial_job_is_discarded_and_only_once() -> None:
    refused("job.conflict", discard, planned_job(Status.SUCCESS), by="o", reason="x", now_ms=NOW_MS)
    given_up = half_done(EffectState.SUCCEEDED, error=ErrorInfo(code="commit.discarded", message="given up"))
    refused("job.conflict", discard, given_up, by="o", reason="x", now_ms=NOW_MS)


def test_a_new_revision_gives_its_effects_new_keys() -> None:
    record = EffectRecord(seq=0, state=EffectState.FAILED, idempotency_key="old")
    approved = Decision(decision=Choice.APPROVE, digest="x", user=LEA, at_ms=NOW_MS)
    job = planned_job(Status.PLANNED, decisions=(approved,)).model_copy(update={"effects": (record,)})
    change = commit(job, Verdict.APPROVE, rules_digest="other")
    digest = change.set["plan"].digest
    assert change.effects[0] == EffectRecord(seq=0, idempotency_key=idempotency_key(job.id, digest, 0))
