"""The same change to several jobs: what it would do, what it did, and to which it could not."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from vardy_api.cli.exits import CommandError, ExitCode
from vardy_api.cli.failures import describe
from vardy_api.cli.shown import Shown
from vardy_api.cli.text import counted
from vardy_api.cli.watch import ENDED_WELL
from vardy_api.client_errors import Unauthorized, Unreachable, WaitTimeout
from vardy_worker.contracts.base import Contract, JsonObject
from vardy_worker.contracts.errors import VardyError
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from vardy_api.cli.session import Session
    from vardy_worker.contracts.view import JobView

    Change = Callable[[str], JobView]

T = TypeVar("T")


class BulkItem(Contract):
    """What became of one job. `error` is a problem document; `ok` also judges how the job ended."""

    job: str
    ok: bool
    status: Status | None = None
    error: JsonObject | None = None


class BulkResult(Contract):
    """What became of all."""

    action: str
    total: int
    succeeded: int
    failed: int
    items: tuple[BulkItem, ...] = ()


class Done(Contract):
    """A change whose answer has no body."""

    action: str
    target: str


class DryRunItem(Contract):
    """One thing a change would touch. `allowed` is false where the change would be refused now."""

    target: str
    status: Status | None = None
    allowed: bool = True
    note: str = ""


class DryRun(Contract):
    """What a command would do; nothing was changed."""

    dry_run: bool = True
    action: str
    items: tuple[DryRunItem, ...] = ()


def would(action: str, items: Iterable[DryRunItem]) -> Shown:
    """The outcome of a dry run; a conflict when nothing of it would be allowed."""
    found = tuple(items)
    refused = bool(found) and not any(item.allowed for item in found)
    return Shown(DryRun(action=action, items=found), exit_code=ExitCode.CONFLICT if refused else ExitCode.OK)


def change_one(session: Session, job_id: str, change: Change, *, wait: bool, timeout_seconds: float | None) -> Shown:
    """One change to one job: errors are the command's own."""
    return session.settle(change(job_id), wait=wait, timeout=timeout_seconds)


def change_many(
    session: Session,
    action: str,
    job_ids: Sequence[str],
    change: Change,
    *,
    wait: bool = False,
    timeout_seconds: float | None = None,
) -> Shown:
    """The same change to many jobs: one failure does not stop the rest.

    All are changed first and waited for afterwards, so that they run side by side. Stops
    early only where no further one can succeed: no connection, no valid key.
    """
    items: dict[str, BulkItem] = {}
    begun: list[JobView] = []
    try:
        for job_id in _progress(session, action, job_ids):
            try:
                job = change(job_id)
            except (Unreachable, Unauthorized) as error:
                if not items:
                    raise
                items |= {left: _failed(left, error) for left in job_ids if left not in items}
                break
            except VardyError as error:
                items[job_id] = _failed(job_id, error)
            else:
                items[job_id] = BulkItem(job=job_id, ok=True, status=job.status)
                begun.append(job)
        if wait:
            for job in _progress(session, "wait", begun):
                items[job.id] = _ended(session, job, timeout_seconds)
    except KeyboardInterrupt:
        session.note(f"{action}: begun for {len(begun)} of {counted(len(job_ids), 'job')}; those go on.")
        raise
    return _outcome(action, [items[job_id] for job_id in job_ids])


def _ended(session: Session, job: JobView, timeout_seconds: float | None) -> BulkItem:
    try:
        settled = session.client.wait(job, timeout_seconds=timeout_seconds)
    except WaitTimeout as error:
        return _failed(job.id, error, error.job.status)
    except VardyError as error:
        return _failed(job.id, error)
    error_info = settled.error.model_dump(mode="json") if settled.error else None
    return BulkItem(job=job.id, ok=settled.status in ENDED_WELL, status=settled.status, error=error_info)


def _failed(job_id: str, error: VardyError, status: Status | None = None) -> BulkItem:
    return BulkItem(job=job_id, ok=False, status=status, error=describe(error).problem())


def _outcome(action: str, items: Sequence[BulkItem]) -> Shown:
    failed = sum(not item.ok for item in items)
    result = BulkResult(
        action=action, total=len(items), succeeded=len(items) - failed, failed=failed, items=tuple(items)
    )
    if not failed:
        return Shown(result)
    message = f"{action}: {failed} of {counted(len(items), 'job')} failed, or did not end well."
    failure = CommandError(
        message,
        code="cli.bulk_failed",
        title="Some of the changes failed",
        exit_code=ExitCode.BULK_FAILED,
        details={"total": len(items), "failed": failed},
    )
    return Shown(result, failure=failure)


def _progress(session: Session, verb: str, things: Sequence[T]) -> Iterator[T]:
    """The things, one by one, with a bar on a terminal."""
    stderr = session.out.stderr
    if not stderr.is_terminal or session.as_json:
        yield from things
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=stderr, transient=True) as progress:
        yield from progress.track(things, description=verb)
