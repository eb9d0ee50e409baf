"""Small builders: a test names what matters to it, the rest is plausible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vardy_worker.contracts.base import sha256_json, sha256_text
from vardy_worker.contracts.ids import new_job_id
from vardy_worker.contracts.job import JobRecord, Submission
from vardy_worker.contracts.plan import Effect, PlanBody, make_plan
from vardy_worker.contracts.policy import ApprovalNeed, EffectVerdict, PolicyResult, Verdict
from vardy_worker.contracts.program import Program
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User

if TYPE_CHECKING:
    from vardy_worker.contracts.plan import Plan

ANA = User(id="ana", roles=("support",))
LEA = User(id="lea", roles=("support_lead",))
LEO = User(id="leo", roles=("support_lead",))
NOW_MS = 1_700_000_000_000
RULES_DIGEST = "r" * 64


class StillClock:
    """A clock that moves only when a test says so."""

    def __init__(self, now_ms: int = NOW_MS) -> None:
        self.at_ms = now_ms

    def now_ms(self) -> int:
        return self.at_ms

    def monotonic(self) -> float:
        return self.at_ms / 1000

    def move_to(self, now_ms: int) -> None:
        self.at_ms = max(self.at_ms, now_ms)

    def forward(self, seconds: float) -> None:
        self.at_ms += int(seconds * 1000)


def submission(**fields: Any) -> Submission:
    given = {"user": ANA, **fields}
    if "recipe" not in given:
        given.setdefault("request", "refund it")
    return Submission(**given)


def queued_job(**fields: Any) -> JobRecord:
    given = {"id": new_job_id(), "owner": "shop", "submission": submission(), "created_at_ms": NOW_MS, **fields}
    return JobRecord(**given)


def effect(seq: int = 0, function: str = "refund_payment", **fields: Any) -> Effect:
    return Effect(**{"seq": seq, "function": function, "version": "v1", "args": {"payment_id": seq}, **fields})


def plan(job_id: str, *effects: Effect, revision: int = 1, rules_digest: str = RULES_DIGEST) -> Plan:
    return make_plan(
        PlanBody(
            job_id=job_id,
            revision=revision,
            program_sha256=sha256_text("program"),
            params_sha256=sha256_json({}),
            rules_digest=rules_digest,
            requester=ANA.id,
            effects=effects,
        )
    )


def policy(verdict: Verdict, effects: int = 1, *needs: ApprovalNeed, rules_digest: str = RULES_DIGEST) -> PolicyResult:
    return PolicyResult(
        verdict=verdict,
        rules_digest=rules_digest,
        effects=tuple(
            EffectVerdict(seq=seq, verdict=verdict, rules=("a-rule",), message="Because.") for seq in range(effects)
        ),
        approvals=needs,
    )


def planned_job(
    status: Status = Status.PENDING_APPROVAL,
    *,
    effects: tuple[Effect, ...] = (),
    needs: tuple[ApprovalNeed, ...] = (ApprovalNeed(rule="a-rule"),),
    verdict: Verdict = Verdict.APPROVE,
    **fields: Any,
) -> JobRecord:
    """A job with a plan, as the store would have it in that status."""
    job = queued_job(**fields)
    made = effects or (effect(),)
    given = {
        "status": status,
        "program": Program(source="async function run() {}", sha256=sha256_text("program")),
        "plan": plan(job.id, *made),
        "revision": 1,
        "policy": policy(verdict, len(made), *needs),
        "expires_at_ms": NOW_MS + 86_400_000,
        "started_at_ms": NOW_MS,
    }
    return job.model_copy(update={**given, **fields})
