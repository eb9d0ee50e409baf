"""The ports: what the stages and use cases need of the outside, small enough to fake in 50 lines.

All are synchronous: the worker runs each job in a thread, and the API calls the store
in its thread pool. Only `ChangeFeed` is asynchronous, so that waiting costs no thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vardy_worker.contracts.base import JsonObject, JsonValue
    from vardy_worker.contracts.events import Event
    from vardy_worker.contracts.execution import (
        CallReply,
        GuestCall,
        Ref,
        SandboxOutcome,
        SandboxRun,
    )
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.job import (
        ConsoleRecord,
        JobFilter,
        JobPage,
        JobRecord,
        QueueName,
    )
    from vardy_worker.contracts.journal import EffectRecord, JournalEntry
    from vardy_worker.contracts.model import ModelReply, ModelRequest
    from vardy_worker.contracts.plan import PlanBody
    from vardy_worker.contracts.policy import PolicyResult, RuleSet
    from vardy_worker.contracts.user import User


class Clock(Protocol):
    """Wall and monotonic time, so that tests can stand still."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds that never go back."""


# --- the store of jobs -------------------------------------------------------------------


class Keep(Enum):
    """The default of fields that a change leaves alone."""

    KEEP = "keep"


KEEP = Keep.KEEP


@dataclass(frozen=True, slots=True)
class Change:
    """One compare-and-set on a job: all of it happens, or nothing.

    It applies only while the status is one of `expect_status`, and, where given, the
    fence and version match. `to` must be reachable from each expected status by the
    transition table. `set` names fields of `JobRecord` (never those that the store keeps
    itself: id, version, fence, deliveries, lease_until_ms, worker, status).
    """

    job_id: str
    expect_status: frozenset[Status]
    to: Status | None = None
    expect_fence: int | None = None
    expect_version: int | None = None
    set: Mapping[str, Any] = field(default_factory=dict)
    effects: Sequence[EffectRecord] = ()
    journal: Sequence[JournalEntry] = ()
    events: Sequence[Event] = ()
    due_at_ms: int | Keep | None = KEEP
    """When the reconciler must look at the job again; None: never."""
    release: bool = False
    """Gives the lease back and forgets the deliveries: the job moved on by itself."""
    retain_seconds: int | None = None
    """Lets the whole job expire after this time; 0 keeps it for good, None leaves it as it is."""
    unless_cancel_requested: bool = False
    """Refuses the change (`Conflict`) when a cancel was requested."""
    durable: bool = False
    """Waits until the server has written the change to its append-only file, where it can."""


@dataclass(frozen=True, slots=True)
class Changed:
    """The change was applied; the job has this version now."""

    version: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """Nothing was changed: the job is in this state instead."""

    status: Status
    version: int
    fence: int
    cancel_requested_by: str = ""


