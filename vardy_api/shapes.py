"""The bodies of requests and answers that are not the job itself; server and client share them.

The job is `vardy_worker.contracts.view.JobView`. Nothing here loads a server or a store.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, model_validator

from vardy_worker.contracts.audit_chain import BrokenEntry
from vardy_worker.contracts.base import Contract, JsonObject, JsonValue
from vardy_worker.contracts.decision import Choice
from vardy_worker.contracts.events import EventType
from vardy_worker.contracts.execution import ConsoleLine
from vardy_worker.contracts.job import Attempt, JobKind, JobSummary, QueueName, Submission
from vardy_worker.contracts.model import Message
from vardy_worker.contracts.policy import RulesVersion, RuleWarning
from vardy_worker.contracts.program import Finding
from vardy_worker.contracts.quota import KeyQuota, Quota, QuotaOf, Used
from vardy_worker.contracts.status import Stage, Status
from vardy_worker.contracts.user import ApiKey, PersonId, Scope, User
from vardy_worker.contracts.view import JournalEntryView, instant, moment

Person = Annotated[
    User | None, Field(description="who this is done for; a key that is bound to a person may leave it out")
]

KEY_SECONDS_MAX = 10 * 365 * 86_400
VERSION_MAX = 2**31
ROUNDS_LIMIT = "explore_rounds_max"
"""The limit that the `rounds_max` of an explore lowers."""
WAIT_SECONDS_MAX = 60
"""The longest that one request waits for a job to settle."""

Via = Literal["api", "cli"]
"""Where a request comes from."""


def _written_time(value: object) -> object:
    """Raises `ValueError` for a number, which would be taken for seconds since 1970, or milliseconds, by its size."""
    if isinstance(value, datetime) or (isinstance(value, str) and _DATED.match(value)):
        return value
    msg = "a time is written as ISO 8601, such as 2026-01-31T12:00:00Z"
    raise ValueError(msg)


_DATED: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
AskedTime = Annotated[datetime, BeforeValidator(_written_time)]
"""A time that something is looked for by; one without an offset is UTC."""


class RunRequest(Submission):
    """The body of `POST /v1/run`: exactly one of `request` and `recipe`."""

    user: Person = None  # type: ignore[assignment] # a bound key fills it in before the submission is made


class ExploreRequest(Contract):
    """The body of `POST /v1/explore`."""

    question: str = Field(min_length=1, max_length=20_000, description="what is asked, in plain words")
    params: JsonObject = Field(default_factory=dict)
    user: Person = None
    functions: tuple[str, ...] | None = Field(None, description="only these reads may be called")
    judge: bool = Field(False, description="whether programs have `classify` and `ai`")  # noqa: FBT003 - pydantic takes the default first
    rounds_max: int | None = Field(
        None, ge=1, le=20, description="programs at the most; at most and by default the deployment's"
    )
    metadata: dict[str, str] = Field(default_factory=dict, max_length=50)
    limits: dict[str, float] = Field(default_factory=dict, description="lower limits for this job, by name")

    @model_validator(mode="after")
    def _is_plain(self) -> ExploreRequest:
        if not self.question.strip():
            msg = "`question` is blank; say what is asked"
            raise ValueError(msg)
        if ROUNDS_LIMIT in self.limits:
            msg = f"give `rounds_max` in place of the limit `{ROUNDS_LIMIT}`"
            raise ValueError(msg)
        return self


class PersonRequest(Contract):
    """The body of a verb that needs no more than who asks."""

    user: Person = None


class DecisionRequest(Contract):
    """One decision; the digest of the plan that was shown goes into `If-Match`."""

    decision: Choice
    user: Person = None
    reason: str = Field("", max_length=2000, description="needed for a denial")


class ReasonRequest(Contract):
    """The body of a verb that must say why."""

    user: Person = None
    reason: str = Field("", max_length=2000)


class ResolveRequest(Contract):
    """What an operator found out about an effect whose outcome was unknown."""

    done: bool = Field(description="whether the effect was applied at the target")
    result: JsonValue = Field(None, description="what the function returned, where a later effect refers to it")
    reason: str = Field("", max_length=2000, description="how it was found out; needed")
    user: Person = None


class SummaryView(Contract):
    """One line of a listing: no payloads. `request` is cut to its first 200 characters."""

    id: str
    kind: JobKind
    status: Status
    stage: Stage | None = None
    request: str | None = None
    recipe: str | None = None
    user: str
    created_at: datetime
    settled_at: datetime | None = None
    expires_at: datetime | None = None
    erased_at: datetime | None = None
    error_code: str | None = None
    effects_total: int = 0


class SummaryPage(Contract):
    """One page of a listing, newest first. `next` is the cursor of the following page."""

    items: tuple[SummaryView, ...]
    next: str | None = None


class EventView(Contract):
    """One event of a job. `id` is its place in the job's stream; a stream is resumed after it."""

    id: str
    type: EventType
    at: datetime
    data: JsonObject = Field(default_factory=dict)


