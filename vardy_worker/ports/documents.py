"""Small versioned documents (rules, recipes, keys, the catalogue), live workers, and the feed of changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.audit import AuditNote
    from vardy_worker.contracts.base import JsonObject


@dataclass(frozen=True, slots=True)
class Document:
    """One version of a named JSON document; versions count from 1."""

    name: str
    version: int
    value: JsonObject


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Some documents of a collection, by name. The following page is what comes after the name `last`, if any."""

    items: Sequence[Document]
    last: str | None


class Documents(Protocol):
    """Named, versioned JSON documents in collections. Every version is kept until deletion."""

    def get(self, collection: str, name: str) -> Document | None:
        """The newest version."""

    def put(
        self,
        collection: str,
        name: str,
        value: JsonObject,
        *,
        expect_version: int | None = None,
        audit: Sequence[AuditNote] = (),
    ) -> Document | None:
        """Stores a new version; None when `expect_version` (0: must not exist) is not the newest.

        The audit entries are appended to the chain of settings in the same step, as in `delete`.
        """

    def versions(self, collection: str, name: str, *, after: int = 0, limit: int | None = None) -> Sequence[Document]:
        """The versions above `after`, oldest first: `limit` of them, or all."""

    def all(self, collection: str) -> Sequence[Document]:
        """The newest version of each, by name."""

    def page(self, collection: str, *, after: str, limit: int) -> DocumentPage:
        """The newest version of the first `limit` whose names come after `after`.

        Only their names are read of all others. A page is short where one was deleted meanwhile.
        """

    def delete(self, collection: str, name: str, *, audit: Sequence[AuditNote] = ()) -> bool:
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
    looked_at_ms: int | None = None
    """When its reconciler last looked for lost jobs, to the end; None before its first look."""


class Presence(Protocol):
    """Which workers are alive."""

    def beat(self, worker: WorkerSeen, *, ttl_seconds: int) -> None:
        """Says that the worker is alive for the next `ttl_seconds`."""

    def gone(self, worker: str) -> None:
        """Says that the worker stopped."""

    def seen(self) -> Sequence[WorkerSeen]:
        """The live ones."""
