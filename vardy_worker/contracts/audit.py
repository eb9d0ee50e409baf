"""The audit trail: who did what, when and from where, in chains that cannot be changed unseen.

There is one chain for each job and one, `SETTINGS`, for keys, rules, recipes and totals. `hash` of
an entry covers everything in it but itself and `text`, and so, by `prev`, all entries before
it. What people typed stands in `text`; only a salted hash of it is covered, so that the text
can be erased and the chain still be checked. How entries are made and checked: `audit_chain`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from pydantic import Field

from vardy_worker.contracts.base import Contract, JsonObject
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import AskedId

SETTINGS: Final = "settings"
"""The chain of what holds for every job: keys, rules, recipes, and what users' plans added up to."""

VARDY: Final = "vardy"
"""Who acts where no person does: a worker that ends a commit, a plan that expires."""


class Action(StrEnum):
    """What was done."""

    JOB_SUBMITTED = "job.submitted"
    PLAN_MADE = "plan.made"
    PLAN_REPARKED = "plan.reparked"
    PLAN_EXPIRED = "plan.expired"
    DECISION_APPROVE = "decision.approve"
    DECISION_DENY = "decision.deny"
    COMMIT_REQUESTED = "commit.requested"
    COMMIT_REQUEUED = "commit.requeued"
    COMMIT_DISCARDED = "commit.discarded"
    EFFECT_RESOLVED = "effect.resolved"
    JOB_CANCEL_REQUESTED = "job.cancel_requested"
    JOB_CANCELLED = "job.cancelled"
    JOB_SETTLED = "job.settled"
    JOB_ERASED = "job.erased"

    KEY_CREATED = "key.created"
    KEY_CHANGED = "key.changed"
    KEY_ROTATED = "key.rotated"
    KEY_REVOKED = "key.revoked"
    RULES_APPLIED = "rules.applied"
    RECIPE_SAVED = "recipe.saved"
    RECIPE_REVIEWED = "recipe.reviewed"
    RECIPE_DELETED = "recipe.deleted"
    TOTALS_ERASED = "totals.erased"


SETTINGS_ACTIONS: Final = frozenset(
    {
        Action.KEY_CREATED,
        Action.KEY_CHANGED,
        Action.KEY_ROTATED,
        Action.KEY_REVOKED,
        Action.RULES_APPLIED,
        Action.RECIPE_SAVED,
        Action.RECIPE_REVIEWED,
        Action.RECIPE_DELETED,
        Action.TOTALS_ERASED,
    }
)
"""Those of the chain `SETTINGS`; all others are about one job."""


class Origin(Contract):
    """From where something was done: the surface, the API key, and the client's address where there is one."""

    via: str = Field("worker", description="`api`, `cli`, or `worker` where no person acts")
    key_id: str = ""
    address: str = ""


class AuditNote(Contract):
    """What a caller wants noted with a change. The store adds the chain, the number and the states.

    `details` holds codes, names and counts; never arguments, params, rows or program text.
    """

    action: Action
    at_ms: int
    by: str = Field(VARDY, description="id of the person, or `vardy`")
    origin: Origin = Field(default_factory=Origin)
    subject: str = Field("", description="the key, recipe or user it is about; a job is named by the chain")
    digest: str = Field("", description="of the plan, the rules or the program it is about")
    details: JsonObject = Field(default_factory=dict)
    reason: str = Field("", description="what the person typed")

    def done_from(self, origin: Origin) -> AuditNote:
        """The same note, with where it was done."""
        return self.model_copy(update={"origin": origin})


class AuditState(Contract):
    """Where a job or a document stands. Documents have no status, and version 0 where there is none."""

    status: Status | None = None
    version: int


class AuditText(Contract):
    """What a person typed. The salt keeps short texts from being guessed once they are erased."""

    reason: str
    salt: str


class AuditEntry(Contract):
    """One entry. `n` counts from 1 within the chain; `prev` is the hash of entry `n - 1`, "" before the first."""

    chain: str
    n: int
    at_ms: int
    action: str
    by: str
    via: str
    key_id: str = ""
    address: str = ""
    subject: str = ""
    digest: str = ""
    before: AuditState | None = None
    after: AuditState | None = None
    details: JsonObject = Field(default_factory=dict)
    text_sha256: str = Field("", description='binds `text`; "" where nothing was typed')
    prev: str
    hash: str
    text: AuditText | None = Field(None, description="beside what `hash` covers; null also after it was erased")


class AuditFilter(Contract):
    """What a listing asks for; all given parts must match. Newest first."""

    chain: str | None = None
    by: AskedId | None = None
    action: Action | None = None
    after_ms: int | None = None
    before_ms: int | None = None


class AuditPage(Contract):
    """One page. `next` is the opaque cursor of the following one."""

    items: tuple[AuditEntry, ...]
    next: str | None = None
