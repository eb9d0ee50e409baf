"""A person's word on one plan digest."""

from __future__ import annotations

from enum import StrEnum

from vardy_worker.contracts.base import Contract
from vardy_worker.contracts.user import User


class Choice(StrEnum):
    """What a decision says."""

    APPROVE = "approve"
    DENY = "deny"


class DecisionMessage(Contract):
    """One decision on its way in, the same wherever it comes from."""

    job_id: str
    digest: str
    decision: Choice
    user: User
    reason: str = ""
    via: str = "api"
    key_id: str = ""


class Decision(Contract):
    """A decision as recorded. `via` says where it came from, such as `api` or `cli`."""

    decision: Choice
    digest: str
    user: User
    reason: str = ""
    via: str = "api"
    key_id: str = ""
    at_ms: int
