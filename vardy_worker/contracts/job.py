"""The job: what was submitted, and the record of everything that became of it."""

from __future__ import annotations

from enum import StrEnum
from itertools import accumulate
from typing import Literal, get_args

from pydantic import Field, model_validator

from vardy_worker.contracts.base import Contract, JsonObject, JsonValue
from vardy_worker.contracts.decision import Decision
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.execution import CallSummary, ConsoleLine, Ref
from vardy_worker.contracts.explore import Round
from vardy_worker.contracts.journal import EffectRecord
from vardy_worker.contracts.model import TokenUsage
from vardy_worker.contracts.plan import Plan
from vardy_worker.contracts.policy import PolicyResult
from vardy_worker.contracts.program import Finding, Program
from vardy_worker.contracts.quota import MICRO_USD, Quotas, Spent
from vardy_worker.contracts.recipe import Recipe
from vardy_worker.contracts.status import Stage, Status
from vardy_worker.contracts.totals import CountedPlan
from vardy_worker.contracts.user import AskedId, User

SCHEMA = 1
"""Version of the stored records and of the public job. Readers refuse a newer one."""


class JobKind(StrEnum):
    """`run`: one program. `explore`: rounds of reads."""

    RUN = "run"
    EXPLORE = "explore"


class Mode(StrEnum):
    """`plan` makes the plan and executes nothing."""

    EXECUTE = "execute"
    PLAN = "plan"


class Submission(Contract):
    """What was asked: exactly one of `request` and `recipe`. The question of an explore is its `request`."""

    request: str | None = Field(None, min_length=1, max_length=20_000, description="what is asked, in plain words")
    recipe: str | None = Field(None, min_length=1, max_length=63, description="name of a saved recipe")
    params: JsonObject = Field(default_factory=dict)
    user: User
    mode: Mode = Mode.EXECUTE
    functions: tuple[str, ...] | None = Field(None, description="narrows the functions further")
    execution_repairs: int = Field(
        0, ge=0, le=3, description="how often the model may mend a program that failed while it ran"
    )
    judge: bool = Field(False, description="whether programs have `classify` and `ai`; a recipe says so itself")  # noqa: FBT003 - pydantic takes the default first
    metadata: dict[str, str] = Field(default_factory=dict, max_length=50)
    limits: dict[str, float] = Field(default_factory=dict, description="lower limits for this job, by name")

    @model_validator(mode="after")
    def _one_source(self) -> Submission:
        if (self.request is None) == (self.recipe is None):
            msg = "give exactly one of `request` and `recipe`"
            raise ValueError(msg)
        if self.request is not None and not self.request.strip():
            msg = "`request` is blank; say what is asked"
            raise ValueError(msg)
        return self


class JudgeUsage(TokenUsage):
    """The judge's share, shown apart."""

    calls: int = 0


class Usage(TokenUsage):
    """What a job's model calls took."""

    model: str = ""
    judge: JudgeUsage = Field(default_factory=JudgeUsage)

    @property
    def spent(self) -> Spent:
        """Tokens and money of all calls, the judge's too; money rounded to its unit."""
        total = self.plus(self.judge)
        return Spent(tokens=total.prompt_tokens + total.completion_tokens, micro_usd=round(total.cost_usd * MICRO_USD))


class Timings(Contract):
    """Milliseconds spent in each part."""

    queued: float = 0
    generate: float = 0
    validate_: float = Field(0, alias="validate", serialization_alias="validate")
    execute: float = 0
    policy: float = 0
    commit: float = 0

    model_config = Contract.model_config | {"populate_by_name": True}


class Attempt(Contract):
    """One model answer that did not become the program; for the operator and the repair prompt."""

    text: str = Field(description="what the model said, cut at the program limit")
    error: ErrorInfo
    findings: tuple[Finding, ...] = ()


