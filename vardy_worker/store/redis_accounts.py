"""What keys and people use, in Redis: a set of unsettled jobs, and a hash of each day's spending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.quota import QuotaOf, Spent
from vardy_worker.contracts.status import UNSETTLED
from vardy_worker.store.accounts import (
    beyond,
    day_ceilings,
    exceeded_ceiling,
    exceeded_in_day,
    shown,
    spent_by,
    together,
)
from vardy_worker.store.codec import record_accounts
from vardy_worker.store.keys import account

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.quota import QuotaExceeded, Used
    from vardy_worker.ports import Change
    from vardy_worker.store.keys import Keys
    from vardy_worker.store.scripts import Arg, Scripts


class RedisAccounts:
    """The part of `RedisJobStore` about accounts. One round trip to read; writes go with those of jobs."""

    def __init__(self, keys: Keys, scripts: Scripts) -> None:
        self._keys = keys
        self._scripts = scripts

    def used(self, of: QuotaOf, id_: str) -> Used:
        """See `JobStore.used`."""
        _, _, ((jobs, spent),) = self._read("", [account(of, id_)])
        return shown(jobs, spent)

    def exceeded(self, job: JobRecord) -> QuotaExceeded | None:
        """See `JobStore.exceeded`."""
        if not job.quotas.limit_days:
            return None
        names = record_accounts(job)
        seconds, added, used = self._read(self._keys.job(job.id), list(names.values()))
        more = beyond(job.usage, added)
        for of, (_, spent) in zip(names, used, strict=True):
            exceeded = exceeded_in_day(of, job.quotas.of(of), together(spent, more), seconds=seconds)
            if exceeded is not None:
                return exceeded
        return None

    def _read(self, job_key: str, accounts: Sequence[str]) -> tuple[int, Spent, list[tuple[int, Spent]]]:
        seconds, added, *found = self._scripts.run("read_accounts", [job_key], [self._keys.account_prefix, *accounts])
        used = [(jobs, Spent(tokens=tokens, micro_usd=micro)) for jobs, tokens, micro in found]
        tokens, _, micro = (added or b"0 0").decode().partition(" ")
        return seconds, Spent(tokens=int(tokens), micro_usd=int(micro)), used

    # --- arguments of the scripts that write ---------------------------------------------------

    def of_submission(self, record: JobRecord) -> list[Arg]:
        """What `lua/submit` is told of a new job's accounts and their ceilings."""
        names = record_accounts(record)
        limited: list[Arg] = []
        for of, name in names.items():
            quota = record.quotas.of(of)
            days = day_ceilings(quota) if record.asks_models else Spent()
            if quota.jobs_max or days != Spent():
                limited += [name, quota.jobs_max, days.tokens, days.micro_usd]
        return [
            self._keys.account_prefix,
            " ".join(names.values()),
            f"|{'|'.join(sorted(UNSETTLED))}|",
            len(limited) // 4,
            *limited,
        ]

    def of_change(self, change: Change) -> list[Arg]:
        """What `lua/change` is told of the job's accounts."""
        unsettled = "1" if change.to in UNSETTLED else ""
        if "usage" not in change.set:
            return [self._keys.account_prefix, unsettled, "", ""]
        spent = spent_by(change.set["usage"])
        return [self._keys.account_prefix, unsettled, spent.tokens, spent.micro_usd]

    def refusal(self, record: JobRecord, name: bytes, limit: bytes, used: int, seconds: int) -> QuotaExceeded:
        """The answer of `lua/submit` to one job too many."""
        of = QuotaOf(name.decode().partition(":")[0])
        return exceeded_ceiling(of, record.quotas.of(of), limit.decode(), used, seconds=seconds)
