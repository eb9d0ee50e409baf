"""Listings from the indexes: their cost depends on the page, not on how many jobs there are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from vardy_worker.contracts.job import JobPage
from vardy_worker.store.codec import SUMMARY_FIELDS, decode_summary
from vardy_worker.store.cursor import make_cursor, read_cursor
from vardy_worker.store.keys import ALL_INDEX, status_index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.job import JobFilter, JobSummary
    from vardy_worker.store.keys import Keys
    from vardy_worker.store.scripts import Scripts

SCAN_BATCH: Final = 1000
"""Index entries looked at by one script call: below two milliseconds of the server's time."""

SCAN_MAX: Final = 10_000
"""Index entries looked at for one page. Where filters that match many jobs each have few in
common, the page ends short after these, with a cursor to go on."""


class RedisListing:
    """Pages of jobs. Walks the smallest index among the filters and checks the others by membership."""

    def __init__(self, keys: Keys, scripts: Scripts) -> None:
        self._keys = keys
        self._scripts = scripts

    def page(self, where: JobFilter, *, cursor: str | None, limit: int) -> JobPage:
        """See `JobStore.list_jobs`."""
        if limit < 1:
            msg = "a page holds at least one job"
            raise ValueError(msg)
        after: tuple[int | str, str] = ("", "") if cursor is None else read_cursor(cursor)
        walk, *others = self._by_size(self._groups(where))
        items: list[JobSummary] = []
        scanned = 0
        while len(items) < limit and scanned < SCAN_MAX:
            score, last_id, looked_at, rows = self._scripts.run(
                "list",
                walk,
                [
                    self._keys.job(""),
                    limit - len(items),
                    SCAN_BATCH,
                    *after,
                    "" if where.created_after_ms is None else where.created_after_ms,
                    json.dumps(others),
                    *SUMMARY_FIELDS,
                ],
            )
            items += [decode_summary(job_id.decode(), values) for job_id, *values in rows]
            scanned += looked_at
            if not last_id:
                return JobPage(items=tuple(items))
            after = int(score), last_id.decode()
        return JobPage(items=tuple(items), next=make_cursor(int(after[0]), after[1]))

    def _groups(self, where: JobFilter) -> list[list[str]]:
        """One group of indexes for each filter: a job must be in some index of every group."""
        single = {"kind": where.kind, "user": where.user, "recipe": where.recipe, "owner": where.owner}
        groups = [[self._keys.index(f"{name}:{value}")] for name, value in single.items() if value is not None]
        if where.status:
            groups.append([self._keys.index(status_index(status)) for status in sorted(set(where.status))])
        return groups or [[self._keys.index(ALL_INDEX)]]

    def _by_size(self, groups: list[list[str]]) -> Sequence[list[str]]:
        if len(groups) == 1:
            return groups
        sizes = self._scripts.sizes([key for group in groups for key in group])
        return sorted(groups, key=lambda group: sum(sizes[key] for key in group))
