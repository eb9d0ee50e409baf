"""Jobs in Redis: one hash a job, indexes beside it, and a script for every change."""

from __future__ import annotations

import contextlib
import json
import secrets
import time
from typing import TYPE_CHECKING, Any, Final, cast

from vardy_worker.contracts.errors import StoreUnavailable
from vardy_worker.contracts.job import SCHEMA, ConsoleRecord
from vardy_worker.contracts.journal import JournalEntry
from vardy_worker.contracts.quota import QuotaOf, RateExceeded
from vardy_worker.contracts.status import Status
from vardy_worker.logs import get_logger
from vardy_worker.ports import (
    KEEP,
    Change,
    Changed,
    Claimed,
    Conflict,
    DueJob,
    KeyReused,
    Missing,
    NotClaimed,
    Replayed,
    Seen,
    Submitted,
)
from vardy_worker.store.codec import (
    LIVE,
    decode_event,
    decode_record,
    dump_json,
    encode_changes,
    encode_event,
    encode_record,
    require_moves,
    submit_indexes,
)
from vardy_worker.store.connection import translated
from vardy_worker.store.events import event_place, tells_status
from vardy_worker.store.keys import Keys, status_index
from vardy_worker.store.redis_accounts import RedisAccounts
from vardy_worker.store.redis_audit import AuditWriter, until_unmoved
from vardy_worker.store.redis_due import RedisDue
from vardy_worker.store.redis_erasure import RedisErasure
from vardy_worker.store.redis_listing import RedisListing
from vardy_worker.store.redis_totals import RedisTotals
from vardy_worker.store.scripts import NotReplicated, Scripts
from vardy_worker.store.seen import LOOK_FIELDS, decode_seen
from vardy_worker.store.totals import KEEP_MS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redis import Redis

    from vardy_worker.contracts.audit import AuditNote
    from vardy_worker.contracts.events import Event
    from vardy_worker.contracts.job import JobFilter, JobPage, JobRecord
    from vardy_worker.contracts.quota import QuotaExceeded, Used
    from vardy_worker.contracts.totals import CountedPlan, EffectTotals
    from vardy_worker.ports import IdempotencyClaim
    from vardy_worker.store.scripts import Arg

PATIENCE_PAUSE_SECONDS: Final = 0.25
"""Pause before a change is sent again to a server that is away."""
RECEIPTS_BYTES: Final = 512
"""How much of a record its receipts may take: about twenty changes."""

log = get_logger(__name__)


