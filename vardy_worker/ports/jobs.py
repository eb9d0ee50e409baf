"""The store of jobs: one compare-and-set for every change."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vardy_worker.contracts.audit import AuditNote
    from vardy_worker.contracts.events import Event
    from vardy_worker.contracts.job import ConsoleRecord, JobFilter, JobPage, JobRecord
    from vardy_worker.contracts.journal import EffectRecord, JournalEntry
    from vardy_worker.contracts.quota import QuotaExceeded, QuotaOf, RateExceeded, Used
    from vardy_worker.contracts.status import Status
    from vardy_worker.contracts.totals import CountedPlan, EffectTotals, TotalsCorrection


class Keep(Enum):
    """The default of fields that a change leaves alone."""

    KEEP = "keep"


KEEP = Keep.KEEP


@dataclass(frozen=True, slots=True)
class Change:
    """One compare-and-set on a job: all of it happens, or nothing.

    It applies only while the status is one of `expect_status`, and, where given, the
    fence and version match. `to` must be reachable from each expected status by the
    transition table; where no event of the change tells of a new status, the store adds
    one that does. `set` names fields of `JobRecord` (never those that the store keeps
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
    audit: Sequence[AuditNote] = ()
    """Entries of the audit trail, appended to the job's chain in the same step."""
    correction: TotalsCorrection | None = None
    """Corrects the requester's totals in the same step."""


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

    job: JobRecord
    """As the claim left it, so that whoever works on it need not read it."""

    @property
    def fence(self) -> int:
        """Of this claim; a later one has a higher one."""
        return self.job.fence

    @property
    def deliveries(self) -> int:
        """How many claims there were since the job moved on by itself, this one included."""
        return self.job.deliveries


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


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look tells of a job."""

    version: int
    status: Status
    events: int
    """How many events it has; the id of the newest one."""
    is_over: bool
    """Whether nothing can become of it any more: not even an operator can requeue it."""


class JobStore(Protocol):
    """Jobs. Every state change is one compare-and-set, safe to send twice.

    Raises `StoreUnavailable` when the server cannot be reached or refuses to write.
    """

    def submit(
        self,
        record: JobRecord,
        claim: IdempotencyClaim | None,
        *,
        due_at_ms: int,
        per_minute: int = 0,
        audit: Sequence[AuditNote] = (),
    ) -> Submitted | Replayed | KeyReused | QuotaExceeded | RateExceeded:
        """Stores a new `QUEUED` job, its first event, index entries, due time and audit entries, in one step.

        Unless one of its `quotas` is reached, those of a day for a job that can ask a model; or
        so many jobs of a minute were submitted for its person, where `per_minute` is not 0; see
        `Rates`. An idempotency key that was used before comes first.
        """

    def submitted_under(self, claim: IdempotencyClaim) -> Replayed | KeyReused | None:
        """What `submit` would answer for a key that was used before; None for one that was not."""

    def get(self, job_id: str) -> JobRecord | None:
        """The whole record."""

    def version(self, job_id: str) -> tuple[int, Status] | None:
        """Just the version and status, cheaply."""

    def look(self, job_ids: Sequence[str]) -> Mapping[str, Seen | None]:
        """The state of many jobs in one round trip, each as of one moment; None for one that is not there."""

    def change(self, change: Change) -> Changed | Conflict | Missing:
        """Applies a compare-and-set."""

    def claim(
        self, job_id: str, *, expect: frozenset[Status], to: Status, worker: str, lease_ms: int
    ) -> Claimed | NotClaimed:
        """Takes the job if its status is expected, no lease is live, and it is due.

        Increments fence and deliveries; the due time becomes the end of the lease.
        Leases go by the server's clock. A record that cannot be read raises as in `get`, and
        is claimed all the same: its deliveries are counted.
        """

    def heartbeat(self, job_id: str, *, fence: int, lease_ms: int) -> bool:
        """Prolongs the lease; False when the fence is no longer the newest."""

    def request_cancel(self, job_id: str, *, by: str, audit: Sequence[AuditNote] = ()) -> bool:
        """Marks a `COMMITTING` job; whoever holds it stops before the next effect. False for any other job.

        One that nobody holds, because it waits for its next try, is due at once. Only the
        first mark appends the audit entries.
        """

    def erase(
        self, job_id: str, *, expect_version: int, at_ms: int, audit: Sequence[AuditNote] = ()
    ) -> Changed | Conflict | Missing:
        """Puts what may stay of a job (`contracts.erasure`) into the place of all that is stored of it.

        With it go the console, and in the audit trail what people typed about this job; a
        console that comes later is not kept. Raises `ValueError` for a job of which
        something can still become.
        """

    def take_due(self, *, limit: int, hide_ms: int, hide_queued_ms: int | None = None) -> Sequence[DueJob]:
        """Jobs that are due by the server's clock; each is hidden from other copies for `hide_ms`.

        `QUEUED` ones are hidden for `hide_queued_ms` where it is given.
        """

    def rebuild_due(self, *, grace_ms: int, every_ms: int = 0, limit: int | None = None) -> int:
        """Adds a due time to live jobs that have none; returns how many were found.

        With a `limit`, about so many jobs are looked at, and the next call of any copy goes on
        from there. A new pass begins no earlier than `every_ms` after the end of the last one.
        """

    def list_jobs(self, where: JobFilter, *, cursor: str | None, limit: int) -> JobPage:
        """A page of summaries, newest first. Raises `RequestError` `cursor.invalid`."""

    def journal(self, job_id: str) -> Sequence[JournalEntry]:
        """The commit journal, oldest first."""

    def events(self, job_id: str, *, after: str = "", limit: int = 1000) -> Sequence[Event]:
        """Events after the given id, oldest first."""

    def put_console(self, job_id: str, console: ConsoleRecord) -> None:
        """Keeps what a program printed; nothing for a job that is gone or was erased."""

    def console(self, job_id: str) -> ConsoleRecord | None:
        """What a program printed."""

    def counts(self) -> Mapping[Status, int]:
        """Jobs kept, by status; costs the same however many there are. Expired ones may linger a little."""

    def count_plan(self, job: JobRecord, *, fence: int, totals: EffectTotals, window_hours: int) -> CountedPlan | None:
        """Adds a plan to its requester's totals and notes that in the job, in one step.

        Answers what is noted, with what the requester's other plans had done before; where
        nobody asks for that, 0 hours cost least. A plan that was counted for this commit
        already is not counted again; one that was counted for an earlier commit is moved to
        the present hour. None when the job is not `COMMITTING` under this fence any more.
        """

    def user_totals(self, user: str, *, window_hours: int, without: CountedPlan | None = None) -> EffectTotals:
        """What a user's plans of the last hours did, without one of them.

        The oldest hour counts whole. Costs the same however many plans there were.
        """

    def erase_user_totals(self, user: str, *, audit: Sequence[AuditNote] = ()) -> bool:
        """Forgets what a user's plans did and what the user spent; False when nothing was known.

        Then nothing is noted. Plans under way are not corrected later. The audit entries are appended to the chain of
        settings in the same step.
        """

    def used(self, of: QuotaOf, id_: str) -> Used:
        """What a key or a person uses: unsettled jobs, tokens and money since the day began.

        A change that writes a job's `usage` adds what is new in it, in the same step, to the
        day of its key and to that of its person.
        """

    def exceeded(self, job: JobRecord) -> QuotaExceeded | None:
        """The ceiling of a day that leaves nothing for another call of a model; None when none does.

        What `job.usage` says beyond what was written counts, too. A job without such a
        ceiling costs no round trip.
        """

    def server_now_ms(self) -> int:
        """The server's clock."""

    def ping(self) -> None:
        """Raises `StoreUnavailable` when the server does not answer."""