@dataclass(frozen=True, slots=True)
class Missing:
    """There is no such job."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """The caller holds the job until its lease ends; `fence` goes into every change."""

    fence: int
    deliveries: int


@dataclass(frozen=True, slots=True)
class NotClaimed:
    """Somebody else holds it, it is not due yet, or it is in another status."""

    reason: str


@dataclass(frozen=True, slots=True)
class Submitted:
    """The job was stored, durable before this was returned."""

    job_id: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """The idempotency key was used before with the same body: this is that job."""

    job_id: str


@dataclass(frozen=True, slots=True)
class KeyReused:
    """The idempotency key was used before with another body."""

    job_id: str


@dataclass(frozen=True, slots=True)
class IdempotencyClaim:
    """A caller's Idempotency-Key: `scope` is the key's owner, `body_sha256` of the body."""

    scope: str
    key: str
    body_sha256: str
    keep_seconds: int = 86_400


@dataclass(frozen=True, slots=True)
class DueJob:
    """A job whose due time has passed."""

    job_id: str
    status: Status
    deliveries: int
    created_at_ms: int


class JobStore(Protocol):
    """Jobs. Every state change is one compare-and-set, safe to send twice.

    Raises `StoreUnavailable` when the server cannot be reached or refuses to write.
    """

    def submit(
        self, record: JobRecord, claim: IdempotencyClaim | None, *, due_at_ms: int
    ) -> Submitted | Replayed | KeyReused:
        """Stores a new `QUEUED` job, its index entries and its due time, in one step."""

    def submitted_under(self, claim: IdempotencyClaim) -> Replayed | KeyReused | None:
        """What `submit` would answer for a key that was used before; None for one that was not."""

    def get(self, job_id: str) -> JobRecord | None:
        """The whole record."""

    def version(self, job_id: str) -> tuple[int, Status] | None:
        """Just the version and status, cheaply."""

    def change(self, change: Change) -> Changed | Conflict | Missing:
        """Applies a compare-and-set."""

    def claim(
        self, job_id: str, *, expect: frozenset[Status], to: Status, worker: str, lease_ms: int
    ) -> Claimed | NotClaimed:
        """Takes the job if its status is expected, no lease is live, and it is due.

        Increments fence and deliveries; the due time becomes the end of the lease.
        Leases go by the server's clock.
        """

    def heartbeat(self, job_id: str, *, fence: int, lease_ms: int) -> bool:
        """Prolongs the lease; False when the fence is no longer the newest."""

    def request_cancel(self, job_id: str, *, by: str) -> bool:
        """Marks a `RUNNING` or `COMMITTING` job; whoever holds it stops at the next safe point.

        One that nobody holds, because it waits for its next try, is due at once.
        """

    def take_due(self, *, limit: int, hide_ms: int, hide_queued_ms: int | None = None) -> Sequence[DueJob]:
        """Jobs that are due by the server's clock; each is hidden from other copies for `hide_ms`.

        `QUEUED` ones are hidden for `hide_queued_ms` where it is given.
        """

    def rebuild_due(self, *, grace_ms: int) -> int:
        """Adds a due time to live jobs that have none; returns how many were found."""

    def list_jobs(self, where: JobFilter, *, cursor: str | None, limit: int) -> JobPage:
        """A page of summaries, newest first. Raises `RequestError` `cursor.invalid`."""

    def journal(self, job_id: str) -> Sequence[JournalEntry]:
        """The commit journal, oldest first."""

    def events(self, job_id: str, *, after: str = "", limit: int = 1000) -> Sequence[Event]:
        """Events after the given id, oldest first."""

    def put_console(self, job_id: str, console: ConsoleRecord) -> None:
        """Keeps what a program printed."""

    def console(self, job_id: str) -> ConsoleRecord | None:
        """What a program printed."""

    def counts(self) -> Mapping[Status, int]:
        """Jobs kept, by status; costs the same however many there are. Expired ones may linger a little."""

    def server_now_ms(self) -> int:
        """The server's clock."""

    def ping(self) -> None:
        """Raises `StoreUnavailable` when the server does not answer."""


# --- small versioned documents: rules, recipes, keys, the catalogue ----------------------


@dataclass(frozen=True, slots=True)
class Document:
    """One version of a named JSON document; versions count from 1."""

    name: str
    version: int
    value: JsonObject


class Documents(Protocol):
    """Named, versioned JSON documents in collections. Every version is kept until deletion."""

    def get(self, collection: str, name: str) -> Document | None:
        """The newest version."""

    def put(
        self, collection: str, name: str, value: JsonObject, *, expect_version: int | None = None
    ) -> Document | None:
        """Stores a new version; None when `expect_version` (0: must not exist) is not the newest."""

    def versions(self, collection: str, name: str) -> Sequence[Document]:
        """All versions, oldest first."""

    def all(self, collection: str) -> Sequence[Document]:
        """The newest version of each, by name."""

    def delete(self, collection: str, name: str) -> bool:
        """Deletes all versions; False when there were none."""


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """One live worker process."""

    worker: str
    queues: tuple[str, ...]
    started_at_ms: int
    seen_at_ms: int
    confined: bool | None = None
    """Whether its sandbox children run under a filter of system calls; None where none has started."""


class Presence(Protocol):
    """Which workers are alive."""

    def beat(self, worker: WorkerSeen, *, ttl_seconds: int) -> None:
        """Says that the worker is alive for the next `ttl_seconds`."""

    def gone(self, worker: str) -> None:
        """Says that the worker stopped."""

    def seen(self) -> Sequence[WorkerSeen]:
        """The live ones."""


class ChangeFeed(Protocol):
    """Wakes coroutines when a job changes. A hint only: callers read the store after it."""

    async def wait(self, job_id: str, timeout_seconds: float) -> bool:
        """Returns True soon after the next change of the job, False after the time."""


# --- the queue ----------------------------------------------------------------------------