class ConsoleView(Contract):
    """What a job's program printed."""

    lines: tuple[ConsoleLine, ...] = ()
    truncated: bool = False


class JournalView(Contract):
    """The journal of a job's commit, oldest first; empty before it began."""

    items: tuple[JournalEntryView, ...] = ()


class AttemptsView(Contract):
    """The answers of a model that did not become the job's program, oldest first.

    `prompt` names the versions of the prompts that led to the program; "" without one, and for
    a recipe.
    """

    prompt: str = ""
    items: tuple[Attempt, ...] = ()


MODEL_TEXT_MAX = 128 * 1024
"""Characters of a model's text that is searched for a program: twice what a program may have by default."""


class ProgramCheck(Contract):
    """A program to check: `source` as it would run, or the `text` of a model, which is extracted first."""

    source: str | None = None
    text: str | None = Field(None, max_length=MODEL_TEXT_MAX)
    user: User | None = Field(
        None, description="check against the functions of this person; none: the key's person, else all functions"
    )
    functions: tuple[str, ...] | None = Field(None, description="only these functions may be called")
    judge: bool = Field(False, description="whether it has `classify` and `ai`")  # noqa: FBT003 - pydantic takes the default first


class CheckedProgram(Contract):
    """What the checks say of a program. `ok`: it has no finding of severity `error`, so it may run.

    Lines are those of the text that was sent; where the findings are about all of it
    (`generation.*`: it holds no program), they stand at its beginning. `source` is the program
    as it would run, `""` without one; `line_map[n]` is the line of the text that its line
    `n + 1` came from, 0 where Vardy added it, and is empty where nothing was extracted.
    """

    ok: bool
    findings: tuple[Finding, ...]
    source: str
    line_map: tuple[int, ...] = ()


class RulesPut(Contract):
    """A whole rules file as text (YAML)."""

    text: str = Field(max_length=512 * 1024)
    expect_version: int | None = Field(
        None, ge=0, le=VERSION_MAX, description="refuses when other rules are active by now"
    )
    user: Person = None


class RulesView(Contract):
    """The active rules; version 0 are the built-in ones. `changed` is false when they were active already.

    `warnings` are of a file that was sent; reading the active rules gives none.
    """

    version: int
    digest: str
    text: str
    applied_by: str = ""
    applied_at: datetime | None = None
    changed: bool = False
    dry_run: bool = False
    warnings: tuple[RuleWarning, ...] = ()


class PromptRequest(Contract):
    """What would be sent to the model for this request, or question of an explore; nothing is sent."""

    request: str = Field(min_length=1, max_length=20_000)
    kind: JobKind = JobKind.RUN
    judge: bool = Field(False, description="whether programs have `classify` and `ai`")  # noqa: FBT003 - pydantic takes the default first
    params: JsonObject = Field(default_factory=dict)
    user: Person = None
    functions: tuple[str, ...] | None = None


class PromptView(Contract):
    """The exact messages."""

    messages: tuple[Message, ...]


class KeyCreate(Contract):
    """A key to make. A key with a `person` acts only as that person."""

    name: PersonId = Field("", max_length=200)
    owner: PersonId = Field("", max_length=200, description="jobs belong to the owner; default: the person or the name")
    scopes: tuple[Scope, ...] = Field(min_length=1)
    person: User | None = None
    expires_in_seconds: int | None = Field(None, ge=60, le=KEY_SECONDS_MAX)
    quota: KeyQuota = Field(default_factory=KeyQuota, description="ceilings of its own")


class KeyChange(Contract):
    """What to change of a key. Ceilings that are left out stay; null takes the key's own away."""

    quota: KeyQuota


class KeyRotate(Contract):
    """A new secret for a key that keeps its id, owner, scopes and ceilings."""

    keep_seconds: int = Field(
        0, ge=0, le=30 * 86_400, description="how long the secret before it still works; 0: it ends at once"
    )


class KeyView(Contract):
    """An API key without its secret. `quota` has the ceilings of its own; null is the deployment's."""

    id: str
    name: str
    owner: str
    scopes: tuple[Scope, ...]
    person: User | None = None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    rotated_at: datetime | None = None
    former_secret_until: datetime | None = Field(
        None, description="until when the secret that the last rotation replaced works, or worked"
    )
    last_used_at: datetime | None = Field(
        None, description="the hour in which it was used last; null when it never was, or where that was not read"
    )
    quota: KeyQuota = Field(default_factory=KeyQuota)


class NewKeyView(KeyView):
    """A key with a secret that was just made. `key` is the whole token: shown once, stored only as a hash."""

    key: str


