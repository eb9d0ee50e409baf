"""The audit trail in memory, for tests: the semantics of `redis_audit`."""

from __future__ import annotations

import threading
from bisect import bisect_right
from typing import TYPE_CHECKING

from vardy_worker.contracts.audit import SETTINGS, AuditPage
from vardy_worker.contracts.audit_chain import START, Head, dump_entry, next_entries, parse_entry, without_text
from vardy_worker.ports.audit import ChainPart, LogLine, LogPart
from vardy_worker.store.audit_listing import matches, read_place, shown
from vardy_worker.store.cursor import make_cursor, read_cursor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vardy_worker.contracts.audit import AuditFilter, AuditNote, AuditState
    from vardy_worker.ports import Clock

Place = tuple[int, int]


class MemoryAuditTrail:
    """The `AuditTrail` port without a server, shared by the memory stores, which append to it under their own locks."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._chains: dict[str, list[bytes]] = {}
        self._heads: dict[str, Head] = {}
        self._anchors: dict[str, Head] = {}
        self._log: list[tuple[Place, str, int]] = []
        self._trimmed_before_ms = 0
        self.job_is_there: Callable[[str], bool] = lambda _job_id: False
        """Asked before a chain without entries is forgotten; the store of jobs sets it."""

    def append(
        self, chain: str, notes: Sequence[AuditNote], *, before: AuditState | None, after: AuditState | None
    ) -> None:
        """Appends the entries of a change that is being applied."""
        with self._lock:
            for entry in next_entries(chain, notes, self._heads.get(chain, START), before=before, after=after):
                self._chains.setdefault(chain, []).append(dump_entry(entry))
                self._heads[chain] = Head(entry["n"], entry["hash"])
                self._log.append((self._next_place(), chain, entry["n"]))

    def erase_texts(self, chain: str) -> None:
        """Takes what people typed out of the entries of a chain."""
        with self._lock:
            lines = self._chains.get(chain, [])
            for place, line in enumerate(lines):
                if (entry := parse_entry(line)) and (kept := without_text(entry)):
                    lines[place] = dump_entry(kept)

    def _next_place(self) -> Place:
        now_ms = self._clock.now_ms()
        last_ms, order = self._log[-1][0] if self._log else (0, 0)
        return (last_ms, order + 1) if now_ms <= last_ms else (now_ms, 0)

    def page(self, where: AuditFilter, *, cursor: str | None, limit: int) -> AuditPage:
        """See `AuditTrail.page`."""
        with self._lock:
            if where.chain is None:
                end = None if cursor is None else read_place("-".join(map(str, read_cursor(cursor))))
                places = [(place[0], str(place[1])) for place, _, _ in self._log]
                stored = [(place, self._line(chain, n)) for place, (_, chain, n) in zip(places, self._log, strict=True)]
            else:
                end = None if cursor is None else (read_cursor(cursor)[0], where.chain)
                first = self._anchors.get(where.chain, START).n + 1
                lines = self._chains.get(where.chain, [])
                stored = [((n, where.chain), line) for n, line in enumerate(lines, start=first)]
        found = [
            (place, entry)
            for place, line in reversed(stored)
            if (end is None or _order(place) < _order(end))
            and line
            and (entry := shown(line))
            and matches(entry, where)
        ]
        following = make_cursor(*found[limit - 1][0]) if len(found) > limit else None
        return AuditPage(items=tuple(entry for _, entry in found[:limit]), next=following)

    def _line(self, chain: str, n: int) -> bytes | None:
        at = n - self._anchors.get(chain, START).n - 1
        lines = self._chains.get(chain, [])
        return lines[at] if 0 <= at < len(lines) else None

    def log(self, *, after: str, limit: int) -> LogPart:
        """See `AuditTrail.log`."""
        with self._lock:
            first = 0
            if after:
                at_ms, order = read_place(after)
                first = bisect_right(self._log, (at_ms, int(order)), key=lambda logged: logged[0])
            stored = [(f"{at[0]}-{at[1]}", self._line(chain, n)) for at, chain, n in self._log[first : first + limit]]
        return LogPart(
            lines=tuple(LogLine(place, line) for place, line in stored if line is not None),
            after=stored[-1][0] if stored else after,
            is_last=len(stored) < limit,
        )

    def chains(self, *, after: str, limit: int) -> Sequence[str]:
        """See `AuditTrail.chains`."""
        with self._lock:
            return sorted(chain for chain in self._heads if chain > after)[:limit]

    def count(self) -> int:
        """See `AuditTrail.count`."""
        with self._lock:
            return len(self._heads)

    def chain(self, chain: str, *, after: Head, limit: int) -> ChainPart:
        """See `AuditTrail.chain`."""
        with self._lock:
            anchor = self._anchors.get(chain, START)
            before = after if after.n >= anchor.n and after.n else anchor
            lines = self._chains.get(chain, [])
            first = before.n - anchor.n
            return ChainPart(
                before=before,
                lines=tuple(lines[first : first + limit]),
                head=self._heads.get(chain, START),
                is_last=first + limit >= len(lines),
                is_known=chain in self._heads,
            )

    def trim(self, *, older_than_ms: int, limit: int) -> int:
        """See `AuditTrail.trim`."""
        with self._lock:
            before_ms = self._clock.now_ms() - older_than_ms
            old = [logged for logged in self._log if logged[0][0] < before_ms][:limit]
            for _, chain, n in old:
                self._trim_entry(chain, n)
            del self._log[: len(old)]
            if old:
                self._trimmed_before_ms = max(self._trimmed_before_ms, before_ms)
            return len(old)

    def _trim_entry(self, chain: str, n: int) -> None:
        lines = self._chains.get(chain, [])
        if lines and n > self._anchors.get(chain, START).n:
            entry = parse_entry(lines.pop(0)) or {}
            self._anchors[chain] = Head(n, str(entry.get("hash", "")))
        self._forget(chain)

    def forget_empty(self) -> None:
        """Forgets chains without entries, of jobs that are gone."""
        with self._lock:
            for chain in list(self._heads):
                self._forget(chain)

    def _forget(self, chain: str) -> None:
        if not self._chains.get(chain) and chain != SETTINGS and not self.job_is_there(chain):
            for kept in (self._chains, self._heads, self._anchors):
                kept.pop(chain, None)

    def trimmed_before_ms(self) -> int:
        """See `AuditTrail.trimmed_before_ms`."""
        with self._lock:
            return self._trimmed_before_ms


def _order(place: tuple[int, str]) -> tuple[int, int]:
    """Orders of one millisecond count as numbers; within one chain the number alone decides."""
    return place[0], int(place[1]) if place[1].isdigit() else 0
