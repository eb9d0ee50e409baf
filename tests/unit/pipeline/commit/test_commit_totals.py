"""A commit is counted among its requester's totals, judged by the others, and taken back where nothing came of it."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.factories import ANA, LEA, submission
from tests.support.fakes import AnsweringModel, Guest, fenced
from tests.support.runs import WRITES, run
from tests.support.target import Target, code, lose_worker, requeue
from tests.support.worker import ALLOW_ALL, WorkerParts
from vardy_worker import FunctionError, verbs
from vardy_worker.active_rules import read_user_window
from vardy_worker.contracts.decision import Choice, DecisionMessage
from vardy_worker.contracts.execution import Ref
from vardy_worker.contracts.job import Mode
from vardy_worker.contracts.policy import Verdict
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.totals import EffectTotals
from vardy_worker.documents import CURRENT, RULES
from vardy_worker.ports import Change, Changed
from vardy_worker.store.memory_jobs import MemoryJobStore

if TYPE_CHECKING:
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.totals import CountedPlan

COMMITTING = frozenset({Status.COMMITTING})
LIMIT = """
default: allow
rules:
  - name: a-day
    on: [pay]
    when: user_window.sums.pay.amount + plan.sums.pay.amount > 10
    then: {then}
    message: "More than 10 a day."
