"""What keys and people may use: rates, ceilings, refusals, and what is used of them."""

from __future__ import annotations

import math
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from vardy_api.shapes import UsageShare, UsageView
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.quota import DAY_SECONDS, QuotaExceeded, QuotaOf, Quotas, RateExceeded
from vardy_worker.contracts.user import Scope
from vardy_worker.logs import get_logger
from vardy_worker.ports import Outdated

if TYPE_CHECKING:
    from vardy_api.operations.authentication import Recalled
    from vardy_api.operations.caller import Caller
    from vardy_api.operations.keys import KeyOperations
    from vardy_worker.contracts.quota import Quota
    from vardy_worker.contracts.user import ApiKey
    from vardy_worker.ports import Clock, JobStore, Rates

log = get_logger(__name__)

RATE: Final = "requests_per_minute"
DAY_MS: Final = DAY_SECONDS * 1000
MINUTE_MS: Final = 60_000

SEES_EVERYBODY: Final = frozenset({Scope.OPERATE, Scope.ADMIN})

_RATE_SENTENCES: Final = {
    QuotaOf.KEY: "The API key may send {maximum} requests a minute; the next is served in {seconds} s.",
    QuotaOf.USER: "For one person {maximum} jobs a minute may be submitted; the next is taken in {seconds} s.",
}


class QuotaOperations:
    """The use cases around ceilings. `deployment` holds for people, and for keys without ceilings of their own."""

    def __init__(self, rates: Rates, store: JobStore, keys: KeyOperations, clock: Clock, *, deployment: Quotas) -> None:
        self._rates = rates
        self._store = store
        self._keys = keys
        self._clock = clock
        self._deployment = deployment
        self._lock = threading.Lock()
        self._minute = 0
        self._logged: set[tuple[str, QuotaOf, str]] = set()

    def admit(self, caller: Caller) -> None:
        """Counts one request of the key. Raises `RequestError` `rate.limited`."""
        per_minute = self._of_key(caller.key).requests_per_minute
        refused = self._rates.take(QuotaOf.KEY, caller.key.id, per_minute) if per_minute else None
        if refused is not None:
            raise self.refusal(caller, refused)

    def admit_recalled(self, recalled: Recalled) -> bool:
        """As `admit`, if the key is still what is remembered of it.

        False where it is not, where the key has no rate, and where the store cannot count: nothing was counted.
        """
        per_minute = self._of_key(recalled.caller.key).requests_per_minute
        if not per_minute:
            return False
        match self._rates.take_of_key(recalled.document, per_minute):
            case RateExceeded() as refused:
                raise self.refusal(recalled.caller, refused)
            case Outdated():
                return False
            case None:
                return True

    def of(self, caller: Caller) -> Quotas:
        """What a job that the caller submits is submitted under."""
        return Quotas(key=self._of_key(caller.key), user=self._deployment.user)

    def _of_key(self, key: ApiKey) -> Quota:
        return key.quota.over(self._deployment.key)

    def refusal(self, caller: Caller, why: RateExceeded | QuotaExceeded) -> RequestError:
        """The problem, `rate.limited` or `quota.exceeded`; logged once a minute for a key and limit."""
        limit = RATE if isinstance(why, RateExceeded) else why.limit
        self._log(caller, why.of, limit)
        if isinstance(why, QuotaExceeded):
            return RequestError(
                f"{why.sentence} The job was not taken.", code="quota.exceeded", details=why.model_dump(mode="json")
            )
        seconds = math.ceil(why.wait_ms / 1000)
        return RequestError(
            _RATE_SENTENCES[why.of].format(maximum=why.maximum, seconds=seconds),
            code="rate.limited",
            details={"of": why.of.value, "limit": RATE, "maximum": why.maximum, "retry_after_seconds": seconds},
        )

    def _log(self, caller: Caller, of: QuotaOf, limit: str) -> None:
        """Whoever is refused may come very often, and the log is not to be filled by it."""
        minute, line = self._clock.now_ms() // MINUTE_MS, (caller.key.id, of, limit)
        with self._lock:
            if minute != self._minute:
                self._minute = minute
                self._logged.clear()
            if line in self._logged:
                return
            self._logged.add(line)
        log.warning("quota.refused", key_id=caller.key.id, of=of.value, limit=limit)

    def usage(self, caller: Caller, *, user: str | None = None, key_id: str | None = None) -> UsageView:
        """What the key, and the person, may use and use.

        By default the caller's key, and its person where it has one. Another key needs the
        scope `admin`. A key that is bound to a person sees other people only with `operate` or
        `admin`. Raises `auth.scope`, `auth.person`, `key.not_found`.
        """
        key = caller.key if key_id in {None, caller.key.id} else self._keys.read(caller, key_id or "")
        person = user or (key.person.id if key.person else None)
        bound = caller.key.person
        if person is not None and bound is not None and person != bound.id and not caller.has(*SEES_EVERYBODY):
            raise RequestError(
                f"The API key is bound to {bound.id}, and sees what others use only with operate or admin.",
                code="auth.person",
                details={"person": bound.id},
            )
        shares = [self._share(QuotaOf.KEY, key.id, self._of_key(key))]
        if person is not None:
            shares.append(self._share(QuotaOf.USER, person, self._deployment.user))
        day = self._store.server_now_ms() // DAY_MS
        return UsageView(items=tuple(shares), resets_at=datetime.fromtimestamp((day + 1) * DAY_SECONDS, tz=UTC))

    def _share(self, of: QuotaOf, name: str, quota: Quota) -> UsageShare:
        return UsageShare(of=of, id=name, quota=quota, used=self._store.used(of, name))
