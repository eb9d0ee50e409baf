from tests.support.factories import LEA, NOW_MS
from tests.support.target import Target, code, lose_worker, requeue, states
from tests.support.worker import ALLOW_ALL, WorkerParts
from vardy_worker import FunctionError, verbs
from vardy_worker.contracts.decision import Choice, Decision
from vardy_worker.contracts.job import JobRecord
from vardy_worker.contracts.journal import EffectState
from vardy_worker.contracts.policy import ApprovalNeed
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change, Changed

APPROVE_ALL = "default: approve\n"
BLOCK_ALL = "default: block\n"


# --- the check at the beginning ------------------------------------------------------------------


def test_rules_that_block_by_now_stop_the_commit_before_its_first_effect(parts: WorkerParts, target: Target) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    parts.apply_rules(BLOCK_ALL)
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.POLICY_BLOCKED, "policy.changed")
    assert target.calls == []


def test_rules_that_ask_for_an_approval_by_now_park_the_plan_as_a_new_revision(
    parts: WorkerParts, target: Target
) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    parts.apply_rules(APPROVE_ALL)
    parts.committer().commit(job.id)
    parked = parts.job(job.id)
    assert parked.status is Status.PENDING_APPROVAL
    assert parked.revision == 2
    assert parked.digest != job.digest
    assert target.calls == []


def test_an_approval_that_was_given_is_enough_under_stricter_rules_too(parts: WorkerParts) -> None:
    parts.apply_rules(APPROVE_ALL)
    job = parts.committing(parts.effect(0, "pay", amount=1), needs=(ApprovalNeed(rule=""),))
    approved = Decision(decision=Choice.APPROVE, digest=job.digest, user=LEA, at_ms=NOW_MS)
    parts.store.change(Change(job.id, frozenset({Status.COMMITTING}), set={"decisions": (approved,)}))
    parts.committer().commit(job.id)
    assert parts.job(job.id).status is Status.SUCCESS


def test_laxer_rules_change_nothing(parts: WorkerParts) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    parts.apply_rules("default: allow\nrules: [{name: x, on: [pay], then: allow}]\n")
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert ended.status is Status.SUCCESS
    assert ended.digest == job.digest


def test_a_function_that_changed_stops_the_commit(parts: WorkerParts, target: Target) -> None:
    stale = parts.effect(0, "pay", amount=1).model_copy(update={"version": "older"})
    job = parts.committing(stale)
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.POLICY_BLOCKED, "plan.function_changed")
    assert target.calls == []


def test_a_requeue_that_the_rules_refuse_leaves_a_failed_commit_as_it_was(parts: WorkerParts, target: Target) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    target.failing["pay"] = [FunctionError("The account is closed.")]
    parts.committer().commit(job.id)
    failed = parts.job(job.id)
    assert failed.status is Status.FUNCTION_ERROR
    requeue(parts, failed)
    parts.apply_rules(BLOCK_ALL)
    parts.committer().commit(job.id)
    refused = parts.job(job.id)
    assert (refused.status, code(refused)) == (Status.FUNCTION_ERROR, "policy.changed")
    requeue(parts, refused)
    parts.apply_rules(ALLOW_ALL)
    parts.committer().commit(job.id)
    assert parts.job(job.id).status is Status.SUCCESS


def test_a_failed_commit_is_removed_in_time_and_one_that_stopped_half_way_is_not(
    parts: WorkerParts, target: Target
) -> None:
    target.failing["pay"] = [FunctionError("The account is closed.")]
    failed = parts.committing(parts.effect(0, "pay", amount=1))
    parts.committer().commit(failed.id)
    stopped = parts.committing(parts.effect(0, "ring", who=1))
    lose_worker(parts, stopped)
    parts.committer().commit(stopped.id)
    assert [parts.job(job.id).status for job in (failed, stopped)] == [Status.FUNCTION_ERROR, Status.PARTIAL]
    parts.clock.forward(parts.settings.job_retention_seconds + 1)
    assert parts.store.get(failed.id) is None
    assert parts.job(stopped.id).status is Status.PARTIAL


def test_a_requeue_that_the_rules_refuse_leaves_a_resolved_commit_as_it_was(parts: WorkerParts) -> None:
    job = parts.committing(parts.effect(0, "ring", who=1))
    lose_worker(parts, job)
    parts.committer().commit(job.id)
    resolved = verbs.resolve(
        parts.job(job.id),
        0,
        done=False,
        result=None,
        reason="It is not in the log.",
        by="olga",
        now_ms=parts.clock.now_ms(),
        check_result=lambda _function, _result: None,
    )
    assert isinstance(parts.store.change(resolved), Changed)
    requeue(parts, parts.job(job.id))
    parts.apply_rules(BLOCK_ALL)
    parts.committer().commit(job.id)
    refused = parts.job(job.id)
    assert (refused.status, code(refused)) == (Status.PARTIAL, "policy.changed")


def test_a_resumed_commit_does_not_evaluate_again(parts: WorkerParts) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    lose_worker(parts, job)
    parts.apply_rules(BLOCK_ALL)
    parts.committer().commit(job.id)
    assert parts.job(job.id).status is Status.SUCCESS


# --- cancelling -------------------------------------------------------------------------------------


def test_a_cancel_before_the_first_effect_leaves_nothing_applied(parts: WorkerParts, target: Target) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1))
    parts.store.request_cancel(job.id, by="ana")
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.CANCELLED, "job.cancelled")
    assert states(ended) == [EffectState.PENDING]
    assert target.calls == []


def test_a_cancel_between_effects_is_partial_and_keeps_what_was_done(parts: WorkerParts, target: Target) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1), parts.effect(1, "ring", who=1))

    def cancel() -> None:
        parts.store.request_cancel(job.id, by="ana")

    parts.host.before_calls = cancel
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.PARTIAL, "commit.cancelled")
    assert states(ended) == [EffectState.SUCCEEDED, EffectState.PENDING]
    assert target.keys("ring") == []


def test_a_cancel_after_a_lost_worker_leaves_what_it_had_started_unknown(parts: WorkerParts, target: Target) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=1), parts.effect(1, "ring", who=1))
    lose_worker(parts, job)
    parts.store.request_cancel(job.id, by="ana")
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.PARTIAL, "commit.cancelled")
    assert states(ended) == [EffectState.UNKNOWN, EffectState.PENDING]
    assert [entry.state for entry in parts.store.journal(job.id)] == [EffectState.STARTED, EffectState.UNKNOWN]
    assert target.calls == []


def test_a_plan_damaged_after_a_lost_worker_leaves_what_it_had_started_unknown(parts: WorkerParts) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=5))
    lose_worker(parts, job)
    damage(parts, job)
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.PARTIAL, "plan.damaged")
    assert states(ended) == [EffectState.UNKNOWN]


def damage(parts: WorkerParts, job: JobRecord) -> None:
    assert job.plan is not None
    damaged = job.plan.model_copy(update={"text": job.plan.text.replace('"amount":5', '"amount":999')})
    parts.store.change(Change(job.id, frozenset({Status.COMMITTING}), set={"plan": damaged}))


def test_a_plan_that_is_not_what_its_digest_names_is_not_executed(parts: WorkerParts, target: Target) -> None:
    job = parts.committing(parts.effect(0, "pay", amount=5))
    damage(parts, job)
    parts.committer().commit(job.id)
    ended = parts.job(job.id)
    assert (ended.status, code(ended)) == (Status.POLICY_BLOCKED, "plan.damaged")
    assert target.calls == []
