"""Rates in Redis: one string for each key and person that came within the last minute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vardy_worker.contracts.errors import StoreUnavailable
from vardy_worker.contracts.quota import QuotaOf, RateExceeded
from vardy_worker.documents import KEYS
from vardy_worker.ports import Outdated
from vardy_worker.store.codec import dump_json
from vardy_worker.store.keys import Keys
from vardy_worker.store.scripts import Scripts

if TYPE_CHECKING:
    from redis import Redis

    from vardy_worker.ports import Document

REFUSES_WRITES: Final = frozenset({"OOM", "MISCONF", "NOREPLICAS", "READONLY"})
"""Replies of a server that can be read, but takes no writes."""


class RedisRates:
    """The `Rates` port. One round trip."""

    def __init__(self, client: Redis, namespace: str) -> None:
        self._keys = Keys(namespace)
        self._scripts = Scripts(client)

    def take(self, of: QuotaOf, name: str, per_minute: int) -> RateExceeded | None:
        """See `Rates.take`. Counts twice where the reply of the first sending was lost."""
        try:
            wait_ms = int(self._scripts.run("take_request", [self._keys.rate(of, name)], [per_minute]))
        except StoreUnavailable as error:
            if error.details.get("reply") in REFUSES_WRITES:
                return None
            raise
        return RateExceeded(of=of, maximum=per_minute, wait_ms=wait_ms) if wait_ms else None

    def take_of_key(self, known: Document, per_minute: int) -> RateExceeded | Outdated | None:
        """See `Rates.take_of_key`. Counts twice where the reply of the first sending was lost."""
        keys = [self._keys.document(KEYS, known.name), self._keys.rate(QuotaOf.KEY, known.name)]
        try:
            # Its text and not its number: after a failover another version may have the number of a lost one.
            wait_ms = int(self._scripts.run("take_key_request", keys, [dump_json(known.value), per_minute]))
        except StoreUnavailable as error:
            if error.details.get("reply") in REFUSES_WRITES:
                return Outdated()
            raise
        if wait_ms < 0:
            return Outdated()
        return RateExceeded(of=QuotaOf.KEY, maximum=per_minute, wait_ms=wait_ms) if wait_ms else None
