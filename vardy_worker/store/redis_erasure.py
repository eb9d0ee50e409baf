"""Erasing what a job holds, in Redis: read, made into what may stay, and put in its place by one script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vardy_worker.contracts.audit_chain import dump_entry, parse_entry, without_text
from vardy_worker.contracts.erasure import erased_entry, erased_event, erased_record
from vardy_worker.contracts.journal import JournalEntry
from vardy_worker.store.codec import (
    decode_event,
    decode_record,
    encode_event,
    encode_record,
    record_indexes,
    require_erasable,
)
from vardy_worker.store.connection import translated
from vardy_worker.store.redis_audit import until_unmoved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redis import Redis

    from vardy_worker.contracts.audit import AuditNote
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.store.keys import Keys
    from vardy_worker.store.redis_audit import AuditWriter
    from vardy_worker.store.scripts import Arg, Scripts


class RedisErasure:
    """`JobStore.erase`. Two round trips, and as many again whenever the audit trail moved meanwhile."""

    def __init__(self, client: Redis, keys: Keys, scripts: Scripts, audit: AuditWriter) -> None:
        self._client = client
        self._keys = keys
        self._scripts = scripts
        self._audit = audit

    def send(
        self, job_id: str, token: str, *, expect_version: int, at_ms: int, audit: Sequence[AuditNote]
    ) -> list[Any]:
        """The reply of `lua/erase`; every sending with the same token has the same effect once."""
        keys = [
            *self._keys.whole_job(job_id),
            self._keys.expiring_indexes,
            self._keys.audit_anchors,
        ]

        def send() -> list[Any]:
            entries = self._audit.of_job(job_id, audit, None)
            args: list[Arg] = [token, job_id, self._keys.index_prefix, self._keys.changed, expect_version]
            args += [*self._rest(job_id, expect_version, at_ms), entries.arg]
            own_chain = (self._keys.audit_chain(job_id), *entries.keys[1:])
            return self._scripts.run_safely(  # type: ignore[no-any-return] # a script's reply
                "erase", [*keys, *own_chain], args, fsync=True
            )

        return until_unmoved(send, lambda answer: answer[0] == b"moved")

    def _rest(self, job_id: str, expect_version: int, at_ms: int) -> list[Arg]:
        """What stays, as the script takes it; nothing where the job is another one by now, which the script refuses."""
        with translated():
            pipe = self._client.pipeline(transaction=True)
            pipe.hgetall(self._keys.job(job_id))
            pipe.hgetall(self._keys.effects(job_id))
            pipe.lrange(self._keys.journal(job_id), 0, -1)
            pipe.lrange(self._keys.events(job_id), 0, -1)
            pipe.lrange(self._keys.audit_chain(job_id), 0, -1)
            fields, effects, journal, events, chain = pipe.execute()
        job = decode_record(fields, [effects[seq] for seq in sorted(effects, key=int)]) if fields else None
        if job is None or job.version != expect_version:
            return [0] * 7
        require_erasable(job)
        return _arguments(job, erased_record(job, at_ms=at_ms), journal, events, chain)


def _arguments(
    job: JobRecord, left: JobRecord, journal: Sequence[bytes], events: Sequence[bytes], chain: Sequence[bytes]
) -> list[Arg]:
    fields = encode_record(left)
    texts = [
        (entry["n"], dump_entry(kept))
        for line in chain
        if (entry := parse_entry(line)) and (kept := without_text(entry))
    ]
    before, after = set(record_indexes(job)), set(record_indexes(left))
    args: list[Arg] = [
        len(fields),
        len(left.effects),
        len(journal),
        len(events),
        len(texts),
        len(before - after),
        len(after - before),
    ]
    for field, value in fields.items():
        args += (field, value)
    for effect in left.effects:
        args += (effect.seq, effect.model_dump_json().encode())
    args += [erased_entry(JournalEntry.model_validate_json(line)).model_dump_json().encode() for line in journal]
    args += [encode_event(erased_event(decode_event(place, line))) for place, line in enumerate(events, start=1)]
    for number, line in texts:
        args += (number, line)
    return [*args, *sorted(before - after), *sorted(after - before)]
