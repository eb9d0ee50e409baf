from typing import Any

import pytest

from tests.support.factories import ANA, LEA, LEO, NOW_MS, planned_job
from vardy_worker.contracts.decision import Choice, Decision, DecisionMessage
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.job import JobRecord
from vardy_worker.contracts.policy import ApprovalNeed
from vardy_worker.contracts.status import Status, can_move
from vardy_worker.contracts.user import User
from vardy_worker.ports import Change
from vardy_worker.verbs import decide

LEADS_ONLY = ApprovalNeed(rule="refunds", roles=("support_lead",))
TWO_LEADS = ApprovalNeed(rule="mass-mail", roles=("support_lead",), quorum=2)
FINANCE = ApprovalNeed(rule="money", roles=("finance",))
FAY = User(id="fay", roles=("finance",))


def say(job: JobRecord, user: User = LEA, decision: Choice = Choice.APPROVE, **fields: Any) -> Change | None:
    given = {"job_id": job.id, "digest": job.digest, "decision": decision, "user": user, **fields}
    return decide(job, message=DecisionMessage(**given), now_ms=NOW_MS, four_eyes=True)


def after(job: JobRecord, change: Change | None) -> JobRecord:
    assert change is not None
    return job.model_copy(update={**change.set, "status": change.to or job.status, "version": job.version + 1})


def refused(code: str, job: JobRecord, *args: Any, **fields: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        say(job, *args, **fields)
    assert caught.value.code == code
    return caught.value


def test_the_last_needed_approval_starts_the_commit() -> None:
    change = say(planned_job(needs=(LEADS_ONLY,)))
    assert change is not None
    assert change.to is Status.COMMITTING
    assert change.due_at_ms is not None


def test_an_incomplete_quorum_leaves_the_job_where_it_is() -> None:
    change = say(planned_job(needs=(TWO_LEADS,)))
    assert change is not None
    assert change.to is None
    assert [d.user.id for d in change.set["decisions"]] == ["lea"]


def test_two_people_fill_a_quorum_of_two() -> None:
    job = after(job := planned_job(needs=(TWO_LEADS,)), say(job))
    change = say(job, LEO)
    assert change is not None
    assert change.to is Status.COMMITTING


def test_one_person_twice_does_not_fill_a_quorum_of_two() -> None:
    job = after(job := planned_job(needs=(TWO_LEADS,)), say(job))
    assert say(job, key_id="another-key") is None


def test_the_same_roles_in_another_order_are_the_same_word() -> None:
    lead = LEA.model_copy(update={"roles": ("support_lead", "support")})
    job = after(job := planned_job(needs=(TWO_LEADS,)), say(job, lead))
    assert say(job, lead.model_copy(update={"roles": ("support", "support_lead", "support")})) is None


def test_a_person_who_has_a_wanted_role_by_now_says_it_again_with_the_role() -> None:
    bo = User(id="bo")
    anybody = ApprovalNeed(rule="")
    job = after(job := planned_job(needs=(anybody, FINANCE)), say(job, bo))
    assert job.status is Status.PENDING_APPROVAL
    change = say(job, bo.model_copy(update={"roles": ("finance",)}))
    assert change is not None
    assert change.to is Status.COMMITTING


def test_every_approval_that_is_asked_for_must_be_given() -> None:
    job = after(job := planned_job(needs=(LEADS_ONLY, FINANCE)), say(job))
    assert job.status is Status.PENDING_APPROVAL
    change = say(job, FAY)
    assert change is not None
    assert change.to is Status.COMMITTING


def test_a_person_with_both_roles_gives_both_approvals() -> None:
    change = say(planned_job(needs=(LEADS_ONLY, FINANCE)), User(id="bo", roles=("finance", "support_lead")))
    assert change is not None
    assert change.to is Status.COMMITTING


def test_a_denial_ends_the_job_and_says_who_and_why() -> None:
    job = planned_job(needs=(TWO_LEADS,))
    change = say(job, decision=Choice.DENY, reason="too many mails")
    ended = after(job, change)
    assert ended.status is Status.POLICY_BLOCKED
    assert ended.error is not None
    assert ended.error.code == "policy.denied"
    assert "too many mails" in ended.error.message
    assert ended.error.details["user"] == "lea"


def test_the_requester_never_approves_whatever_the_key() -> None:
    refused("approval.requester", planned_job(), ANA, key_id="some-other-key")


def test_the_requester_is_compared_by_id_alone() -> None:
    refused("approval.requester", planned_job(needs=(LEADS_ONLY,)), User(id="ana", roles=("support_lead",)))


def test_without_four_eyes_the_requester_may_approve() -> None:
    job = planned_job()
    message = DecisionMessage(job_id=job.id, digest=job.digest, decision=Choice.APPROVE, user=ANA)
    change = decide(job, message=message, now_ms=NOW_MS, four_eyes=False)
    assert change is not None
    assert change.to is Status.COMMITTING


def test_a_person_without_a_wanted_role_is_refused_and_told_which() -> None:
    error = refused("approval.role", planned_job(needs=(LEADS_ONLY, FINANCE)), User(id="sam", roles=("support",)))
    assert error.details["roles"] == ["finance", "support_lead"]


def test_without_named_roles_anybody_else_may_decide() -> None:
    assert say(planned_job(needs=(ApprovalNeed(rule=""),)), User(id="sam")) is not None


@pytest.mark.parametrize("reason", ["", "   "])
def test_a_denial_needs_a_reason(reason: str) -> None:
    refused("approval.reason", planned_job(), decision=Choice.DENY, reason=reason)


def test_a_decision_without_a_digest_changes_nothing() -> None:
    refused("digest.missing", planned_job(), digest="")


def test_a_decision_on_another_digest_changes_nothing_and_names_the_present_one() -> None:
    job = planned_job()
    assert refused("digest.mismatch", job, digest="0" * 64).details["digest"] == job.digest


@pytest.mark.parametrize("status", sorted(set(Status) - {Status.PENDING_APPROVAL}))
def test_nothing_but_a_parked_plan_is_decided(status: Status) -> None:
    error = refused("job.conflict", planned_job(status))
    assert error.details["status"] == status.value


def test_an_expired_plan_is_not_approved_even_when_no_sweeper_came() -> None:
    refused("approval.expired", planned_job(expires_at_ms=NOW_MS))


def test_decisions_on_an_earlier_revision_do_not_count() -> None:
    old = Decision(decision=Choice.APPROVE, digest="0" * 64, user=LEO, at_ms=NOW_MS)
    job = planned_job(needs=(TWO_LEADS,), decisions=(old,))
    change = say(job)
    assert change is not None
    assert change.to is None


def test_every_decision_is_bound_to_the_version_it_was_made_on() -> None:
    job = planned_job(version=9)
    for change in (say(job), say(job, decision=Choice.DENY, reason="no")):
        assert change is not None
        assert change.expect_version == 9
        assert change.expect_status == {Status.PENDING_APPROVAL}
        assert change.to is None or can_move(Status.PENDING_APPROVAL, change.to)