"""
BLOCK_ABOVE_TEN = LIMIT.format(then="block")
APPROVE_ABOVE_TEN = LIMIT.format(then="approve")


def window(parts: WorkerParts, *, hours: int = 24) -> EffectTotals:
    return parts.store.user_totals(ANA.id, window_hours=hours)


def paid(amount: int, *, times: int = 1) -> EffectTotals:
    return EffectTotals(counts={"pay": times}, sums={"pay": {"amount": Decimal(amount)}})


def pay(parts: WorkerParts, amount: int, **fields: Any) -> JobRecord:
    return parts.committing(parts.effect(0, "pay", amount=amount), **fields)


def commit(parts: WorkerParts, job: JobRecord) -> JobRecord:
    parts.committer().commit(job.id)
    return parts.job(job.id)


def committed(parts: WorkerParts, amount: int, **fields: Any) -> JobRecord:
    return commit(parts, pay(parts, amount, **fields))


# --- small plans instead of a large one ------------------------------------------------------


def test_what_was_applied_is_counted(parts: WorkerParts) -> None:
    assert committed(parts, 6).status is Status.SUCCESS
    assert committed(parts, 3).status is Status.SUCCESS
    assert window(parts) == paid(9, times=2)


def test_a_batch_that_is_split_into_small_plans_meets_the_limit(parts: WorkerParts, target: Target) -> None:
    parts.apply_rules(BLOCK_ABOVE_TEN)
    ended = [committed(parts, 4) for _ in range(4)]
    assert [job.status for job in ended] == [Status.SUCCESS] * 2 + [Status.POLICY_BLOCKED] * 2
    assert code(ended[2]) == "policy.changed"
    assert ended[2].error is not None
    assert "More than 10 a day." in ended[2].error.message
    assert len(target.calls) == 2
    assert window(parts) == paid(8, times=2)


def test_other_people_and_yesterday_do_not_count(parts: WorkerParts) -> None:
    parts.apply_rules(BLOCK_ABOVE_TEN)
    assert committed(parts, 8).status is Status.SUCCESS
    assert committed(parts, 8, submission=submission(user=LEA)).status is Status.SUCCESS
    assert committed(parts, 8).status is Status.POLICY_BLOCKED
    parts.clock.forward(25 * 3600)
    assert committed(parts, 8).status is Status.SUCCESS


def test_the_window_is_as_long_as_the_file_says(parts: WorkerParts) -> None:
    parts.apply_rules(f"user_window_hours: 100{BLOCK_ABOVE_TEN}")
    committed(parts, 8)
    parts.clock.forward(99 * 3600)
    assert committed(parts, 8).status is Status.POLICY_BLOCKED
    parts.apply_rules(f"user_window_hours: 2{BLOCK_ABOVE_TEN}")
    assert committed(parts, 8).status is Status.SUCCESS


def test_a_plan_that_others_have_made_too_much_is_parked_as_a_new_revision(parts: WorkerParts) -> None:
    parts.apply_rules(APPROVE_ABOVE_TEN)
    committed(parts, 8)
    job = pay(parts, 8)
    parked = commit(parts, job)
    assert (parked.status, parked.revision, parked.counted) == (Status.PENDING_APPROVAL, 2, None)
    assert parked.digest != job.digest
    assert window(parts) == paid(8)
    message = DecisionMessage(
        job_id=job.id, digest=parked.digest, decision=Choice.APPROVE, user=LEA, reason="", via="api", key_id="key"
    )
    approved = verbs.decide(parked, message=message, now_ms=parts.clock.now_ms(), four_eyes=True)
    assert approved is not None
    parts.store.change(approved)
    assert commit(parts, job).status is Status.SUCCESS
    assert window(parts) == paid(16, times=2)


# --- what is taken back, and what is not --------------------------------------------------------


def test_a_commit_that_failed_before_anything_was_applied_is_taken_back(parts: WorkerParts, target: Target) -> None:
    target.failing["pay"] = [FunctionError("The account is closed.")]
    failed = committed(parts, 5)
    assert (failed.status, failed.counted) == (Status.FUNCTION_ERROR, None)
    assert window(parts).is_zero
    parts.clock.forward(5 * 3600)
    requeue(parts, failed)
    assert commit(parts, failed).status is Status.SUCCESS
    assert window(parts, hours=1) == paid(5)


def test_a_cancelled_commit_is_taken_back(parts: WorkerParts) -> None:
    job = pay(parts, 5)
    parts.store.request_cancel(job.id, by="ana")
    assert commit(parts, job).status is Status.CANCELLED
    assert window(parts).is_zero


def test_a_commit_that_the_rules_refuse_or_cannot_judge_counts_for_nothing(parts: WorkerParts) -> None:
    parts.apply_rules("default: block\n")
    assert committed(parts, 5).status is Status.POLICY_BLOCKED
    job = pay(parts, 5)
    parts.documents.put(RULES, CURRENT, {"version": 0, "digest": "", "text": "broken"})
    assert commit(parts, job).status is Status.POLICY_BLOCKED
    parts.apply_rules(ALLOW_ALL)
    stale = parts.effect(0, "pay", amount=5).model_copy(update={"version": "older"})
    assert commit(parts, parts.committing(stale)).status is Status.POLICY_BLOCKED
    assert window(parts).is_zero


def test_a_commit_that_vardy_failed_on_is_taken_back(parts: WorkerParts) -> None:
    job = pay(parts, 5)

    def broken(*_args: Any, **_rest: Any) -> None:
        raise RuntimeError

    parts.rules.evaluate = broken  # type: ignore[method-assign, assignment] # a fault of Vardy's own
    assert commit(parts, job).status is Status.FUNCTION_ERROR
    assert window(parts).is_zero


def test_a_commit_that_stopped_half_way_stays_counted_whole(parts: WorkerParts, target: Target) -> None:
    target.failing["ring"] = [FunctionError("Nobody answers.")]
    job = parts.committing(
        parts.effect(0, "pay", amount=5), parts.effect(1, "ring", who=1), parts.effect(2, "pay", amount=4)
    )
    stopped = commit(parts, job)
    assert stopped.status is Status.PARTIAL
    assert window(parts).counts == {"pay": 2, "ring": 1}
    discarded = verbs.discard(stopped, by="olga", reason="No bell.", now_ms=parts.clock.now_ms())
    assert isinstance(parts.store.change(discarded), Changed)
    assert window(parts).sums["pay"] == {"amount": 9}


def test_what_nobody_knows_stays_counted(parts: WorkerParts) -> None:
    job = parts.committing(parts.effect(0, "ring", who=1))
    lose_worker(parts, job)
    assert commit(parts, job).status is Status.PARTIAL
    assert window(parts).counts == {"ring": 1}


def test_a_requeue_counts_no_second_time_and_from_then_on(parts: WorkerParts, target: Target) -> None:
    parts.apply_rules(BLOCK_ABOVE_TEN)
    target.failing["ring"] = [FunctionError("Nobody answers."), FunctionError("Nobody answers.")]
    job = parts.committing(parts.effect(0, "pay", amount=6), parts.effect(1, "ring", who=1))
    for _ in range(2):
        stopped = commit(parts, job)
        assert stopped.status is Status.PARTIAL
        assert window(parts) == EffectTotals(
            counts={"pay": 1, "ring": 1}, sums={"pay": {"amount": Decimal(6)}, "ring": {"who": Decimal(1)}}
        )
        parts.clock.forward(20 * 3600)
        requeue(parts, stopped)
    assert commit(parts, job).status is Status.SUCCESS
    assert window(parts, hours=1).sums["pay"] == {"amount": 6}


def test_a_requeue_is_judged_by_what_others_did_meanwhile(parts: WorkerParts, target: Target) -> None:
    target.failing["ring"] = [FunctionError("Nobody answers.")]
    job = parts.committing(parts.effect(0, "pay", amount=6), parts.effect(1, "ring", who=1))
    stopped = commit(parts, job)
    committed(parts, 6)
    parts.apply_rules(BLOCK_ABOVE_TEN)
    requeue(parts, stopped)
    refused = commit(parts, job)
    assert (refused.status, code(refused)) == (Status.PARTIAL, "policy.changed")
    assert window(parts).sums["pay"] == {"amount": 12}


def test_a_retry_that_is_put_off_stays_counted(parts: WorkerParts, target: Target) -> None:
    target.failing["pay"] = [FunctionError("Busy.", retryable=True)]
    waiting = committed(parts, 5)
    assert waiting.status is Status.COMMITTING
    assert waiting.counted is not None
    assert waiting.counted.before is None, "once it is checked, nobody needs to know"
    assert window(parts) == paid(5)
    parts.clock.forward(120)
    assert commit(parts, waiting).status is Status.SUCCESS
    assert window(parts) == paid(5)


def test_a_plan_whose_totals_were_erased_meanwhile_ends_as_it_would(parts: WorkerParts, target: Target) -> None:
    target.failing["pay"] = [FunctionError("Busy.", retryable=True), FunctionError("The account is closed.")]
    waiting = committed(parts, 5)
    parts.store.erase_user_totals(ANA.id)
    committed(parts, 1, submission=submission(user=LEA))
    parts.clock.forward(120)
    target.failing["pay"] = [FunctionError("The account is closed.")]
    assert commit(parts, waiting).status is Status.FUNCTION_ERROR
    assert window(parts).is_zero


# --- references ------------------------------------------------------------------------------


def refers(parts: WorkerParts) -> JobRecord:
    """Pays 1, and then the id that this payment got: 10."""
    later = parts.effect(1, "pay", refs=(Ref(at="/amount", effect=0, path="/id"),))
    return parts.committing(parts.effect(0, "pay", amount=1), later)


def test_a_reference_is_counted_with_its_value_once_the_commit_has_ended(parts: WorkerParts) -> None:
    assert commit(parts, refers(parts)).status is Status.SUCCESS
    assert window(parts) == paid(11, times=2)
    parts.apply_rules(BLOCK_ABOVE_TEN)
    assert committed(parts, 1).status is Status.POLICY_BLOCKED


def test_while_a_reference_is_not_known_a_rule_over_the_sum_blocks(parts: WorkerParts, target: Target) -> None:
    target.failing["pay"] = [FunctionError("Busy.", retryable=True)]
    commit(parts, refers(parts))
    parts.apply_rules(BLOCK_ABOVE_TEN)
    blocked = committed(parts, 1)
    assert blocked.status is Status.POLICY_BLOCKED
    assert blocked.error is not None
    assert "`amount` was not known in 1 of the requester's other plans" in blocked.error.message
    parts.apply_rules(BLOCK_ABOVE_TEN.replace("sums.pay.amount", "counts.pay"))
    assert committed(parts, 1).status is Status.SUCCESS


def test_a_reference_that_never_got_its_value_leaves_the_sum_unknown(parts: WorkerParts, target: Target) -> None:
    ring = parts.effect(1, "ring", who=1)
    later = parts.effect(2, "ring", refs=(Ref(at="/who", effect=0, path="/id"),))
    unknown = parts.effect(3, "book", refs=(Ref(at="/day", effect=2, path=""),))
    target.failing["ring"] = [FunctionError("Nobody answers.")]
    stopped = commit(parts, parts.committing(parts.effect(0, "pay", amount=7), ring, later, unknown))
    assert stopped.status is Status.PARTIAL
    assert window(parts).sums == {"pay": {"amount": 7}, "ring": {"who": 71}}
    assert window(parts).unknown == {"book": {"day": 1}}


# --- reading without counting ------------------------------------------------------------------


def pays(guest: Guest) -> object:
    return {"effect": guest.effect("pay", amount=8)}


@pytest.mark.parametrize("mode", [Mode.EXECUTE, Mode.PLAN])
@pytest.mark.parametrize(("before", "verdict"), [(2, Verdict.ALLOW), (3, Verdict.BLOCK)])
def test_a_run_is_judged_by_what_was_committed_and_counts_nothing(
    parts: WorkerParts, mode: Mode, before: int, verdict: Verdict
) -> None:
    committed(parts, before)
    parts.apply_rules(BLOCK_ABOVE_TEN)
    job = run(parts, pays, model=AnsweringModel(fenced(WRITES)), mode=mode)
    assert job.policy is not None
    assert (job.policy.verdict, job.policy.effects[0].failed_rule) == (verdict, "")
    assert window(parts) == paid(before)


def test_whoever_looks_at_a_committed_plan_again_sees_what_others_did(parts: WorkerParts) -> None:
    committed(parts, 3)
    job = committed(parts, 5)
    parts.apply_rules(BLOCK_ABOVE_TEN)
    assert read_user_window(parts.store, parts.rules.current(), job) == paid(3)


class CountingStore(MemoryJobStore):
    """Remembers which of its methods were called."""

    def __init__(self, parts: WorkerParts) -> None:
        super().__init__(parts.clock)
        self.called: list[str] = []

    def count_plan(self, job: JobRecord, **rest: Any) -> CountedPlan | None:
        self.called.append("count_plan")
        return super().count_plan(job, **rest)

    def user_totals(self, user: str, **rest: Any) -> EffectTotals:
        self.called.append("user_totals")
        return super().user_totals(user, **rest)

    def change(self, change: Change) -> Any:
        self.called.append("change")
        return super().change(change)


def test_a_commit_costs_one_more_call_whatever_its_size_and_a_run_reads_only_where_a_rule_asks(
    parts: WorkerParts,
) -> None:
    store = CountingStore(parts)
    parts.store = store
    run(parts, pays, model=AnsweringModel(fenced(WRITES)))
    assert "user_totals" not in store.called
    job = parts.committing(*(parts.effect(seq, "pay", amount=1) for seq in range(5)))
    store.called.clear()
    commit(parts, job)
    assert (store.called.count("count_plan"), store.called.count("change")) == (1, 1 + 5 + 1)
    assert "user_totals" not in store.called