class JobRecord(Contract):
    """Everything stored of a job. Times are milliseconds since the epoch, by the server's clock.

    `version` grows with every change. `fence` counts claims: whoever holds the
    newest may write. `deliveries` counts claims since the job last moved on by itself.
    `not_before_ms` keeps a commit that waits for a retry from being claimed early.
    `quotas` are the ceilings of the key and of the person at submission.
    What stays of one whose contents were erased is in `contracts.erasure`.
    """

    schema_: int = Field(SCHEMA, alias="schema", serialization_alias="schema")
    id: str
    kind: JobKind = JobKind.RUN
    owner: str = Field(description="owner of the key that submitted it")
    key_id: str = Field("", description='id of that key; "" for one of an older version, or without a key')
    quotas: Quotas = Field(default_factory=Quotas)
    submission: Submission
    recipe: Recipe | None = Field(None, description="the version that was active at submission")

    status: Status = Status.QUEUED
    stage: Stage | None = None
    version: int = 1
    fence: int = 0
    deliveries: int = 0
    worker: str = ""
    lease_until_ms: int = 0
    not_before_ms: int = 0
    cancel_requested_by: str = ""
    created_at_ms: int
    started_at_ms: int | None = None
    settled_at_ms: int | None = None
    expires_at_ms: int | None = None
    erased_at_ms: int | None = None

    program: Program | None = None
    rounds: tuple[Round, ...] = ()
    answer: str | None = None
    attempts: tuple[Attempt, ...] = ()
    calls: tuple[CallSummary, ...] = ()
    output: JsonValue = None
    output_refs: tuple[Ref, ...] = ()
    warnings: tuple[str, ...] = ()
    revision: int = 0
    plan: Plan | None = None
    policy: PolicyResult | None = None
    decisions: tuple[Decision, ...] = ()
    effects: tuple[EffectRecord, ...] = ()
    commit_checked: bool = False
    """Rules were evaluated for this commit; one resumed after a crash does not do it again."""
    counted: CountedPlan | None = None
    """Where the plan stands among its requester's totals; None while it is not counted."""
    error: ErrorInfo | None = None
    usage: Usage = Field(default_factory=Usage)
    timings: Timings = Field(default_factory=Timings)

    model_config = Contract.model_config | {"populate_by_name": True}

    @property
    def has_judge(self) -> bool:
        """Whether its programs have `classify` and `ai`."""
        return self.submission.judge if self.recipe is None else self.recipe.judge

    @property
    def asks_models(self) -> bool:
        """Whether it can cost tokens: all jobs can but those of recipes without the judge."""
        return self.recipe is None or self.has_judge

    @property
    def digest(self) -> str:
        """The plan's digest, or "" without a plan."""
        return self.plan.digest if self.plan else ""

    @property
    def is_erased(self) -> bool:
        """Whether its contents were erased: of the plan, only the digest and the effects' states are left."""
        return self.erased_at_ms is not None


class JobSummary(Contract):
    """One line of a listing: no payloads."""

    id: str
    kind: JobKind
    status: Status
    stage: Stage | None = None
    request: str | None = Field(None, description="the first 200 characters")
    recipe: str | None = None
    user: str
    owner: str
    created_at_ms: int
    settled_at_ms: int | None = None
    expires_at_ms: int | None = None
    erased_at_ms: int | None = None
    error_code: str | None = None
    effects_total: int = 0


class JobFilter(Contract):
    """What a listing asks for; all given parts must match. Newest first."""

    status: tuple[Status, ...] = ()
    kind: JobKind | None = None
    user: AskedId | None = None
    recipe: str | None = None
    owner: str | None = None
    created_after_ms: int | None = None


class JobPage(Contract):
    """One page. `next` is the opaque cursor of the following one."""

    items: tuple[JobSummary, ...]
    next: str | None = None


class ConsoleRecord(Contract):
    """What a program printed; kept apart from the job, for the operator."""

    lines: tuple[ConsoleLine, ...] = ()
    truncated: bool = False

    def with_round(self, n: int, printed: ConsoleRecord, *, bytes_max: int) -> ConsoleRecord:
        """What was printed in all rounds, with `printed` as the whole of round `n`.

        Lines that do not fit into `bytes_max` for all rounds are left out, from the first such
        line on. What the same round printed before, when its worker was lost, gives way; what
        later ones printed stays, when a worker that was taken for lost ends after them.
        """
        earlier = [line for line in self.lines if line.round is not None and line.round < n]
        later = [line for line in self.lines if line.round is not None and line.round > n]
        new = [line.model_copy(update={"round": n}) for line in printed.lines]
        every = (*earlier, *new, *later)
        sizes = accumulate(len(line.text.encode()) for line in every)
        kept = sum(1 for size in sizes if size <= bytes_max)
        cut = self.truncated or printed.truncated or kept < len(every)
        return ConsoleRecord(lines=every[:kept], truncated=cut)


QueueName = Literal["run", "commit"]
QUEUE_NAMES: tuple[QueueName, ...] = get_args(QueueName)
