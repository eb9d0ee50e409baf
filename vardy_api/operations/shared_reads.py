"""What held requests need when their time has come, read once for all who need the same."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from vardy_api.operations.batches import Batches
from vardy_worker.contracts.errors import VardyError
from vardy_worker.contracts.view import job_view

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vardy_api.operations.caller import Caller
    from vardy_worker.contracts.events import Event
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.ports import JobStore

A = TypeVar("A")
B = TypeVar("B")

BATCH_MAX: Final = 100
"""Reads of one kind before the first of them is answered."""
EVENTS_MAX: Final = 100
"""Events of one job that are read, and so held, at once."""


@dataclass(frozen=True, slots=True)
class ReadJob:
    """A job as it was read, and its view as JSON."""

    job: JobRecord
    body: bytes


@dataclass(frozen=True, slots=True)
class _Sent:
    """A caller, the same as every other that sent this token of this key."""

    key_id: str
    token_sha256: str
    caller: Caller = field(compare=False, repr=False)


class _Place(NamedTuple):
    """The events of a job up to here are known."""

    job_id: str
    events: int


class _Asked(NamedTuple):
    """One caller asks for one job."""

    sent: _Sent
    job_id: str


class SharedReads:
    """Reads and checks for many requests at once, in one thread of each kind. For one event loop."""

    def __init__(
        self, store: JobStore, read: Callable[[str], JobRecord | None], recheck: Callable[[Caller], Caller]
    ) -> None:
        """`read` reads a job by its id; `recheck` raises `auth.invalid`. Both run in a thread."""
        self._store = store
        self._read = read
        self._recheck = recheck
        self._answers = Batches(self._answer_each, size_max=BATCH_MAX)
        self._events = Batches(_each(self._read_events), size_max=BATCH_MAX)
        self._callers = Batches(_each(self._recheck_one), size_max=BATCH_MAX)

    async def answer(self, caller: Caller, job_id: str) -> tuple[Caller, ReadJob | None]:
        """The caller with the key as it is now, and the job; None if it is not there. Raises `auth.invalid`."""
        now, read = await self._answers.ask(_Asked(_sent(caller), job_id))
        return replace(caller, key=now.key), read

    async def events(self, job_id: str, place: int) -> Sequence[Event]:
        """The next events after so many, at most `EVENTS_MAX`."""
        return await self._events.ask(_Place(job_id, place))

    async def recheck(self, caller: Caller) -> Caller:
        """The caller with the key as it is now. Raises `RequestError` `auth.invalid`."""
        now = await self._callers.ask(_sent(caller))
        return replace(caller, key=now.key)

    def read_job(self, job_id: str) -> ReadJob | None:
        """The job as it is now, read in this thread; None if it is not there."""
        job = self._read(job_id)
        return ReadJob(job, job_view(job).model_dump_json(by_alias=True).encode()) if job else None

    def _answer_each(self, asked: Sequence[_Asked]) -> Mapping[_Asked, tuple[Caller, ReadJob | None] | Exception]:
        callers = _each(self._recheck_one)(list(dict.fromkeys(each.sent for each in asked)))
        jobs = _each(self.read_job)(list(dict.fromkeys(each.job_id for each in asked)))
        answers: dict[_Asked, tuple[Caller, ReadJob | None] | Exception] = {}
        for each in asked:
            caller, read = callers[each.sent], jobs[each.job_id]
            if isinstance(caller, Exception):
                answers[each] = caller
            else:
                answers[each] = read if isinstance(read, Exception) else (caller, read)
        return answers

    def _read_events(self, place: _Place) -> Sequence[Event]:
        return self._store.events(place.job_id, after=str(place.events), limit=EVENTS_MAX)

    def _recheck_one(self, sent: _Sent) -> Caller:
        return self._recheck(sent.caller)


def _sent(caller: Caller) -> _Sent:
    return _Sent(caller.key.id, caller.token_sha256, caller)


def _each(act: Callable[[A], B]) -> Callable[[Sequence[A]], Mapping[A, B | Exception]]:
    """Does something about one after the other; an error about one does not end what is done about others."""

    def one(about: A) -> B | VardyError:
        try:
            return act(about)
        except VardyError as error:
            return error

    return lambda batch: {about: one(about) for about in batch}