class Queue(Protocol):
    """Tells workers that a job exists. Messages carry ids only and may be lost or repeated."""

    def publish(self, queue: QueueName, job_id: str) -> None:
        """Raises `QueueUnavailable`; the reconciler publishes again."""

    def depth(self, queue: QueueName) -> int:
        """Messages waiting."""

    def oldest_published_ms(self, queue: QueueName) -> int | None:
        """When the oldest waiting message was published; None when the queue is empty."""


# --- the parts of the pipeline --------------------------------------------------------------


class Model(Protocol):
    """A language model."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Raises `ModelUnavailable` (after retries and fallbacks) or `ModelRejected`."""


class Sandbox(Protocol):
    """Runs programs in child processes."""

    def run(self, run: SandboxRun, handle: Callable[[Sequence[GuestCall]], Sequence[CallReply]]) -> SandboxOutcome:
        """Runs one program to its end, never longer than its deadline plus a margin.

        `handle` gets the calls of one tick, in call order, and returns their replies in the
        same order; it runs in the caller's thread. It may raise `StopProgram`. Time spent
        in it counts against the deadline; it is never interrupted, so it must bound itself.
        Raises `SettingsError` when no child can be started on this machine.
        """

    def close(self) -> None:
        """Ends every child."""


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """One call of a company's function. `args` as in the plan, references resolved."""

    function: str
    args: JsonObject
    job_id: str
    user: User
    idempotency_key: str = ""
    attempt: int = 1
    approved_by: tuple[User, ...] = ()


@dataclass(frozen=True, slots=True)
class CallOk:
    """The function returned; `value` is its serialised result (integers of any size)."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class CallFailed:
    """`FunctionError`: definitely not applied."""

    message: str
    retryable: bool = False
    retry_after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class CallUnknown:
    """It crashed, timed out after it began, or its result does not fit: the outcome is unknown.

    `code` is `function.crashed`, `function.timeout`, `function.bad_result` or
    `function.result_too_large`; `correlation_id` stands in the operator's log with the exception.
    """

    code: str
    message: str
    correlation_id: str


CallOutcome = CallOk | CallFailed | CallUnknown


@dataclass(frozen=True, slots=True)
class BadArguments:
    """Arguments that do not fit; `problems` are `{"at": pointer, "message": …, "expected": …}`, without values."""

    problems: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class GoodArguments:
    """Validated arguments in canonical JSON form (big integers as decimal strings)."""

    args: JsonObject


class FunctionHost(Protocol):
    """The company's functions, running in this process."""

    @property
    def exhausted(self) -> bool:
        """So many calls were given up and never ended that the process should be replaced."""

    def catalogue(self) -> Catalogue:
        """What is registered."""

    def check(
        self, function: str, args: JsonValue, refs: Sequence[Ref], *, effects: Sequence[str] = ()
    ) -> GoodArguments | BadArguments:
        """Validates the arguments of one call, as far as references let it.

        `effects` are the functions of the earlier effects, by position, whose result
        schemas the references are checked against.
        """

    def call_many(
        self, calls: Sequence[FunctionCall], *, deadline: float, in_flight_max: int, result_bytes_max: int
    ) -> Sequence[CallOutcome]:
        """Calls concurrently and returns outcomes in order, by `deadline` (monotonic seconds)."""

    def start(self) -> None:
        """Runs the company's start hooks."""

    def stop(self) -> None:
        """Runs the company's stop hooks; waits for calls under way, within reason."""


class RuleEngine(Protocol):
    """Evaluates rules over a plan."""

    def load(self, text: str, catalogue: Catalogue) -> RuleSet:
        """Parses and type-checks a rules file; raises `RulesError` with line and reason."""

    def evaluate(self, rules: RuleSet, plan: PlanBody, facts: PlanFacts) -> PolicyResult:
        """The verdict of each effect; whatever cannot be evaluated blocks."""


@dataclass(frozen=True, slots=True)
class UserWindow:
    """What the requester's earlier plans of a time window did, without the plan at hand.

    `counts` are effects by function, `sums` totals by function and numeric argument; what
    is not named is zero.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    sums: Mapping[str, Mapping[str, int | float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """What rules may look at beside the plan."""

    user: User
    params: JsonObject
    mode: str
    catalogue: Catalogue
    recipe_name: str = ""
    recipe_within_envelope: bool = False
    user_window: UserWindow = field(default_factory=UserWindow)
