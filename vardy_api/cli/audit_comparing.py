"""Chains of the audit trail as exports have them: checked by themselves, and held against later entries. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from vardy_worker.contracts.audit_chain import ChainCheck, Head
from vardy_worker.contracts.base import Contract

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from vardy_worker.contracts.base import JsonObject

SKEW_MS: Final = 300_000
"""How far the clock that an entry was written by may be from the one that it was trimmed by."""

_REWRITTEN: Final = "it is another one than was exported; the chain was written anew"


class BrokenChain(Contract):
    """A chain that does not hold, from entry `n` on. `chain` is "" for a line that belongs to none."""

    chain: str
    n: int
    message: str


class AuditVerdict(Contract):
    """What a check found. `against` is the earlier export that was compared, "" without one."""

    source: str
    against: str = ""
    ok: bool
    chains: int
    entries: int
    erased: int
    broken: tuple[BrokenChain, ...] = ()


@dataclass(slots=True)
class Chains:
    """What is known of all chains by now: their checks by name, and what is broken."""

    checks: dict[str, ChainCheck] = field(default_factory=dict)
    newest_ms: dict[str, int] = field(default_factory=dict)
    broken: list[BrokenChain] = field(default_factory=list)
    entries: int = 0

    def add(self, fields: JsonObject | None, line: int) -> None:
        """Checks the next entry of an export."""
        chain = fields.get("chain") if fields else None
        if fields is None or not isinstance(chain, str):
            self.broken.append(BrokenChain(chain="", n=0, message=f"Line {line} is no entry of an audit trail."))
            return
        self.entries += 1
        check = self.checks.setdefault(chain, ChainCheck(chain, None))
        was_whole = check.broken is None
        broken = check.add(fields)
        if broken is None:
            at_ms = fields.get("at_ms")
            self.newest_ms[chain] = at_ms if isinstance(at_ms, int) else 0
        elif was_whole:
            self.broken.append(BrokenChain(chain=chain, **broken.model_dump()))

    def verdict(self, source: str, broken: Iterable[BrokenChain] = (), *, against: str = "") -> AuditVerdict:
        """The verdict on these chains, with what else is broken."""
        found = (*self.broken, *broken)
        return AuditVerdict(
            source=source,
            against=against,
            ok=not found,
            chains=len(self.checks),
            entries=self.entries,
            erased=sum(check.erased for check in self.checks.values()),
            broken=found,
        )


@dataclass(frozen=True, slots=True)
class Span:
    """What a check of a later trail says of a chain: its newest entry, and whether older ones are kept."""

    head: Head
    is_empty: bool


class Comparison:
    """Whether later entries still have what an earlier export has of each chain.

    The hash of the last entry that was exported stands for all before it, so one entry of
    each chain is compared. `look` at all later entries, then ask for the `faults`.
    """

    def __init__(self, earlier: Chains) -> None:
        self._earlier = earlier
        self._first: dict[str, tuple[int, str]] = {}
        self._last: dict[str, int] = {}
        self._is_same: dict[str, bool] = {}

    def look(self, fields: JsonObject | None) -> None:
        """Looks at the next of the later entries."""
        entry = fields or {}
        chain, n = entry.get("chain"), entry.get("n")
        check = self._earlier.checks.get(chain) if isinstance(chain, str) else None
        if check is None or check.head is None or type(n) is not int:
            return
        self._first.setdefault(check.chain, (n, str(entry.get("prev"))))
        self._last[check.chain] = n
        if n == check.head.n:
            self._is_same[check.chain] = entry.get("hash") == check.head.hash

    def faults(self, spans: Mapping[str, Span], *, trimmed_before_ms: int) -> Iterator[BrokenChain]:
        """The chains that were cut off or written anew since.

        `spans` is what else is known of the later chains. Entries from before
        `trimmed_before_ms` may be gone; 0 where nothing may.
        """
        for chain, check in self._earlier.checks.items():
            if check.head is None:
                continue
            message = self._fault(chain, check.head, spans.get(chain), trimmed_before_ms)
            if message:
                yield BrokenChain(chain=chain, n=check.head.n, message=f"Entry {check.head.n}: {message}.")

    def _fault(self, chain: str, head: Head, span: Span | None, trimmed_before_ms: int) -> str:
        if chain in self._is_same:
            return "" if self._is_same[chain] else _REWRITTEN
        follows = self._follows(chain, span)
        if follows is not None and follows.n == head.n:
            # Trimmed exactly up to here: what the rest goes on from tells the hash.
            return "" if follows == head else _REWRITTEN
        is_old = trimmed_before_ms > 0 and self._earlier.newest_ms[chain] < trimmed_before_ms + SKEW_MS
        if follows is None or follows.n > head.n:
            return "" if is_old else "it was exported and is gone, though it is too young to be trimmed"
        return f"it was exported and is gone: the chain ends at entry {self._last.get(chain, follows.n)}"

    def _follows(self, chain: str, span: Span | None) -> Head | None:
        """What the oldest of the later entries follows; None for a chain of which nothing is left."""
        first = self._first.get(chain)
        if first is not None:
            return Head(first[0] - 1, first[1])
        return span.head if span is not None and span.is_empty else None
