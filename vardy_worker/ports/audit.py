"""The audit trail, to be read, checked and trimmed. It is written only with the changes that it tells of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.audit import AuditFilter, AuditPage
    from vardy_worker.contracts.audit_chain import Head


@dataclass(frozen=True, slots=True)
class ChainPart:
    """Entries of one chain in order, as they are stored, seen at one moment.

    `before` is the entry that the first of them must follow: the one asked for, or the
    anchor, the last one that was trimmed, where that is newer. `head` is what the store
    knows to be the newest entry. `is_last`: no entry follows these. `is_known`: the chain is
    among the names of chains.
    """

    before: Head
    lines: tuple[bytes, ...]
    head: Head
    is_last: bool
    is_known: bool


@dataclass(frozen=True, slots=True)
class LogLine:
    """One entry as it is stored. `place` is its place among all entries, opaque and in order of recording."""

    place: str
    line: bytes


@dataclass(frozen=True, slots=True)
class LogPart:
    """Some of all entries. `after` is the place to go on after, and `is_last` that nothing is there by now."""

    lines: tuple[LogLine, ...]
    after: str
    is_last: bool


class AuditTrail(Protocol):
    """Chains of entries. Raises `StoreUnavailable`, and `RequestError` `cursor.invalid` for a wrong cursor or place."""

    def page(self, where: AuditFilter, *, cursor: str | None, limit: int) -> AuditPage:
        """A page of entries, newest first. It may be short; only `next` says whether it was the last.

        Costs the same however many entries there are, unless a filter matches few of many.
        """

    def log(self, *, after: str, limit: int) -> LogPart:
        """Up to `limit` entries after a place ("" is the beginning), in order of recording."""

    def chains(self, *, after: str, limit: int) -> Sequence[str]:
        """Names of chains after the given one, in their order."""

    def count(self) -> int:
        """How many chains there are."""

    def chain(self, chain: str, *, after: Head, limit: int) -> ChainPart:
        """Entries of one chain after a known one."""

    def trim(self, *, older_than_ms: int, limit: int) -> int:
        """Removes up to `limit` entries recorded longer ago than this, by the server's clock; returns how many.

        What a chain went on from stays, as long as there are later entries or its job is
        there, so that the rest can still be checked.
        """

    def trimmed_before_ms(self) -> int:
        """Entries recorded before this time may be missing: they were trimmed. 0 when none ever was."""
