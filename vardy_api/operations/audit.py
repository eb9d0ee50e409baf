"""The audit trail: listed, exported, checked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from vardy_api.shapes import ChainCheckView, TrailCheckPage
from vardy_worker.contracts.audit import SETTINGS, SETTINGS_ACTIONS
from vardy_worker.contracts.audit_chain import START, BrokenEntry, ChainCheck, Head, parse_entry
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.user import Scope
from vardy_worker.contracts.view import moment
from vardy_worker.store.cursor import make_cursor, read_cursor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vardy_api.operations.caller import Caller
    from vardy_worker.contracts.audit import AuditFilter, AuditPage
    from vardy_worker.ports import AuditTrail, Clock, LogLine, LogPart

EXPORT_BATCH: Final = 1000
"""Entries read at once; each batch is one round trip."""

ENTRIES_MAX: Final = 2**31
"""More than any chain has."""

CHECK_BATCH: Final = 500
CHECK_ENTRIES_MAX: Final = 5000
"""Entries checked for one request: about half a second. A longer chain goes on in the next one."""


class AuditOperations:
    """The use cases around the audit trail. All need the scope `admin` or `operate`."""

    def __init__(self, trail: AuditTrail, clock: Clock, *, keep_seconds: int) -> None:
        self._trail = trail
        self._clock = clock
        self._keep_seconds = keep_seconds

    def page(self, caller: Caller, where: AuditFilter, *, cursor: str | None, limit: int) -> AuditPage:
        """A page of entries, newest first. Raises `auth.scope`, `cursor.invalid`."""
        caller.need(Scope.ADMIN, Scope.OPERATE)
        if where.chain is None and where.action in SETTINGS_ACTIONS:
            where = where.model_copy(update={"chain": SETTINGS})
        return self._trail.page(where, cursor=cursor, limit=limit)

    def export(self, caller: Caller, *, after: str, limit: int | None = None) -> Iterator[Sequence[LogLine]]:
        """Batches of entries in order of recording, up to `limit` or what was there when the last was read.

        Raises `auth.scope`, `cursor.invalid`; both before the first batch is asked for.
        """
        caller.need(Scope.ADMIN, Scope.OPERATE)
        return self._batches(self._trail.log(after=after, limit=_batch(limit)), limit)

    def _batches(self, part: LogPart, limit: int | None) -> Iterator[Sequence[LogLine]]:
        left = limit
        while True:
            yield part.lines
            left = None if left is None else left - len(part.lines)
            if part.is_last or left == 0:
                return
            part = self._trail.log(after=part.after, limit=_batch(left))

    def check(self, caller: Caller, *, chain: str | None, cursor: str | None, limit: int) -> TrailCheckPage:
        """Checks up to `limit` chains, by name, or one alone; goes on where the page before ended.

        Raises `auth.scope`, `cursor.invalid`, and `audit.not_found` for a chain that there is not.
        """
        caller.need(Scope.ADMIN, Scope.OPERATE)
        walk = _Walk(self._trail, cursor)
        items: list[ChainCheckView] = []
        while len(items) < limit and walk.budget > 0:
            name = walk.next_chain(chain)
            if name is None:
                walk.done = True
                break
            if (checked := walk.check(name)) is not None:
                items.append(checked)
            if chain is not None and walk.open is None:
                walk.done = True
                break
        if chain is not None and not items and walk.done:
            message = f"The audit trail has no chain {chain[:60]!r}."
            raise RequestError(message, code="audit.not_found", details={"chain": chain[:60]})
        return TrailCheckPage(
            items=tuple(items),
            next=None if walk.done else walk.cursor(),
            chains=self._trail.count(),
            trimmed_before=moment(self._trimmed_before_ms() or None),
        )

    def _trimmed_before_ms(self) -> int:
        """What the trail says was trimmed, as far as its age allows: who takes entries out may change that, too."""
        oldest_kept_ms = self._clock.now_ms() - self._keep_seconds * 1000
        return max(0, min(self._trail.trimmed_before_ms(), oldest_kept_ms))


class _Walk:
    """A check of chain after chain, over several requests: the cursor is how far it came."""

    def __init__(self, trail: AuditTrail, cursor: str | None) -> None:
        self._trail = trail
        self._after = ""
        self._names: list[str] = []
        self.open: ChainCheck | None = None
        self.budget = CHECK_ENTRIES_MAX
        self.done = False
        if cursor is not None:
            self._resume(cursor)

    def cursor(self) -> str:
        """Where the next request goes on."""
        check = self.open
        if check is None or check.head is None:
            return make_cursor(0, json.dumps([self._after]))
        return make_cursor(
            check.head.n, json.dumps([self._after, check.chain, check.head.hash, check.first, check.erased])
        )

    def _resume(self, cursor: str) -> None:
        n, rest = read_cursor(cursor)
        try:
            state = json.loads(rest)
        except ValueError:
            state = None
        match state:
            case [str(after)]:
                self._after = after
            case [str(after), str(chain), str(digest), int() | None as first, int(erased)] if 0 < n <= ENTRIES_MAX:
                self._after = after
                self.open = ChainCheck(chain, Head(n, digest))
                self.open.first, self.open.erased = first, erased
            case _:
                raise RequestError("The cursor is not one of a check.", code="cursor.invalid")

    def next_chain(self, only: str | None) -> str | None:
        """The chain to check now; None when there is none left."""
        if self.open is not None:
            return self.open.chain
        if only is not None:
            return only
        if not self._names:
            self._names = list(self._trail.chains(after=self._after, limit=CHECK_BATCH))
        return self._names.pop(0) if self._names else None

    def check(self, name: str) -> ChainCheckView | None:
        """What a chain comes to; None while it is not at its end, or when it was forgotten meanwhile."""
        check = self.open or ChainCheck(name, START)
        while self.budget > 0:
            part = self._trail.chain(name, after=check.head or START, limit=CHECK_BATCH)
            if not part.is_known and part.head == START and not part.lines:
                self._leave(name)
                return None
            # The anchor moves on where entries are trimmed meanwhile.
            check.head = part.before
            for line in part.lines:
                check.add(parse_entry(line))
            self.budget -= len(part.lines) or 1
            if part.is_last or check.broken is not None:
                if check.broken is None:
                    check.ends_at(part.head)
                if check.broken is None and part.head == START:
                    check.broken = BrokenEntry(n=1, message="Entry 1: it is missing; the chain is known by name only.")
                self._leave(name)
                return _view(check)
        self.open = check
        return None

    def _leave(self, name: str) -> None:
        self._after, self.open = name, None


def _batch(limit: int | None) -> int:
    return EXPORT_BATCH if limit is None else min(limit, EXPORT_BATCH)


def _view(check: ChainCheck) -> ChainCheckView:
    head = check.head or START
    return ChainCheckView(
        chain=check.chain,
        ok=check.broken is None,
        first=check.first,
        last=head.n,
        head=head.hash,
        erased=check.erased,
        broken=check.broken,
    )
