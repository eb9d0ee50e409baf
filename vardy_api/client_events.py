"""The client's method that follows the events of a job."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, get_args

from vardy_api import client_calls as calls
from vardy_api.client_arguments import job_id_of
from vardy_api.client_errors import ClientError, NotFound, Unreachable, problem_error
from vardy_api.client_flows import (
    PAUSE_SECONDS,
    RETRY_AFTER_SECONDS_MAX,
    TRY_AGAIN_STATUSES,
    WAITING_PAUSE_SECONDS,
    Ended,
    Flow,
    Hear,
    Item,
    Listen,
    Lost,
    Message,
    Opened,
    Pause,
    Stream,
    retry_after,
)
from vardy_api.client_waiting import WaitingFlows
from vardy_api.shapes import EventView
from vardy_worker.contracts.errors import DISCARDED
from vardy_worker.contracts.events import EventType
from vardy_worker.contracts.status import is_over

if TYPE_CHECKING:
    from vardy_api.client_calls import Reply
    from vardy_worker.contracts.view import JobView

EMPTY_STREAM_SECONDS = 1.0
"""Between streams that end without having told anything."""
LOOK_SECONDS = 5.0
"""How often a job that is settled but may go on is looked at where streams do not come through."""

PLACE_DIGITS_MAX: Final = 18
KNOWN_TYPES: Final = frozenset(get_args(EventType))
NOTHING_MORE = 204
GATEWAY_TIMEOUT = 504
"""Something on the way waited for the end of the stream."""


@dataclass(slots=True)
class _Followed:
    """Where the reader of one job's events is."""

    job_id: str
    place: str
    follow: bool
    failures: int = 0
    """Streams opened in vain since the last that was there."""
    pause_seconds: float | None = None
    """What the service asked for (`retry:`)."""
    was_there: bool = False
    """Whether a stream has been open."""
    unheard: bool = False
    """Streams do not come through: nothing came for as long as a keep-alive would take."""


class EventFlows(WaitingFlows):
    """Events as they happen; where streams do not come through, as soon as a job has settled."""

    def events(self, job: JobView | str, *, after: str = "", follow: bool = False) -> Stream[EventView]:
        """The events of a job as they happen, the first included, none twice and none left out.

        It ends when the job has settled; with `follow`, when nothing more can become of it, so
        past an approval too. `after` is the `id` of the last event that is known already.

        A lost connection is taken up again where it broke; when that fails for half a minute it is
        `Unreachable`. Where something on the way holds streams back, the events come late: when the
        job has settled. Close the iterator to end early, or leave its loop.
        """
        reader = _Followed(job_id_of(job), after, follow)
        while True:
            opened: Opened | Reply | Lost = yield Listen(_call(reader))
            if isinstance(opened, Opened):
                reader.failures, reader.was_there = 0, True
                yield from self._heard(reader)
            elif (yield from self._is_over(reader, opened)):
                return
            if reader.unheard:
                yield from self._told_late(reader)
                return

    def _heard(self, reader: _Followed) -> Stream[EventView]:
        """Passes on what the open stream tells, up to its end, and pauses where there should be a pause."""
        told = False
        while True:
            heard: Message | Ended | Lost = yield Hear()
            if not isinstance(heard, Message):
                break
            if heard.retry_ms is not None:
                reader.pause_seconds = min(max(heard.retry_ms / 1000, 0.0), RETRY_AFTER_SECONDS_MAX)
            # Something on the way may drop `Last-Event-ID`, and so tell a stream from its begin.
            if not heard.data or _place(heard.id) <= _place(reader.place):
                continue
            told = True
            if heard.type in KNOWN_TYPES:
                yield Item(calls.read_event(heard.data))
            # A message of a kind that a newer service added is passed by, but not read again.
            reader.place = heard.id
        if isinstance(heard, Lost) and heard.silent and not told:
            reader.unheard = True
        elif not told or isinstance(heard, Lost):
            pause = PAUSE_SECONDS[0] if isinstance(heard, Lost) else EMPTY_STREAM_SECONDS
            yield Pause(pause if reader.pause_seconds is None else reader.pause_seconds)

    def _is_over(self, reader: _Followed, answer: Reply | Lost) -> Flow[bool]:
        """What an answer that is no stream means: the end (True), or another try after a pause. Raises the rest."""
        said: float | None = None
        if isinstance(answer, Lost):
            reader.unheard = answer.silent
            error: Exception = Unreachable(answer.reason, details={"tries": reader.failures + 1})
        elif answer.status == NOTHING_MORE:
            return True
        elif answer.status < 400:  # noqa: PLR2004 - the errors begin at 400
            _call(reader).parse(answer)
            msg = "The answer is not a stream of events; is this address a Vardy API of this version?"
            raise ClientError(msg, code="client.bad_answer")
        else:
            refused = problem_error(calls.read_problem(answer), retry_after_seconds=retry_after(answer))
            error, said = refused, refused.retry_after_seconds
            if isinstance(refused, NotFound) and reader.was_there:
                return True
            if answer.status not in TRY_AGAIN_STATUSES or (said or 0) > RETRY_AFTER_SECONDS_MAX:
                raise error
            reader.unheard = answer.status == GATEWAY_TIMEOUT
        if reader.failures >= len(WAITING_PAUSE_SECONDS):
            raise error
        pause = WAITING_PAUSE_SECONDS[reader.failures]
        reader.failures += 1
        if not reader.unheard:
            yield Pause(pause if said is None else said)
        return False

    def _told_late(self, reader: _Followed) -> Stream[EventView]:
        """The same where no open stream comes through: that of a settled job ends, so it does."""
        while True:
            job = yield from self._wait(reader.job_id, math.inf, None)
            opened: Opened | Reply | Lost = yield Listen(
                calls.read_events(reader.job_id, after=reader.place, follow=False)
            )
            if isinstance(opened, Opened):
                reader.failures = 0
                yield from self._heard(reader)
                continue
            if (yield from self._is_over(reader, opened)):
                if not reader.follow or _has_ended(job):
                    return
                yield Pause(LOOK_SECONDS)


def _has_ended(job: JobView) -> bool:
    """Whether nothing can become of the job any more, by what the service ends a stream for."""
    given_up = job.erased_at is not None or (job.error is not None and job.error.code == DISCARDED)
    return given_up or is_over(job.status, has_plan=job.plan is not None)


def _place(event_id: str) -> int:
    """Where in the job's stream an event is; 0 for an id that is none."""
    is_one = len(event_id) <= PLACE_DIGITS_MAX and event_id.isascii() and event_id.isdecimal()
    return int(event_id) if is_one else 0


def _call(reader: _Followed) -> calls.Call[None]:
    return calls.read_events(reader.job_id, after=reader.place, follow=reader.follow)
