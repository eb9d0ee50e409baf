"""Versioned documents in Redis: one list a document, its versions in order."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Final

from vardy_worker.ports import Document, DocumentPage
from vardy_worker.store.codec import dump_json
from vardy_worker.store.connection import translated
from vardy_worker.store.cursor import names_of_page
from vardy_worker.store.keys import Keys
from vardy_worker.store.redis_audit import AuditWriter, until_unmoved
from vardy_worker.store.scripts import Scripts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redis import Redis

    from vardy_worker.contracts.audit import AuditNote
    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.store.scripts import Arg

RECEIPT_MS: Final = 600_000


class RedisDocuments:
    """The `Documents` port. Raises `StoreUnavailable`."""

    def __init__(self, client: Redis, namespace: str, *, replicas: int = 0) -> None:
        """`replicas`: how many replicas must have a document before it counts as stored."""
        self._client = client
        self._keys = Keys(namespace)
        self._scripts = Scripts(client, replicas=replicas)
        self._audit = AuditWriter(client, self._keys)

    def get(self, collection: str, name: str) -> Document | None:
        """See `Documents.get`."""
        return next(iter(self._newest(collection, [name])), None)

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
        token = secrets.token_urlsafe(12)
        return self.send_put(collection, name, value, token, expect_version=expect_version, audit=audit)

    def send_put(
        self,
        collection: str,
        name: str,
        value: JsonObject,
        token: str,
        *,
        expect_version: int | None = None,
        audit: Sequence[AuditNote] = (),
    ) -> Document | None:
        """One sending of a `put`; every sending with the same token has the same effect once."""
        keys = [self._keys.document(collection, name), self._keys.collection(collection), self._keys.receipt(token)]
        expected = "" if expect_version is None else expect_version
        args: list[Arg] = [name, dump_json(value), expected, RECEIPT_MS]

        def send() -> int:
            entries = self._audit.of_document(keys[0], audit)
            reply = self._scripts.run_safely("put_document", [*keys, *entries.keys], [*args, entries.arg], fsync=False)
            return int(reply)

        version = until_unmoved(send, lambda reply: reply < 0)
        return Document(name=name, version=version, value=value) if version else None

    def versions(self, collection: str, name: str, *, after: int = 0, limit: int | None = None) -> Sequence[Document]:
        """See `Documents.versions`."""
        end = -1 if limit is None else after + limit - 1
        with translated():
            stored: list[bytes] = self._client.lrange(self._keys.document(collection, name), after, end)  # type: ignore[assignment] # no text decoding is asked for
        return [Document(name, version, json.loads(text)) for version, text in enumerate(stored, start=after + 1)]

    def all(self, collection: str) -> Sequence[Document]:
        """See `Documents.all`."""
        return self._newest(collection, sorted(self._names(collection)))

    def page(self, collection: str, *, after: str, limit: int) -> DocumentPage:
        """See `Documents.page`."""
        names, last = names_of_page(self._names(collection), after=after, limit=limit)
        return DocumentPage(self._newest(collection, names), last)

    def _names(self, collection: str) -> list[str]:
        with translated():
            names = self._client.smembers(self._keys.collection(collection))
        return [name.decode() for name in names]  # type: ignore[union-attr] # the same

    def delete(self, collection: str, name: str, *, audit: Sequence[AuditNote] = ()) -> bool:
        """See `Documents.delete`."""
        return self.send_delete(collection, name, secrets.token_urlsafe(12), audit=audit)

    def send_delete(self, collection: str, name: str, token: str, *, audit: Sequence[AuditNote] = ()) -> bool:
        """One sending of a `delete`; every sending with the same token has the same effect once."""
        keys = [self._keys.document(collection, name), self._keys.collection(collection), self._keys.receipt(token)]

        def send() -> int:
            entries = self._audit.of_document(keys[0], audit, deleted=True)
            args: list[Arg] = [name, RECEIPT_MS, entries.arg]
            return int(self._scripts.run_safely("delete_document", [*keys, *entries.keys], args, fsync=False))

        return bool(until_unmoved(send, lambda reply: reply < 0))

    def _newest(self, collection: str, names: Sequence[str]) -> list[Document]:
        with translated():
            # One transaction, so that a version and its number belong together.
            pipe = self._client.pipeline(transaction=True)
            for name in names:
                pipe.llen(self._keys.document(collection, name))
                pipe.lindex(self._keys.document(collection, name), -1)
            replies = pipe.execute()
        found = zip(names, replies[::2], replies[1::2], strict=True)
        return [Document(name, version, json.loads(text)) for name, version, text in found if version]