class RedisJobStore:
    """The `JobStore` port on Redis or Valkey.

    Costs one round trip a call, except `rebuild_due` (see `RedisDue`) and `list_jobs` (see
    `RedisListing`). Beyond the port's errors, `get` raises
    `RecordTooNew`.
    """

    def __init__(self, client: Redis, namespace: str, *, replicas: int = 0, patience_seconds: float = 0) -> None:
        """`replicas`: how many replicas must have a submission, claim or change before it counts.

        `patience_seconds`: how long a change waits for a server that is away.
        """
        self._patience_seconds = patience_seconds
        self._client = client
        self._keys = Keys(namespace)
        self._scripts = Scripts(client, replicas=replicas)
        self._audit = AuditWriter(client, self._keys)
        self._erasure = RedisErasure(client, self._keys, self._scripts, self._audit)
        self._due = RedisDue(self._keys, self._scripts)
        self._listing = RedisListing(self._keys, self._scripts)
        self._totals = RedisTotals(client, self._keys, self._scripts, self._audit)
        self._accounts = RedisAccounts(self._keys, self._scripts)
        self._job_prefix = self._keys.job("")

    @property
    def fsync(self) -> bool | None:
        """Whether durable changes wait for the append-only file; None before the first."""
        return self._scripts.fsync

    def submit(
        self,
        record: JobRecord,
        claim: IdempotencyClaim | None,
        *,
        due_at_ms: int,
        per_minute: int = 0,
        audit: Sequence[AuditNote] = (),
    ) -> Submitted | Replayed | KeyReused | QuotaExceeded | RateExceeded:
        """See `JobStore.submit`."""
        if record.status is not Status.QUEUED:
            msg = f"a new job is QUEUED, not {record.status}"
            raise ValueError(msg)
        indexes = submit_indexes(record)
        args: list[Arg] = [
            record.id,
            self._keys.index_prefix,
            record.created_at_ms,
            due_at_ms,
            claim.body_sha256 if claim else "",
            claim.keep_seconds * 1000 if claim else 0,
            self._job_prefix,
            *self._accounts.of_submission(record),
            per_minute,
            len(indexes),
            *indexes,
        ]
        for field, value in encode_record(record).items():
            args += (field, value)
        claim_key = self._keys.idempotency(claim.scope, claim.key) if claim else ""
        entries = self._audit.of_new_job(record.id, audit)
        bucket = self._keys.rate(QuotaOf.USER, record.submission.user.id)
        own_keys = [self._keys.job(record.id), self._keys.due, claim_key, self._keys.events(record.id), bucket]
        submit_keys = [*own_keys, *entries.keys]
        outcome, *told = self._scripts.run_safely("submit", submit_keys, [*args, entries.arg], fsync=False)
        if outcome == b"exceeded":
            return self._accounts.refusal(record, *told)
        if outcome == b"limited":
            return RateExceeded(of=QuotaOf.USER, maximum=per_minute, wait_ms=told[0])
        kinds: dict[bytes, type[Submitted | Replayed | KeyReused]] = {
            b"submitted": Submitted,
            b"replayed": Replayed,
            b"key_reused": KeyReused,
        }
        return kinds[outcome](told[0].decode())

    def submitted_under(self, claim: IdempotencyClaim) -> Replayed | KeyReused | None:
        """See `JobStore.submitted_under`."""
        with translated():
            fields = self._client.hmget(self._keys.idempotency(claim.scope, claim.key), ["job_id", "body"])
        job_id, body = cast("list[bytes | None]", fields)
        if job_id is None or body is None or self.version(job_id.decode()) is None:
            return None
        return (Replayed if body.decode() == claim.body_sha256 else KeyReused)(job_id.decode())

    def get(self, job_id: str) -> JobRecord | None:
        """See `JobStore.get`."""
        with translated():
            pipe = self._client.pipeline(transaction=True)
            pipe.hgetall(self._keys.job(job_id))
            pipe.hgetall(self._keys.effects(job_id))
            fields, effects = pipe.execute()
        if not fields:
            return None
        return _record(fields, effects)

    def version(self, job_id: str) -> tuple[int, Status] | None:
        """See `JobStore.version`."""
        with translated():
            version, status = cast(
                "list[bytes | None]", self._client.hmget(self._keys.job(job_id), ["version", "status"])
            )
        if version is None or status is None:
            return None
        return int(version), _status(status)

    def look(self, job_ids: Sequence[str]) -> Mapping[str, Seen | None]:
        """See `JobStore.look`."""
        with translated():
            # As a transaction, so that no event is counted of a status that was not seen yet, nor the reverse.
            pipe = self._client.pipeline(transaction=True)
            for job_id in job_ids:
                pipe.hmget(self._keys.job(job_id), LOOK_FIELDS)
                pipe.llen(self._keys.events(job_id))
            replies = pipe.execute()
        seen = map(decode_seen, replies[::2], replies[1::2])
        return dict(zip(job_ids, seen, strict=True))

    def change(self, change: Change) -> Changed | Conflict | Missing:
        """See `JobStore.change`. While the server is away, the same sending is repeated for `patience_seconds`."""
        token = secrets.token_hex(8)
        give_up_at = time.monotonic() + self._patience_seconds
        waits = False
        while True:
            try:
                return self.send_change(change, token)
            except StoreUnavailable as error:
                if time.monotonic() >= give_up_at:
                    raise
                if not waits:
                    log.warning("store.waiting", job_id=change.job_id, reason=error.message)
                waits = True
                time.sleep(PATIENCE_PAUSE_SECONDS)

    def send_change(self, change: Change, token: str) -> Changed | Conflict | Missing:
        """One sending of a change; every sending with the same token has the same effect once."""
        require_moves(change.expect_status, change.to)
        job_id = change.job_id
        keys = [
            *self._keys.whole_job(job_id),
            self._keys.due,
            self._keys.expiring,
            self._keys.expiring_indexes,
            self._keys.corrections(change.correction.user) if change.correction else "",
            self._keys.totals(change.correction.user) if change.correction else "",
        ]
        args = self._change_args(change, token)

        def send() -> list[Any]:
            entries = self._audit.of_job(job_id, change.audit, change.to)
            return self._scripts.run_safely(  # type: ignore[no-any-return] # a script's reply
                "change", [*keys, *entries.keys], [*args, entries.arg], fsync=change.durable
            )

        return _changed(until_unmoved(send, lambda answer: answer[0] == b"moved"))

    def _change_args(self, change: Change, token: str) -> list[Arg]:
        fields = encode_changes(change.set)
        args: list[Arg] = [
            token,
            change.job_id,
            self._keys.index_prefix,
            self._keys.changed,
            _expected(change.expect_status),
            change.to or "",
            "" if change.expect_fence is None else change.expect_fence,
            "" if change.expect_version is None else change.expect_version,
            _due_arg(change),
            "1" if change.release else "",
            _retain_arg(change),
            RECEIPTS_BYTES,
            "1" if change.unless_cancel_requested else "",
            len(fields),
            len(change.effects),
            len(change.journal),
            len(change.events),
            change.correction.model_dump_json().encode() if change.correction else "",
            KEEP_MS,
            change.correction.era if change.correction else "",
            "1" if tells_status(change) else "",
            *self._accounts.of_change(change),
        ]
        for field, value in fields.items():
            args += (field, value)
        for effect in change.effects:
            args += (effect.seq, effect.model_dump_json().encode())
        args += [entry.model_dump_json().encode() for entry in change.journal]
        args += [encode_event(event) for event in change.events]
        return args

    def claim(
        self, job_id: str, *, expect: frozenset[Status], to: Status, worker: str, lease_ms: int
    ) -> Claimed | NotClaimed:
        """See `JobStore.claim`. Reasons: `missing`, `schema`, `status`, `leased`, `not_due`."""
        token = secrets.token_hex(8)
        return self.send_claim(job_id, token, expect=expect, to=to, worker=worker, lease_ms=lease_ms)

    def send_claim(
        self, job_id: str, token: str, *, expect: frozenset[Status], to: Status, worker: str, lease_ms: int
    ) -> Claimed | NotClaimed:
        """One sending of a claim; every sending with the same token has the same effect once."""
        require_moves(expect, to)
        args: list[Arg] = [
            token,
            job_id,
            self._keys.index_prefix,
            self._keys.changed,
            _expected(expect),
            to,
            dump_json(worker),
            lease_ms,
            SCHEMA,
        ]
        keys = [self._keys.job(job_id), self._keys.effects(job_id), self._keys.events(job_id), self._keys.due]
        try:
            reply = self._scripts.run_safely("claim", keys, args, fsync=False)
        except NotReplicated as error:
            self._give_back(job_id, to, error.reply)
            raise
        if reply[0] == b"claimed":
            return Claimed(_record(_hash(reply[2]), _hash(reply[3])))
        return NotClaimed(reason=reply[1].decode())

    def _give_back(self, job_id: str, status: Status, reply: Sequence[Any]) -> None:
        """Undoes a claim that too few replicas have: kept, it would count as a worker that was lost."""
        if reply[0] == b"claimed":
            given_back = Change(job_id, frozenset({status}), expect_fence=reply[1], release=True)
            with contextlib.suppress(NotReplicated):
                self.send_change(given_back, secrets.token_hex(8))

    def heartbeat(self, job_id: str, *, fence: int, lease_ms: int) -> bool:
        """See `JobStore.heartbeat`."""
        keys = [self._keys.job(job_id), self._keys.due]
        return bool(self._scripts.run("heartbeat", keys, [job_id, fence, lease_ms]))

    def request_cancel(self, job_id: str, *, by: str, audit: Sequence[AuditNote] = ()) -> bool:
        """See `JobStore.request_cancel`."""
        keys = [self._keys.job(job_id), self._keys.events(job_id), self._keys.due]

        def send() -> int:
            entries = self._audit.of_mark(job_id, audit)
            args: list[Arg] = [job_id, self._keys.changed, dump_json(by), entries.arg]
            return int(self._scripts.run("request_cancel", [*keys, *entries.keys], args))

        return bool(until_unmoved(send, lambda answer: answer < 0))

    def erase(
        self, job_id: str, *, expect_version: int, at_ms: int, audit: Sequence[AuditNote] = ()
    ) -> Changed | Conflict | Missing:
        """See `JobStore.erase`."""
        token = secrets.token_hex(8)
        return self.send_erasure(job_id, token, expect_version=expect_version, at_ms=at_ms, audit=audit)

    def send_erasure(
        self, job_id: str, token: str, *, expect_version: int, at_ms: int, audit: Sequence[AuditNote] = ()
    ) -> Changed | Conflict | Missing:
        """One sending of an erasure; every sending with the same token has the same effect once."""
        return _changed(self._erasure.send(job_id, token, expect_version=expect_version, at_ms=at_ms, audit=audit))

    def take_due(self, *, limit: int, hide_ms: int, hide_queued_ms: int | None = None) -> Sequence[DueJob]:
        """See `JobStore.take_due`."""
        return self._due.take(limit=limit, hide_ms=hide_ms, hide_queued_ms=hide_queued_ms)

    def rebuild_due(self, *, grace_ms: int, every_ms: int = 0, limit: int | None = None) -> int:
        """See `JobStore.rebuild_due`. Also drops the index entries of jobs that have expired."""
        return self._due.rebuild(grace_ms=grace_ms, every_ms=every_ms, limit=limit)

    def list_jobs(self, where: JobFilter, *, cursor: str | None, limit: int) -> JobPage:
        """See `JobStore.list_jobs`. A page may be short; only `next` says whether it was the last."""
        return self._listing.page(where, cursor=cursor, limit=limit)

    def journal(self, job_id: str) -> Sequence[JournalEntry]:
        """See `JobStore.journal`."""
        with translated():
            lines: list[bytes] = self._client.lrange(self._keys.journal(job_id), 0, -1)  # type: ignore[assignment] # no text decoding is asked for
        return [JournalEntry.model_validate_json(line) for line in lines]

    def events(self, job_id: str, *, after: str = "", limit: int = 1000) -> Sequence[Event]:
        """See `JobStore.events`. Raises `RequestError` `cursor.invalid` for an id that is none."""
        first = event_place(after)
        with translated():
            stored: list[bytes] = self._client.lrange(self._keys.events(job_id), first, first + limit - 1)  # type: ignore[assignment] # the same
        return [decode_event(first + offset + 1, line) for offset, line in enumerate(stored)]

    def put_console(self, job_id: str, console: ConsoleRecord) -> None:
        """See `JobStore.put_console`."""
        keys = [self._keys.job(job_id), self._keys.console(job_id)]
        self._scripts.run("put_console", keys, [console.model_dump_json().encode()])

    def console(self, job_id: str) -> ConsoleRecord | None:
        """See `JobStore.console`."""
        with translated():
            stored = self._client.get(self._keys.console(job_id))
        return None if stored is None else ConsoleRecord.model_validate_json(stored)

    def counts(self) -> Mapping[Status, int]:
        """See `JobStore.counts`."""
        indexes = {status: self._keys.index(status_index(status)) for status in Status}
        sizes = self._scripts.sizes(list(indexes.values()))
        return {status: sizes[key] for status, key in indexes.items()}

    def count_plan(self, job: JobRecord, *, fence: int, totals: EffectTotals, window_hours: int) -> CountedPlan | None:
        """See `JobStore.count_plan`."""
        return self._totals.count(job, fence=fence, totals=totals, window_hours=window_hours)

    def user_totals(self, user: str, *, window_hours: int, without: CountedPlan | None = None) -> EffectTotals:
        """See `JobStore.user_totals`."""
        return self._totals.read(user, window_hours=window_hours, plan=without).window(window_hours, without=without)

    def erase_user_totals(self, user: str, *, audit: Sequence[AuditNote] = ()) -> bool:
        """See `JobStore.erase_user_totals`."""
        return self._totals.erase(user, audit)

    def used(self, of: QuotaOf, id_: str) -> Used:
        """See `JobStore.used`."""
        return self._accounts.used(of, id_)

    def exceeded(self, job: JobRecord) -> QuotaExceeded | None:
        """See `JobStore.exceeded`."""
        return self._accounts.exceeded(job)

    def server_now_ms(self) -> int:
        """See `JobStore.server_now_ms`."""
        with translated():
            seconds, micros = self._client.time()
        return int(seconds) * 1000 + int(micros) // 1000

    def ping(self) -> None:
        """See `JobStore.ping`."""
        with translated():
            self._client.ping()


