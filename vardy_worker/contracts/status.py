"""The statuses of a job, and the one table that says how a job may move.

Code, store scripts, tests and `docs/statuses.md` read this table; nothing else decides.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Status(StrEnum):
    """Lifecycle statuses, then the nine result statuses that callers handle."""

    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    COMMITTING = "COMMITTING"
    CANCELLED = "CANCELLED"

    SUCCESS = "SUCCESS"
    PLANNED = "PLANNED"
    PENDING_APPROVAL = "PENDING_APPROVAL"
    POLICY_BLOCKED = "POLICY_BLOCKED"
    VALIDATION_BLOCKED = "VALIDATION_BLOCKED"
    FUNCTION_ERROR = "FUNCTION_ERROR"
    PARTIAL = "PARTIAL"
    EXECUTION_ERROR = "EXECUTION_ERROR"
    GENERATION_ERROR = "GENERATION_ERROR"


class Stage(StrEnum):
    """What a `RUNNING` job is doing."""

    GENERATE = "generate"
    VALIDATE = "validate"
    EXECUTE = "execute"
    PLAN = "plan"
    POLICY = "policy"


RESULT_STATUSES = frozenset(Status) - {
    Status.QUEUED,
    Status.RUNNING,
    Status.COMMITTING,
    Status.CANCELLED,
}

UNSETTLED = frozenset({Status.QUEUED, Status.RUNNING, Status.COMMITTING})
"""A job is settled (a wait returns, a callback is sent) when it leaves these."""

WAITING_FOR_PEOPLE = frozenset({Status.PENDING_APPROVAL, Status.PLANNED})
"""Settled, but alive: the plan waits for a person until it expires."""

_RESULTS_OF_A_RUN = RESULT_STATUSES - {Status.PARTIAL}

TRANSITIONS: Mapping[Status, frozenset[Status]] = MappingProxyType(
    {
        # A queued job can settle without running: poisoned deliveries, lost functions.
        Status.QUEUED: frozenset({Status.RUNNING, Status.CANCELLED}) | _RESULTS_OF_A_RUN,
        # RUNNING to RUNNING: a stage change, or another worker after a lost lease.
        Status.RUNNING: frozenset({Status.RUNNING, Status.COMMITTING, Status.CANCELLED}) | _RESULTS_OF_A_RUN,
        Status.PLANNED: frozenset(
            {
                Status.COMMITTING,
                Status.PENDING_APPROVAL,
                Status.POLICY_BLOCKED,
                Status.CANCELLED,
            }
        ),
        # PENDING_APPROVAL to itself: a decision that leaves the quorum incomplete.
        Status.PENDING_APPROVAL: frozenset(
            {
                Status.PENDING_APPROVAL,
                Status.COMMITTING,
                Status.POLICY_BLOCKED,
                Status.CANCELLED,
            }
        ),
        # COMMITTING to itself: journal writes. Back to PENDING_APPROVAL: stricter rules.
        Status.COMMITTING: frozenset(
            {
                Status.COMMITTING,
                Status.SUCCESS,
                Status.PARTIAL,
                Status.FUNCTION_ERROR,
                Status.POLICY_BLOCKED,
                Status.CANCELLED,
                Status.PENDING_APPROVAL,
            }
        ),
        # PARTIAL to itself: resolving an unknown effect, discarding the remainder.
        Status.PARTIAL: frozenset({Status.PARTIAL, Status.COMMITTING}),
        # Only a commit's FUNCTION_ERROR has a plan to requeue; operations check that.
        Status.FUNCTION_ERROR: frozenset({Status.COMMITTING}),
        Status.SUCCESS: frozenset(),
        Status.CANCELLED: frozenset(),
        Status.POLICY_BLOCKED: frozenset(),
        Status.VALIDATION_BLOCKED: frozenset(),
        Status.EXECUTION_ERROR: frozenset(),
        Status.GENERATION_ERROR: frozenset(),
    }
)


def can_move(before: Status, after: Status) -> bool:
    """Whether the table allows the move."""
    return after in TRANSITIONS[before]


def is_final(status: Status) -> bool:
    """Whether a job stays in this status, unless an operator requeues the commit that ended in it."""
    return is_settled(status) and status not in WAITING_FOR_PEOPLE


def is_over(status: Status, *, has_plan: bool) -> bool:
    """Whether no move is left: not even an operator can requeue what became of the job.

    Of two jobs that failed in a function, only one whose commit failed has a plan to requeue.
    """
    return not TRANSITIONS[status] or (status is Status.FUNCTION_ERROR and not has_plan)


def is_settled(status: Status) -> bool:
    """Whether a wait for the job returns in this status."""
    return status not in UNSETTLED
