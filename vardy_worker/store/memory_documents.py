"""Documents and worker presence in memory, for tests."""

from __future__ import annotations

import copy
import threading
from typing import TYPE_CHECKING

from vardy_worker.clock import SystemClock
from vardy_worker.contracts.audit import SETTINGS, AuditState
from vardy_worker.ports import Document, DocumentPage
from vardy_worker.store.cursor import names_of_page
from vardy_worker.store.memory_audit import MemoryAuditTrail

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vardy_worker.contracts.audit import AuditNote
    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.ports import Clock, WorkerSeen


class MemoryDocuments:
    """The `Documents` port without a server."""

    def __init__(self, audit: MemoryAuditTrail | None = None) -> None:
        """`audit` is where entries go; by default a trail of its own."""
        self.audit = audit or MemoryAuditTrail(SystemClock())
        self._lock = threading.Lock()
        self._stored: dict[tuple[str, str], list[JsonObject]] = {}

    def get(self, collection: str, name: str) -> Document | None:
        """See `Documents.get`."""
        versions = self.versions(collection, name)
        return versions[-1] if versions else None

    def put(
        self,
        collection: str,
        name: str,
        value: JsonObject,
        *,
        expect_version: int | None = None,
        audit: Sequence[AuditNote] = (),
    ) -> Document | None:
        """See `Documents.put`."""
        with self._lock:
            stored = self._stored.get((collection, name), [])
            if expect_version not in {None, len(stored)}:
                return None
            before, after = AuditState(version=len(stored)), AuditState(version=len(stored) + 1)
            self.audit.append(SETTINGS, audit, before=before, after=after)
            self._stored[collection, name] = [*stored, copy.deepcopy(value)]
            return Document(name=name, version=len(stored) + 1, value=value)

    def versions(self, collection: str, name: str, *, after: int = 0, limit: int | None = None) -> Sequence[Document]:
        """See `Documents.versions`."""
        with self._lock:
            stored = self._stored.get((collection, name), [])[after:][:limit]
            return [
                Document(name, number, copy.deepcopy(value)) for number, value in enumerate(stored, start=after + 1)
            ]

    def all(self, collection: str) -> Sequence[Document]:
        """See `Documents.all`."""
        return self._newest(collection, self._names(collection))

    def page(self, collection: str, *, after: str, limit: int) -> DocumentPage:
        """See `Documents.page`."""
        names, last = names_of_page(self._names(collection), after=after, limit=limit)
        return DocumentPage(self._newest(collection, names), last)

    def _names(self, collection: str) -> Sequence[str]:
        with self._lock:
            return [name for its_collection, name in self._stored if its_collection == collection]

    def _newest(self, collection: str, names: Iterable[str]) -> Sequence[Document]:
        return [document for name in sorted(names) if (document := self.get(collection, name))]

    def delete(self, collection: str, name: str, *, audit: Sequence[AuditNote] = ()) -> bool:
        """See `Documents.delete`."""
        with self._lock:
            stored = self._stored.pop((collection, name), None)
            if stored is not None:
                self.audit.append(SETTINGS, audit, before=AuditState(version=len(stored)), after=AuditState(version=0))
            return stored is not None


class MemoryPresence:
    """The `Presence` port without a server; the clock stands for the server's."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._stored: dict[str, tuple[WorkerSeen, int]] = {}

    def beat(self, worker: WorkerSeen, *, ttl_seconds: int) -> None:
        """See `Presence.beat`."""
        with self._lock:
            self._stored[worker.worker] = (worker, self._clock.now_ms() + ttl_seconds * 1000)

    def gone(self, worker: str) -> None:
        """See `Presence.gone`."""
        with self._lock:
            self._stored.pop(worker, None)

    def seen(self) -> Sequence[WorkerSeen]:
        """See `Presence.seen`."""
        with self._lock:
            now = self._clock.now_ms()
            self._stored = {name: (worker, until) for name, (worker, until) in self._stored.items() if until > now}
            return [self._stored[name][0] for name in sorted(self._stored)]