class UsageShare(Contract):
    """The ceilings of a key or a person, 0 for none, and what is used of them."""

    of: QuotaOf
    id: str
    quota: Quota
    used: Used


class UsageView(Contract):
    """What the key that asks, and the person it asks for, may use and use; the day ends at `resets_at`."""

    items: tuple[UsageShare, ...]
    resets_at: datetime


class KeyList(Contract):
    """Keys by id, the revoked ones too. `next` is the cursor of the following page."""

    items: tuple[KeyView, ...]
    next: str | None = None


class ChainCheckView(Contract):
    """What a check of one chain of the audit trail found."""

    chain: str
    ok: bool
    first: int | None = Field(None, description="number of the oldest entry that was checked; null without any")
    last: int = Field(description="number of the newest entry that holds")
    head: str = Field(description="hash of that entry")
    erased: int = Field(0, description="entries whose text was erased")
    broken: BrokenEntry | None = None


class TrailCheckPage(Contract):
    """The check of some chains, by name. `next` is the cursor of the following ones."""

    items: tuple[ChainCheckView, ...]
    next: str | None = None
    chains: int = Field(description="how many chains there are")
    trimmed_before: datetime | None = Field(
        None, description="entries recorded before this time may be missing: they were trimmed"
    )


class QueueView(Contract):
    """One queue: messages waiting, and for how long the oldest has."""

    name: QueueName
    depth: int
    oldest_seconds: float | None = None


class WorkerView(Contract):
    """One live worker process."""

    worker: str
    queues: tuple[str, ...]
    started_at: datetime
    seen_at: datetime
    confined: bool | None = None
    """Whether its sandbox children run under a filter of system calls; null where none has started."""
    looked_at: datetime | None = None
    """When it last looked for lost jobs; null before its first look."""


class QueuesView(Contract):
    """The queues and the workers that serve them."""

    queues: tuple[QueueView, ...]
    workers: tuple[WorkerView, ...]


class HealthView(Contract):
    """Whether the API can do its work; `problems` says what is missing."""

    ok: bool
    problems: tuple[str, ...] = ()


class Problem(Contract):
    """The one shape of every error (RFC 9457, `application/problem+json`)."""

    type: str = Field(description="address of a page about the code")
    title: str
    status: int
    detail: str = Field(description="a sentence a person can act on")
    code: str
    details: JsonObject = Field(default_factory=dict)
    instance: str | None = Field(None, description="the correlation id in the operator's log, where there is one")


class ProblemType(Contract):
    """What a problem code means, and what helps."""

    code: str
    status: int
    title: str
    help: str


def summary_view(summary: JobSummary) -> SummaryView:
    """The public shape of a line of a listing."""
    return SummaryView(
        **summary.model_dump(exclude={"owner", "created_at_ms", "settled_at_ms", "expires_at_ms", "erased_at_ms"}),
        created_at=instant(summary.created_at_ms),
        settled_at=moment(summary.settled_at_ms),
        expires_at=moment(summary.expires_at_ms),
        erased_at=moment(summary.erased_at_ms),
    )


def rules_view(
    rules: RulesVersion, *, changed: bool = False, dry_run: bool = False, warnings: tuple[RuleWarning, ...] = ()
) -> RulesView:
    """The public shape of a version of the rules."""
    return RulesView(
        **rules.model_dump(exclude={"applied_at_ms"}),
        applied_at=moment(rules.applied_at_ms or None),
        changed=changed,
        dry_run=dry_run,
        warnings=warnings,
    )


def key_view(key: ApiKey, last_used_at_ms: int | None = None) -> KeyView:
    """The public shape of a key; never its hashes."""
    return KeyView(
        id=key.id,
        name=key.name,
        owner=key.owner,
        scopes=key.scopes,
        person=key.person,
        created_at=instant(key.created_at_ms),
        expires_at=moment(key.expires_at_ms),
        revoked_at=moment(key.revoked_at_ms),
        quota=key.quota,
        rotated_at=moment(key.rotated_at_ms),
        former_secret_until=moment(key.former.until_ms) if key.former else None,
        last_used_at=moment(last_used_at_ms),
    )


def submission_of(request: RunRequest, user: User) -> Submission:
    """The submission of a request, for the person it is for."""
    return Submission.model_validate({**request.model_dump(), "user": user.model_dump()})


def explore_submission(request: ExploreRequest, user: User) -> Submission:
    """The submission of an explore, for the person it is for."""
    rounds = {} if request.rounds_max is None else {ROUNDS_LIMIT: float(request.rounds_max)}
    fields = request.model_dump(exclude={"question", "rounds_max"})
    return Submission.model_validate(
        {**fields, "request": request.question, "user": user.model_dump(), "limits": {**request.limits, **rounds}}
    )
