"""The audit trail in Redis: one list a chain, and one stream that has all entries in order of recording.

Entries are appended by the scripts that make the changes they tell of (`lua/include/audit`).
Their hashes are made here, for a head and a state that were read before; a script that finds
others refuses, and the entries are made again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from vardy_worker.contracts.audit import SETTINGS, AuditEntry, AuditPage, AuditState
from vardy_worker.contracts.audit_chain import START, Head, dump_entry, next_entries
from vardy_worker.contracts.errors import StoreUnavailable
from vardy_worker.contracts.status import Status
from vardy_worker.ports.audit import ChainPart, LogLine, LogPart
from vardy_worker.store.audit_listing import log_place, matches, place_after, read_place, shown
from vardy_worker.store.connection import translated
from vardy_worker.store.cursor import make_cursor, read_cursor
from vardy_worker.store.keys import Keys
from vardy_worker.store.scripts import Scripts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redis import Redis

    from vardy_worker.contracts.audit import AuditFilter, AuditNote
    from vardy_worker.store.scripts import Arg

T = TypeVar("T")

TRIES_MAX: Final = 200
"""How often entries are made again because another writer's came first."""

SCAN_BATCH: Final = 200
"""Entries looked at by one script call: about a millisecond of the server's time."""

SCAN_MAX: Final = 10_000
"""Entries looked at for one page. Where a filter matches few of them, the page ends short after
these, with a cursor to go on."""

SKEW_MS: Final = 300_000
"""How far the clock of who wrote an entry may be from the server's."""


@dataclass(frozen=True, slots=True)
class AuditPart:
    """What a script gets for the entries that it appends: its last keys and its last argument."""

    keys: tuple[str, str, str, str]
    arg: bytes


class AuditWriter:
    """Makes the entries of changes, for the scripts to append."""

    def __init__(self, client: Redis, keys: Keys) -> None:
        self._client = client
        self._keys = keys

    def nothing(self) -> AuditPart:
        """The part of a change without entries."""
        return AuditPart(self._chain_keys(""), b"")

    def of_new_job(self, job_id: str, notes: Sequence[AuditNote]) -> AuditPart:
        """The part of a submission: the first entries of a chain."""
        after = AuditState(status=Status.QUEUED, version=1)
        return self._part(job_id, notes, START, state="", before=None, after=after)

    def of_job(self, job_id: str, notes: Sequence[AuditNote], to: Status | None) -> AuditPart:
        """The part of a change, made for the job as it is now."""
        if not notes:
            return self.nothing()
        head, before = self._look(job_id)
        after = AuditState(status=to or before.status, version=before.version + 1)
        state = f"{before.status} {before.version}"
        return self._part(job_id, notes, head, state=state, before=before, after=after)

    def of_mark(self, job_id: str, notes: Sequence[AuditNote]) -> AuditPart:
        """The part of a mark that leaves status and version as they are."""
        if not notes:
            return self.nothing()
        head, seen = self._look(job_id)
        return self._part(job_id, notes, head, state=str(seen.status), before=seen, after=seen)

    def of_document(self, document: str, notes: Sequence[AuditNote], *, deleted: bool = False) -> AuditPart:
        """The part of a change of a document, whose key is given."""
        if not notes:
            return self.nothing()
        with translated():
            pipe = self._client.pipeline(transaction=True)
            pipe.hget(self._keys.audit_heads, SETTINGS)
            pipe.llen(document)
            head, version = pipe.execute()
        after = AuditState(version=0 if deleted else version + 1)
        before = AuditState(version=version)
        return self._part(SETTINGS, notes, read_head(head), state=str(version), before=before, after=after)

    def of_settings(self, notes: Sequence[AuditNote]) -> AuditPart:
        """The part of a change in the chain of settings of what has no versions."""
        if not notes:
            return self.nothing()
        with translated():
            head = cast("bytes | None", self._client.hget(self._keys.audit_heads, SETTINGS))
        return self._part(SETTINGS, notes, read_head(head), state="", before=None, after=None)

    def _look(self, job_id: str) -> tuple[Head, AuditState]:
        with translated():
            pipe = self._client.pipeline(transaction=True)
            pipe.hget(self._keys.audit_heads, job_id)
            pipe.hmget(self._keys.job(job_id), ["status", "version"])
            head, (status, version) = pipe.execute()
        # Of a job that is not there the script says so itself.
        known = AuditState(status=Status(json.loads(status)), version=int(version)) if status else AuditState(version=0)
        return read_head(head), known

    def _part(
        self,
        chain: str,
        notes: Sequence[AuditNote],
        head: Head,
        *,
        state: str,
        before: AuditState | None,
        after: AuditState | None,
    ) -> AuditPart:
        entries = next_entries(chain, notes, head, before=before, after=after)
        if not entries:
            return self.nothing()
        last = entries[-1]
        part = {
            "chain": chain,
            "head": f"{head.n} {head.hash}" if head.n else "",
            "state": state,
            "entries": [dump_entry(entry).decode() for entry in entries],
            "n": head.n + 1,
            "next": f"{last['n']} {last['hash']}",
        }
        return AuditPart(self._chain_keys(chain), json.dumps(part, ensure_ascii=False).encode())

    def _chain_keys(self, chain: str) -> tuple[str, str, str, str]:
        keys = self._keys
        return (keys.audit_chain(chain), keys.audit_heads, keys.audit_chains, keys.audit_log)


def until_unmoved(send: Callable[[], T], has_moved: Callable[[T], bool]) -> T:
    """The reply of a change whose entries still fitted when it was applied, made again until they do."""
    for _ in range(TRIES_MAX):
        reply = send()
        if not has_moved(reply):
            return reply
    msg = "Too many changes want to be noted in the audit trail at once; try again shortly."
    raise StoreUnavailable(msg, details={"tries": TRIES_MAX})


