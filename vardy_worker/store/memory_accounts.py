"""What keys and people use, in memory, for tests: the semantics of `redis_accounts` under the lock of the jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.quota import DAY_SECONDS, QuotaOf, Spent
from vardy_worker.contracts.status import UNSETTLED
from vardy_worker.store.accounts import SPENT_KEPT_MS, beyond, exceeded_in_day, exceeded_in_jobs, shown, together
from vardy_worker.store.codec import record_accounts
from vardy_worker.store.keys import account

if TYPE_CHECKING:
    from vardy_worker.contracts.job import JobRecord, Usage
    from vardy_worker.contracts.quota import QuotaExceeded, Used
    from vardy_worker.contracts.status import Status
    from vardy_worker.ports import Clock

_NOTHING = Spent()


class MemoryAccounts:
    """The part of `MemoryJobStore` about accounts; the store holds its lock around every call."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._names: dict[str, dict[QuotaOf, str]] = {}
        self._added: dict[str, Spent] = {}
        self._jobs: dict[str, set[str]] = {}
        self._days: dict[tuple[str, int], tuple[Spent, int]] = {}

    def refusal(self, record: JobRecord) -> QuotaExceeded | None:
        """The ceiling that a new job would go above."""
        for of, name in record_accounts(record).items():
            quota = record.quotas.of(of)
            jobs = len(self._jobs.get(name, ()))
            exceeded = exceeded_in_jobs(of, quota, jobs, seconds=self._seconds)
            if record.asks_models:
                exceeded = exceeded or exceeded_in_day(of, quota, self._today(name), seconds=self._seconds)
            if exceeded is not None:
                return exceeded
        return None

    def open(self, record: JobRecord) -> None:
        """A new job is there."""
        self._names[record.id] = record_accounts(record)
        self.move(record.id, record.status)

    def move(self, job_id: str, to: Status) -> None:
        """A job has this status now."""
        for name in self._names.get(job_id, {}).values():
            jobs = self._jobs.setdefault(name, set())
            (jobs.add if to in UNSETTLED else jobs.discard)(job_id)

    def spend(self, job_id: str, usage: Usage) -> None:
        """A job's usage is written."""
        if job_id not in self._names:
            return
        added = self._added.get(job_id, _NOTHING)
        more = beyond(usage, added)
        if more == _NOTHING:
            return
        self._added[job_id] = together(added, more)
        until_ms = self._clock.now_ms() + SPENT_KEPT_MS
        for name in self._names[job_id].values():
            self._days[name, self._day] = (together(self._today(name), more), until_ms)

    def forget(self, job_id: str) -> None:
        """Nothing of the job leads to its person any more; what it spent stays counted."""
        self._names.pop(job_id, None)
        self._added.pop(job_id, None)

    def used(self, of: QuotaOf, id_: str) -> Used:
        """See `JobStore.used`."""
        name = account(of, id_)
        return shown(len(self._jobs.get(name, ())), self._today(name))

    def exceeded(self, job: JobRecord) -> QuotaExceeded | None:
        """See `JobStore.exceeded`."""
        more = beyond(job.usage, self._added.get(job.id, _NOTHING))
        for of, name in record_accounts(job).items():
            spent = together(self._today(name), more)
            exceeded = exceeded_in_day(of, job.quotas.of(of), spent, seconds=self._seconds)
            if exceeded is not None:
                return exceeded
        return None

    def erase_spending(self, user: str) -> bool:
        """Forgets what a user spent; False when nothing is known."""
        name, now_ms = account(QuotaOf.USER, user), self._clock.now_ms()
        known = [self._days.pop(each) for each in list(self._days) if each[0] == name]
        return any(until_ms > now_ms for _, until_ms in known)

    def _today(self, name: str) -> Spent:
        spent, until_ms = self._days.get((name, self._day), (_NOTHING, 0))
        return spent if until_ms > self._clock.now_ms() else _NOTHING

    @property
    def _seconds(self) -> int:
        return self._clock.now_ms() // 1000

    @property
    def _day(self) -> int:
        return self._seconds // DAY_SECONDS