def _record(fields: Mapping[bytes, bytes], effects: Mapping[bytes, bytes]) -> JobRecord:
    """The record of a job's two hashes."""
    return decode_record(fields, [effects[seq] for seq in sorted(effects, key=int)])


def _hash(reply: Sequence[bytes]) -> dict[bytes, bytes]:
    """A hash as a script answers it: fields and values in turn."""
    return dict(zip(reply[::2], reply[1::2], strict=True))


def _changed(reply: list[Any]) -> Changed | Conflict | Missing:
    """The answer of a compare-and-set."""
    match reply[0]:
        case b"changed":
            return Changed(version=reply[1])
        case b"conflict":
            return Conflict(
                status=Status(reply[1].decode()),
                version=reply[2],
                fence=reply[3],
                cancel_requested_by=json.loads(reply[4]),
            )
        case _:
            return Missing()


def _expected(statuses: frozenset[Status]) -> str:
    return f"|{'|'.join(sorted(statuses))}|"


def _due_arg(change: Change) -> Arg:
    if change.due_at_ms is KEEP:
        return "keep"
    return "never" if change.due_at_ms is None else int(change.due_at_ms)


def _retain_arg(change: Change) -> Arg:
    if change.retain_seconds:
        return change.retain_seconds * 1000
    return "live" if change.retain_seconds == 0 or change.to in LIVE else ""


def _status(stored: bytes) -> Status:
    return Status(stored.decode().strip('"'))
