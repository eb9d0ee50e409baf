"""The bodies of `POST /v1/rules/test`: a rules file replayed over stored plans."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from vardy_api.shapes import AskedTime
from vardy_worker.contracts.base import Contract
from vardy_worker.contracts.job import JobKind
from vardy_worker.contracts.policy import ApprovalNeed, PlanChange, Verdict
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE_JOBS_MAX = 100
"""Jobs that one request looks at, at the most."""


class RulesTest(Contract):
    """Rules to replay, and over what: one `job`, or a page of the newest jobs that match."""

    text: str = Field(max_length=512 * 1024, description="a whole rules file (YAML)")
    job: str | None = Field(None, description="only the plan of this job")
    status: tuple[Status, ...] = ()
    kind: JobKind | None = None
    user: str | None = None
    recipe: str | None = None
    created_after: AskedTime | None = None
    cursor: str | None = None
    limit: int = Field(50, ge=1, le=PAGE_JOBS_MAX, description="jobs to look at; those without a plan are left out")

    @model_validator(mode="after")
    def _one_or_many(self) -> RulesTest:
        filters = (self.status, self.kind, self.user, self.recipe, self.created_after, self.cursor)
        if self.job is not None and any(filters):
            msg = "give `job`, or filters and a cursor; not both"
            raise ValueError(msg)
        return self


class ReplayedReason(Contract):
    """A sentence of the rules under test, with the effects whose verdict it changes."""

    effects: tuple[int, ...]
    before: Verdict
    after: Verdict
    rules: tuple[str, ...] = ()
    failed_rule: str = ""
    message: str


class ReplayedPlan(Contract):
    """What the rules under test say of one stored plan, against what was recorded.

    `after` is null where the plan cannot be evaluated; `note` says why, and otherwise what may
    make the comparison misleading.
    """

    job: str
    status: Status
    user: str
    created_at: datetime
    digest: str = ""
    effects: int = 0
    change: PlanChange
    before: Verdict | None = None
    after: Verdict | None = None
    approvals_before: tuple[ApprovalNeed, ...] = ()
    approvals_after: tuple[ApprovalNeed, ...] = ()
    reasons: tuple[ReplayedReason, ...] = ()
    note: str = ""


class RulesTestPage(Contract):
    """The plans of one page, newest first. `next` is the cursor of the following page.

    `matched` says of every rule in how many plans of the page it matched an effect; `failed` in
    how many it could not be evaluated.
    """

    digest: str
    items: tuple[ReplayedPlan, ...]
    matched: dict[str, int]
    failed: dict[str, int]
    next: str | None = None


class RulesTestReport(Contract):
    """All pages together.

    `unchanged` to `unknown` count plans by their change, `newly_…` those with another verdict by
    the new one. `unmatched` are the rules that matched nothing, and failed nowhere; `failed`
    says of the others that failed in how many plans they did.
    """

    digest: str
    plans: int
    unchanged: int
    stricter: int
    laxer: int
    other: int
    unknown: int
    newly_blocked: int
    newly_asking: int
    newly_allowed: int
    unmatched: tuple[str, ...]
    failed: dict[str, int]
    items: tuple[ReplayedPlan, ...]


def rules_test_report(pages: Iterable[RulesTestPage]) -> RulesTestReport:
    """The report of at least one page."""
    items: list[ReplayedPlan] = []
    matched: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    digest = ""
    for page in pages:
        digest = page.digest
        items += page.items
        matched.update(page.matched)
        failed.update(page.failed)
    changes = Counter(item.change for item in items)
    became = Counter(item.after for item in items if item.after is not item.before)
    return RulesTestReport(
        digest=digest,
        plans=len(items),
        unchanged=changes[PlanChange.UNCHANGED],
        stricter=changes[PlanChange.STRICTER],
        laxer=changes[PlanChange.LAXER],
        other=changes[PlanChange.OTHER],
        unknown=changes[PlanChange.UNKNOWN],
        newly_blocked=became[Verdict.BLOCK],
        newly_asking=became[Verdict.APPROVE],
        newly_allowed=became[Verdict.ALLOW],
        unmatched=tuple(rule for rule, plans in matched.items() if not plans and not failed[rule]),
        failed={rule: plans for rule, plans in failed.items() if plans},
        items=tuple(items),
    )
