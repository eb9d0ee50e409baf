"""Requests that are held back: long polls until a job settles, and streams of its events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio.to_thread import run_sync

from vardy_api.operations.event_stream import EventStream
from vardy_api.operations.jobs import job_not_found
from vardy_api.operations.shared_reads import SharedReads
from vardy_api.operations.watching import JobWatch
from vardy_worker.contracts.ids import JOB_ID
from vardy_worker.contracts.status import is_settled
from vardy_worker.store.events import event_place, no_such_event

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_api.operations.caller import Caller
    from vardy_api.operations.jobs import JobOperations
    from vardy_api.operations.shared_reads import ReadJob
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.ports import ChangeFeed, JobStore, Seen


class HeldRequests:
    """The use cases of callers that wait. For one event loop; nobody who waits holds a thread."""

    def __init__(
        self, jobs: JobOperations, store: JobStore, feed: ChangeFeed, recheck: Callable[[Caller], Caller]
    ) -> None:
        """`recheck` says who a caller is now, or raises `auth.invalid`."""
        self._watch = JobWatch(store, feed)
        self._reads = SharedReads(store, jobs.look_up, recheck)
        self.polls = 0
        """Requests that wait for a job to settle now."""
        self.streams: set[EventStream] = set()
        """Streams of events that are open now."""

    async def wait(self, caller: Caller, job_id: str, seconds: float, *, is_new: bool = False) -> ReadJob:
        """The job when it has settled, or as it is after `seconds`. `is_new`: this caller submitted it just now.

        Whoever waited must still be allowed to see it. Raises `job.not_found`, `auth.invalid`.
        """
        if seconds <= 0:
            return await self._visible(caller, job_id)
        with self._watch.on(job_id) as watched:
            seen: Seen | JobRecord | None
            if is_new:
                # It may have settled before it was watched; whether it is visible is no question.
                seen = await self._watch.look(job_id)
            else:
                found = await self._visible(caller, job_id)
                if is_settled(found.job.status):
                    return found
                seen = found.job
            if seen is not None and not is_settled(seen.status) and not self._watch.stopped.is_set():
                self.polls += 1
                try:
                    await watched.until_settled(seconds, after=seen.version)
                finally:
                    self.polls -= 1
        caller, read = await self._reads.answer(caller, job_id)
        return _seen_by(caller, job_id, read)

    async def open_stream(self, caller: Caller, job_id: str, *, after: str, follow: bool) -> EventStream | None:
        """The events after the one with the id `after` ("" for all); None if no more will be told.

        The stream ends when the job has settled, with `follow` only when nothing can become
        of it any more. Raises `job.not_found`, `cursor.invalid`.
        """
        place = event_place(after)
        await self._visible(caller, job_id)
        seen = await self._watch.look(job_id)
        if seen is None:
            raise job_not_found(job_id)
        if place > seen.events:
            raise no_such_event()
        stream = EventStream(self._watch, self._reads, caller, job_id, place=place, follow=follow, among=self.streams)
        return None if stream.has_ended(seen) else stream

    async def _visible(self, caller: Caller, job_id: str) -> ReadJob:
        found = await run_sync(self._reads.read_job, job_id) if JOB_ID.match(job_id) else None
        return _seen_by(caller, job_id, found)

    def stop(self) -> None:
        """Lets every held request answer now; called in the event loop when the API stops."""
        self._watch.stop()


def _seen_by(caller: Caller, job_id: str, found: ReadJob | None) -> ReadJob:
    if found is None or not caller.sees(found.job):
        raise job_not_found(job_id)
    return found
