import pytest

from vardy_worker.contracts.errors import JOB_ERRORS
from vardy_worker.contracts.status import (
    RESULT_STATUSES,
    TRANSITIONS,
    UNSETTLED,
    Status,
    can_move,
    is_final,
    is_settled,
)


def test_the_table_has_a_row_for_every_status() -> None:
    assert set(TRANSITIONS) == set(Status)


def test_callers_handle_exactly_nine_results() -> None:
    assert len(RESULT_STATUSES) == 9


@pytest.mark.parametrize("status", list(Status))
def test_a_status_is_settled_unless_a_worker_or_the_queue_has_the_job(status: Status) -> None:
    assert is_settled(status) is (status not in UNSETTLED)


def test_a_blocked_job_never_moves_again() -> None:
    assert not TRANSITIONS[Status.POLICY_BLOCKED]


def test_nothing_but_a_commit_leads_to_partial() -> None:
    leading = {before for before in Status if before is not Status.PARTIAL and can_move(before, Status.PARTIAL)}
    assert leading == {Status.COMMITTING}


def test_a_parked_plan_cannot_succeed_without_a_commit() -> None:
    assert not can_move(Status.PENDING_APPROVAL, Status.SUCCESS)
    assert not can_move(Status.PLANNED, Status.SUCCESS)


def test_every_result_but_the_good_ones_has_an_error_code() -> None:
    good = {Status.SUCCESS, Status.PLANNED, Status.PENDING_APPROVAL}
    assert set(JOB_ERRORS.values()) == (RESULT_STATUSES - good) | {Status.CANCELLED}


def test_what_is_final_is_settled_and_waits_for_nobody() -> None:
    final = {status for status in Status if is_final(status)}
    assert final == set(Status) - {
        Status.QUEUED,
        Status.RUNNING,
        Status.COMMITTING,
        Status.PENDING_APPROVAL,
        Status.PLANNED,
    }
