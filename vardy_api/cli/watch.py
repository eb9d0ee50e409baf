"""Waiting for a job while its status can be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.status import Status as Spinner
from rich.text import Text

from vardy_api.cli.exits import ExitCode
from vardy_api.cli.report import round_line
from vardy_api.cli.shown import Shown
from vardy_api.client_errors import WaitTimeout
from vardy_worker.contracts.errors import VardyError
from vardy_worker.contracts.job import JobKind
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_api.cli.session import Session
    from vardy_worker.contracts.view import JobView

LOOK_SECONDS = 1.0
"""How often the shown status is renewed while somebody looks; the end is seen at once."""

ENDED_WELL = frozenset({Status.SUCCESS, Status.PLANNED, Status.PENDING_APPROVAL})
"""Settled as asked, or waiting for people: a command that ran the job succeeded."""


def settle(session: Session, job: JobView, *, wait: bool, timeout_seconds: float | None) -> Shown:
    """The job when it has settled (or as it is, without waiting), and the exit code it means."""
    if not wait:
        return Shown(job)
    try:
        settled = wait_for(session, job, timeout_seconds=timeout_seconds)
    except WaitTimeout as error:
        return Shown(error.job, failure=error)
    except VardyError as error:
        # The job exists whatever happens to the connection, so its id must not be lost.
        return Shown(job, failure=error)
    return Shown(settled, exit_code=ExitCode.OK if settled.status in ENDED_WELL else ExitCode.ERROR)


def wait_for(session: Session, job: JobView | str, *, timeout_seconds: float | None) -> JobView:
    """Waits until the job settles, with a spinner on a terminal. Raises `WaitTimeout`."""
    job_id = job if isinstance(job, str) else job.id
    stderr = session.out.stderr
    try:
        if session.as_json or not stderr.is_terminal:
            return session.client.wait(job, timeout_seconds=timeout_seconds)
        with stderr.status(Text(job_id), spinner="dots") as spinner:
            watched = _Watched(session, spinner)
            return _wait_in_steps(session.client.wait, job, timeout_seconds, watched.renew)
    except WaitTimeout as error:
        # The time the person gave, not what was left of it.
        raise WaitTimeout(error.job, timeout_seconds or 0) from None
    except KeyboardInterrupt:
        session.note(f"Job {job_id} goes on; wait for it with `vardy jobs wait {job_id}`.")
        raise


class _Watched:
    """A job on a terminal: a spinner with its status, and above it each round that has ended."""

    def __init__(self, session: Session, spinner: Spinner) -> None:
        self._session = session
        self._spinner = spinner
        self._said = 0

    def renew(self, job: JobView) -> None:
        """Shows how it looks now."""
        ended = [each for each in job.rounds if each.ended_at is not None]
        for each in ended[self._said :]:
            self._session.note(round_line(each))
        self._said = max(self._said, len(ended))
        self._spinner.update(Text(f"{job.id} {_doing(job)}"))


def _doing(job: JobView) -> str:
    """What a job is at, in few words."""
    if job.kind is not JobKind.EXPLORE or job.status is not Status.RUNNING:
        return f"{job.status.value} {job.stage.value}" if job.stage else job.status.value
    if job.rounds and job.rounds[-1].ended_at is None:
        return round_line(job.rounds[-1])
    return "answering, or looking further …" if job.rounds else "round 1: writing a program …"


def _wait_in_steps(
    wait: Callable[..., JobView],
    job: JobView | str,
    timeout_seconds: float | None,
    renew: Callable[[JobView], None],
) -> JobView:
    """Waits in short steps, and tells `renew` how the job looks after each."""
    left = timeout_seconds
    while True:
        step = LOOK_SECONDS if left is None else min(LOOK_SECONDS, left)
        try:
            return wait(job, timeout_seconds=step)
        except WaitTimeout as error:
            renew(error.job)
            if left is not None and (left := left - step) <= 0:
                raise
            job = error.job
