"""An example of every answer, made of the shapes themselves, so that none can say what the API would not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from vardy_api.http.problem_help import HELP
from vardy_api.recipe_shapes import FieldDifference, RecipeDifference, RecipeList, RecipeView
from vardy_api.rule_shapes import ReplayedPlan, ReplayedReason, RulesTestPage
from vardy_api.shapes import (
    AttemptsView,
    ChainCheckView,
    CheckedProgram,
    ConsoleView,
    HealthView,
    JournalView,
    KeyList,
    KeyView,
    NewKeyView,
    ProblemType,
    PromptView,
    QueuesView,
    QueueView,
    RulesView,
    SummaryPage,
    SummaryView,
    TrailCheckPage,
    UsageShare,
    UsageView,
    WorkerView,
)
from vardy_worker.contracts.audit import AuditEntry, AuditPage, AuditState
from vardy_worker.contracts.decision import Choice
from vardy_worker.contracts.errors import PROBLEMS, ErrorInfo
from vardy_worker.contracts.execution import ConsoleLine
from vardy_worker.contracts.functions import Catalogue, FunctionKind, FunctionSpec
from vardy_worker.contracts.job import Attempt, JobKind, JudgeUsage, Mode, Timings, Usage
from vardy_worker.contracts.journal import EffectCounts, EffectState
from vardy_worker.contracts.model import Message
from vardy_worker.contracts.plan import Effect, PlanBody
from vardy_worker.contracts.policy import ApprovalNeed, PlanChange, Verdict
from vardy_worker.contracts.program import Finding
from vardy_worker.contracts.quota import Quota, QuotaOf, Used
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope, User
from vardy_worker.contracts.view import (
    ApprovalView,
    DecisionView,
    EffectView,
    JobView,
    JournalEntryView,
    PlanView,
    ProgramView,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
LATER = datetime(2026, 3, 2, 9, 30, 4, tzinfo=UTC)
JOB_ID = "job_01JD4Y8Q0V7N2M5K3R9T6W1XZC"
KEY_ID = "key_01JD4Y3V5B8S0G2H4M6P9R1TZX"
DIGEST = "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"
HASH = "0a9f2c7be1d04c58a7f1f0b6d2f3c9e85b7a61d4c8e92f37ab5d60c1e4f8a937"
SOURCE = 'async function run(params) {\n  await refund_payment({payment_id: 17});\n  return "refunded";\n}\n'
ANA = User(id="ana", roles=("support",))
LEA = User(id="lea", roles=("support_lead",))
IDEMPOTENCY_KEY = "vdy_2d711642b726b04401627ca9fbac32f5"
_ERASED: Mapping[str, Any] = {
    "request": "[erased]",
    "user": User(id="[erased]"),
    "program": None,
    "output": None,
    "effects": (),
    "decisions": (),
    "metadata": {},
    "erased_at": LATER,
}


def _job() -> JobView:
    return JobView(
        id=JOB_ID,
        kind=JobKind.RUN,
        status=Status.PENDING_APPROVAL,
        settled=True,
        request="refund payment 17",
        user=ANA,
        mode=Mode.EXECUTE,
        created_at=AT,
        started_at=AT,
        settled_at=LATER,
        program=ProgramView(source=SOURCE, sha256=HASH, attempts=1),
        output="refunded",
        plan=PlanView(
            digest=DIGEST,
            revision=1,
            verdict=Verdict.APPROVE,
            rules_digest=HASH,
            expires_at=datetime(2026, 3, 3, 9, 30, 4, tzinfo=UTC),
            approvals=(ApprovalView(rule="refunds", roles=("support_lead",), quorum=1),),
            counts=EffectCounts(total=1, pending=1),
        ),
        effects=(
            EffectView(
                seq=0,
                function="refund_payment",
                args={"payment_id": 17},
                verdict=Verdict.APPROVE,
                rules=("refunds",),
                message="A refund needs a lead.",
                idempotency_key=IDEMPOTENCY_KEY,
            ),
        ),
        usage=Usage(
            model="provider/model", prompt_tokens=1480, completion_tokens=96, cost_usd=0.0041, judge=JudgeUsage()
        ),
        timings_ms=Timings(queued=12, generate=3210, validate=8, execute=64, policy=3),
        metadata={"ticket": "4711"},
        version=5,
    )


def _queued() -> JobView:
    return JobView(
        id=JOB_ID,
        kind=JobKind.RUN,
        status=Status.QUEUED,
        settled=False,
        request="refund payment 17",
        user=ANA,
        mode=Mode.EXECUTE,
        created_at=AT,
        usage=Usage(),
        timings_ms=Timings(),
        metadata={"ticket": "4711"},
        version=1,
    )


def _after(status: Status, state: EffectState, **counts: int) -> JobView:
    job = _job()
    assert job.plan is not None  # noqa: S101 - narrows the type
    decision = DecisionView(decision=Choice.APPROVE, digest=DIGEST, user=LEA, key_id=KEY_ID, at=LATER)
    return job.model_copy(
        update={
            "status": status,
            "settled": status is not Status.COMMITTING,
            "settled_at": None if status is Status.COMMITTING else LATER,
            "plan": job.plan.model_copy(update={"counts": EffectCounts(total=1, **counts)}),
            "effects": tuple(effect.model_copy(update={"state": state}) for effect in job.effects),
            "decisions": (decision,),
        }
    )


def _recipe(**changed: Any) -> RecipeView:
    return RecipeView(
        name="refund",
        version=2,
        sha256=HASH,
        description="Refunds payment 17.",
        source=SOURCE,
        params_schema={"type": "object"},
        functions={"refund_payment": "5d1f0c3a9b7e"},
        judge=False,
        reviewed_by="lea",
        reviewed_at=AT,
        from_job=JOB_ID,
        **changed,
    )


def _key() -> KeyView:
    return KeyView(
        id=KEY_ID,
        name="shop",
        owner="shop",
        scopes=(Scope.SUBMIT,),
        created_at=AT,
        last_used_at=LATER,
        quota={"jobs_max": 20},
    )


def _new_key() -> NewKeyView:
    return NewKeyView(**_key().model_dump(), key=f"vk_{KEY_ID.removeprefix('key_')}_<43 characters>")


def _rules(**changed: Any) -> RulesView:
    return RulesView(version=3, digest=HASH, text="default: approve\n", applied_by="lea", applied_at=AT, **changed)


def _catalogue() -> Catalogue:
    refund = FunctionSpec(
        name="refund_payment",
        kind=FunctionKind.WRITE,
        doc="Give money back for one payment.",
        input_schema={
            "type": "object",
            "properties": {"payment_id": {"type": "integer"}},
            "required": ["payment_id"],
            "additionalProperties": False,
        },
        output_schema={"type": "null"},
        declaration="declare function refund_payment(args: {payment_id: number}): Promise<null>;",
        version="5d1f0c3a9b7e",
        roles=("support",),
        idempotent=True,
    )
    return Catalogue(functions=(refund,))


def _jobs_examples() -> dict[str, BaseModel]:
    summary = SummaryView(
        id=JOB_ID,
        kind=JobKind.RUN,
        status=Status.PENDING_APPROVAL,
        request="refund payment 17",
        user="ana",
        created_at=AT,
        settled_at=LATER,
        effects_total=1,
    )
    journal = JournalEntryView(
        at=LATER,
        seq=0,
        state=EffectState.SUCCEEDED,
        attempt=1,
        fence=2,
        worker="worker-1:4711:1",
        idempotency_key=IDEMPOTENCY_KEY,
        args_sha256=HASH,
    )
    refused = Attempt(
        text="I cannot do that.",
        error=ErrorInfo(code="generation.no_program", message="The answer holds no program."),
    )
    body = PlanBody(
        job_id=JOB_ID,
        revision=1,
        program_sha256=HASH,
        params_sha256=HASH,
        rules_digest=HASH,
        requester="ana",
        effects=(Effect(seq=0, function="refund_payment", version="5d1f0c3a9b7e", args={"payment_id": 17}),),
    )
    return {
        "run": _queued(),
        "explore": _queued().model_copy(update={"kind": JobKind.EXPLORE, "request": "who pays late?"}),
        "list_jobs": SummaryPage(items=(summary,), next="WzE3NzI0NDM4MDAwMDAsICJqb2JfMDFKRDRZIl0"),
        "read_job": _job(),
        "read_plan": body,
        "read_console": ConsoleView(lines=(ConsoleLine(level="log", text="1 payment"),)),
        "read_journal": JournalView(items=(journal,)),
        "read_attempts": AttemptsView(prompt="program-1+repair-1", items=(refused,)),
        "erase_job": _after(Status.SUCCESS, EffectState.SUCCEEDED, succeeded=1).model_copy(update=_ERASED),
        "decide": _after(Status.COMMITTING, EffectState.PENDING, pending=1),
        "commit": _after(Status.COMMITTING, EffectState.PENDING, pending=1).model_copy(update={"decisions": ()}),
        "cancel": _queued().model_copy(
            update={
                "status": Status.CANCELLED,
                "settled": True,
                "settled_at": LATER,
                "error": ErrorInfo(code="job.cancelled", message="The job was cancelled by ana."),
            }
        ),
        "requeue": _after(Status.COMMITTING, EffectState.PENDING, pending=1),
        "discard": _after(Status.PARTIAL, EffectState.SKIPPED, skipped=1).model_copy(
            update={"error": ErrorInfo(code="commit.discarded", message="The rest was given up by olga.")}
        ),
        "resolve": _after(Status.PARTIAL, EffectState.RESOLVED_DONE, resolved=1),
    }


def _library_examples() -> dict[str, BaseModel]:
    finding = Finding(code="validation.eval", message="`eval` does not exist here.", line=2, column=10)
    plan = ReplayedPlan(
        job=JOB_ID,
        status=Status.SUCCESS,
        user="ana",
        created_at=AT,
        digest=DIGEST,
        effects=1,
        change=PlanChange.STRICTER,
        before=Verdict.ALLOW,
        after=Verdict.APPROVE,
        approvals_after=(ApprovalNeed(rule="refunds", roles=("support_lead",)),),
        reasons=(
            ReplayedReason(
                effects=(0,),
                before=Verdict.ALLOW,
                after=Verdict.APPROVE,
                rules=("refunds",),
                message="A refund needs a lead.",
            ),
        ),
    )
    return {
        "check_program": CheckedProgram(ok=False, findings=(finding,), source=SOURCE),
        "read_functions": _catalogue(),
        "preview_prompt": PromptView(messages=(Message(role="system", content="You write one program …"),)),
        "list_recipes": RecipeList(items=(_recipe(),)),
        "read_recipe": _recipe(),
        "list_recipe_versions": RecipeList(items=(_recipe(),)),
        "read_recipe_version": _recipe(),
        "compare_recipe_versions": RecipeDifference(
            name="refund",
            before=1,
            after=2,
            fields=(FieldDifference(field="description", before="Refunds.", after="Refunds payment 17."),),
        ),
        "save_recipe": _recipe(changed=True),
        "review_recipe": _recipe(changed=True),
        "read_rules": _rules(),
        "apply_rules": _rules(changed=True),
        "try_rules": RulesTestPage(digest=HASH, items=(plan,), matched={"refunds": 1}, failed={"refunds": 0}),
    }


def _administration_examples() -> dict[str, BaseModel]:
    entry = AuditEntry(
        chain=JOB_ID,
        n=3,
        at_ms=1_772_443_804_000,
        action="decision.approve",
        by="lea",
        via="api",
        key_id=KEY_ID,
        digest=DIGEST,
        before=AuditState(status=Status.PENDING_APPROVAL, version=5),
        after=AuditState(status=Status.COMMITTING, version=6),
        prev=DIGEST,
        hash=HASH,
    )
    used = Used(jobs=2, tokens=48_200, cost_usd=0.31)
    status, title = PROBLEMS["digest.mismatch"]
    return {
        "list_keys": KeyList(items=(_key(),)),
        "create_key": _new_key(),
        "read_key": _key(),
        "change_key": _key(),
        "rotate_key": _new_key().model_copy(update={"rotated_at": LATER}),
        "revoke_key": _key().model_copy(update={"revoked_at": LATER}),
        "read_usage": UsageView(
            items=(UsageShare(of=QuotaOf.KEY, id=KEY_ID, quota=Quota(jobs_max=20), used=used),),
            resets_at=datetime(2026, 3, 3, tzinfo=UTC),
        ),
        "read_queues": QueuesView(
            queues=(QueueView(name="run", depth=2, oldest_seconds=0.8),),
            workers=(WorkerView(worker="worker-1:4711", queues=("run",), started_at=AT, seen_at=LATER),),
        ),
        "list_audit": AuditPage(items=(entry,)),
        "verify_audit": TrailCheckPage(
            items=(ChainCheckView(chain=JOB_ID, ok=True, first=1, last=3, head=HASH),), chains=1
        ),
        "check_liveness": HealthView(ok=True),
        "check_readiness": HealthView(ok=True),
        "read_problem_type": ProblemType(
            code="digest.mismatch", status=status, title=title, help=HELP["digest.mismatch"]
        ),
    }


def answer_examples() -> Mapping[str, Any]:
    """The example of each operation that answers JSON, by the operation's id."""
    made = {**_jobs_examples(), **_library_examples(), **_administration_examples()}
    return {name: model.model_dump(mode="json", by_alias=True) for name, model in made.items()}