def read_head(stored: bytes | None) -> Head:
    """A head or an anchor as stored; the start of the chain without one."""
    if not stored:
        return START
    n, _, digest = stored.decode().partition(" ")
    return Head(int(n), digest)


class RedisAuditTrail:
    """The `AuditTrail` port. One round trip a call, except filters that match few entries."""

    def __init__(self, client: Redis, namespace: str) -> None:
        self._client = client
        self._keys = Keys(namespace)
        self._scripts = Scripts(client)

    def page(self, where: AuditFilter, *, cursor: str | None, limit: int) -> AuditPage:
        """See `AuditTrail.page`."""
        if where.chain is not None:
            return self._chain_page(where.chain, where, cursor=cursor, limit=limit)
        to = "+" if where.before_ms is None else str(max(0, where.before_ms + SKEW_MS))
        if cursor is not None:
            to = f"({log_place(*read_cursor(cursor))}"
        since = "-" if where.after_ms is None else str(max(0, where.after_ms - SKEW_MS))
        needles = [f'"{name}":{json.dumps(value, ensure_ascii=False)}'.encode() for name, value in _equal(where)]
        items: list[AuditEntry] = []
        scanned = 0
        while len(items) < limit and scanned < SCAN_MAX:
            args: list[Arg] = ["backwards", to, since, limit - len(items), SCAN_BATCH, *needles]
            last, looked_at, rows = self._log(args)
            items += [entry for _, line in rows if (entry := shown(line)) and matches(entry, where)]
            scanned += looked_at
            if not last:
                return AuditPage(items=tuple(items))
            to = f"({last}"
        return AuditPage(items=tuple(items), next=make_cursor(*read_place(to[1:])))

    def _chain_page(self, chain: str, where: AuditFilter, *, cursor: str | None, limit: int) -> AuditPage:
        with translated():
            pipe = self._client.pipeline(transaction=True)
            pipe.hget(self._keys.audit_anchors, chain)
            pipe.llen(self._keys.audit_chain(chain))
            anchor, length = pipe.execute()
        trimmed = read_head(anchor).n
        before = trimmed + length + 1 if cursor is None else min(read_cursor(cursor)[0], trimmed + length + 1)
        items: list[AuditEntry] = []
        scanned = 0
        while len(items) < limit and scanned < SCAN_MAX and before > trimmed + 1:
            last = before - trimmed - 2
            first = max(0, last - min(SCAN_BATCH, max(limit, 100)) + 1)
            with translated():
                lines = cast("list[bytes]", self._client.lrange(self._keys.audit_chain(chain), first, last))
            for line in reversed(lines):
                if len(items) == limit:
                    break
                before -= 1
                scanned += 1
                if (entry := shown(line)) and matches(entry, where):
                    items.append(entry)
            if not lines:
                break
        following = make_cursor(before, chain) if before > trimmed + 1 else None
        return AuditPage(items=tuple(items), next=following)

    def log(self, *, after: str, limit: int) -> LogPart:
        """See `AuditTrail.log`."""
        last, _, rows = self._log(["forwards", place_after(after), "+", limit, limit])
        lines = tuple(LogLine(place.decode(), line) for place, line in rows)
        return LogPart(lines=lines, after=last or (lines[-1].place if lines else after), is_last=not last)

    def _log(self, args: list[Arg]) -> tuple[str, int, list[Any]]:
        keys = [self._keys.audit_log, self._keys.audit_anchors]
        last, scanned, rows = self._scripts.run("read_audit_log", keys, [self._keys.audit_chain(""), *args])
        return last.decode(), scanned, rows

    def chains(self, *, after: str, limit: int) -> Sequence[str]:
        """See `AuditTrail.chains`."""
        since = f"({after}" if after else "-"
        with translated():
            names = cast(
                "list[bytes]", self._client.zrangebylex(self._keys.audit_chains, since, "+", start=0, num=limit)
            )
        return [name.decode() for name in names]

    def count(self) -> int:
        """See `AuditTrail.count`."""
        with translated():
            return self._client.zcard(self._keys.audit_chains)

    def chain(self, chain: str, *, after: Head, limit: int) -> ChainPart:
        """See `AuditTrail.chain`."""
        keys = [
            self._keys.audit_chain(chain),
            self._keys.audit_heads,
            self._keys.audit_anchors,
            self._keys.audit_chains,
        ]
        reply = self._scripts.run("read_audit_chain", keys, [chain, after.n, limit])
        head, anchor, before, left, is_known, lines = reply
        return ChainPart(
            before=after if before == after.n and after.n else read_head(anchor),
            lines=tuple(lines),
            head=read_head(head),
            is_last=left == 0,
            is_known=bool(is_known),
        )

    def trim(self, *, older_than_ms: int, limit: int) -> int:
        """See `AuditTrail.trim`."""
        keys = [
            self._keys.audit_log,
            self._keys.audit_heads,
            self._keys.audit_anchors,
            self._keys.audit_chains,
            self._keys.audit_trimmed,
        ]
        args: list[Arg] = [self._keys.audit_chain(""), self._keys.job(""), older_than_ms, limit, SETTINGS]
        return int(self._scripts.run("trim_audit", keys, args))

    def trimmed_before_ms(self) -> int:
        """See `AuditTrail.trimmed_before_ms`."""
        with translated():
            return int(cast("bytes | None", self._client.get(self._keys.audit_trimmed)) or 0)


def _equal(where: AuditFilter) -> list[tuple[str, str]]:
    """The parts of a filter that an entry must hold as they are."""
    return [(name, value) for name, value in (("by", where.by), ("action", where.action)) if value is not None]
