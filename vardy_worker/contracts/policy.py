"""Rules and what they said of a plan."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from pydantic import Field

from vardy_worker.contracts.base import Contract
from vardy_worker.contracts.totals import WINDOW_HOURS, WINDOW_HOURS_MAX


class Verdict(StrEnum):
    """What a rule says of an effect. The strictest of the matching ones wins."""

    ALLOW = "allow"
    APPROVE = "approve"
    BLOCK = "block"

    @property
    def strictness(self) -> int:
        """0 for allow, 1 for approve, 2 for block."""
        return (Verdict.ALLOW, Verdict.APPROVE, Verdict.BLOCK).index(self)


def strictest(verdicts: list[Verdict]) -> Verdict:
    """The strictest of at least one verdict."""
    return max(verdicts, key=lambda verdict: verdict.strictness)


QUORUM_MAX = 20
_USER_WINDOW: Final = re.compile(r"\buser_window\b")


class Approvers(Contract):
    """Who must approve: `quorum` distinct people with one of `roles` (none: anyone who may decide)."""

    roles: tuple[str, ...] = ()
    quorum: int = Field(1, ge=1, le=QUORUM_MAX)


class Rule(Contract):
    """One rule as written. `line` is where it stands in its file (from 1)."""

    name: str
    on: tuple[str, ...] = ("*",)
    when: str = "true"
    then: Verdict
    approvers: Approvers | None = None
    message: str = ""
    line: int = 0


class RuleSet(Contract):
    """A whole rules file. `digest` is the SHA-256 of its canonical content, not of its layout."""

    default: Verdict = Verdict.APPROVE
    rules: tuple[Rule, ...] = ()
    user_window_hours: int = Field(WINDOW_HOURS, ge=1, le=WINDOW_HOURS_MAX)
    digest: str

    @property
    def reads_user_window(self) -> bool:
        """Whether a rule may read what the requester's other plans did."""
        return any(_USER_WINDOW.search(rule.when) for rule in self.rules)


class RulesVersion(Contract):
    """One version of the active rules, as the store keeps it. `version` 0: the built-in default."""

    version: int
    digest: str
    text: str
    applied_by: str = ""
    applied_at_ms: int = 0


class RuleWarning(Contract):
    """Something certain about a rule that holds, and probably does not do what was meant.

    `line` is that of the rule in its file (from 1); `message` the reason, `advice` what to do.
    """

    line: int
    rule: str
    message: str
    advice: str


class EffectVerdict(Contract):
    """Why one effect got its verdict.

    `rules` are the rules that matched, with the strictest first; empty when the default
    applied. `failed_rule` names a rule that could not be evaluated, which blocks.
    """

    seq: int
    verdict: Verdict
    rules: tuple[str, ...] = ()
    message: str
    failed_rule: str = ""


class ApprovalNeed(Contract):
    """One approval that is asked for; every one of a plan must be satisfied.

    `rule` is "" where the default verdict asks.
    """

    rule: str
    roles: tuple[str, ...] = ()
    quorum: int = 1
    message: str = ""

    def open_to(self, roles: tuple[str, ...]) -> bool:
        """Whether a person with these roles may give it."""
        return not self.roles or not set(self.roles).isdisjoint(roles)


class PlanChange(StrEnum):
    """How other rules' say of a plan differs from what was recorded.

    `STRICTER` and `LAXER`: in the verdict, or in the approvals that are asked for.
    `OTHER`: approvals are asked for in both, of others. `UNKNOWN`: it cannot be evaluated.
    """

    UNCHANGED = "unchanged"
    STRICTER = "stricter"
    LAXER = "laxer"
    OTHER = "other"
    UNKNOWN = "unknown"


class SmallestChange(Contract):
    """The effects without which the rest of a plan would need no approval; no part of them is enough."""

    without: tuple[int, ...]
    message: str


class PolicyResult(Contract):
    """The verdict of a whole plan, with every effect's own and what must be approved.

    `avoidable` says how the approval could be avoided, where the plan needs one and that is known.
    `outside` says what takes the plan outside the envelope of its recipe; empty where nothing does, and
    where there is no envelope to judge it by.
    """

    verdict: Verdict
    rules_digest: str
    effects: tuple[EffectVerdict, ...]
    approvals: tuple[ApprovalNeed, ...] = ()
    avoidable: SmallestChange | None = None
    outside: tuple[str, ...] = ()

    def blocked_effects(self) -> tuple[EffectVerdict, ...]:
        """The effects a rule, or the failure of a rule, blocks."""
        return tuple(e for e in self.effects if e.verdict is Verdict.BLOCK)
