"""The same change to several jobs: what it would do, what it did, and to which it could not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vardy_api.cli.exits import CommandError, ExitCode
from vardy_api.cli.failures import describe
from vardy_api.cli.progress import between_steps, progress
from vardy_api.cli.shown import Shown
from vardy_api.cli.text import counted
from vardy_api.cli.watch import ENDED_WELL
from vardy_api.client_errors import Conflict, Unauthorized, Unreachable, WaitTimeout
from vardy_worker.contracts.base import Contract, JsonObject
from vardy_worker.contracts.errors import VardyError
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from vardy_api.cli.session import Session
    from vardy_api.client import Vardy
    from vardy_worker.contracts.view import JobView

    Change = Callable[[str], JobView]


@dataclass(frozen=True, slots=True)
class Verb:
    """A change, and what is known of it from a job as seen now.

    `refusal` says why the job would not take the change, "" if it would; `already` that the
    change happened before, "" where it did not. `ask` lets the service itself say what a dry
    run would come to, where only it can know.
    """

    name: str
    refusal: Callable[[JobView], str]
    already: Callable[[JobView], str]
    ask: Callable[[Vardy, str], JobView] | None = None


class BulkItem(Contract):
    """What became of one job. `error` is a problem document; `ok` also judges how the job ended.

    `skipped`: nothing was to be done, or nothing could be yet; `note` says why.
    """

    job: str
    ok: bool
    skipped: bool = False
    status: Status | None = None
    note: str = ""
    error: JsonObject | None = None


class BulkResult(Contract):
    """What became of all. After an interruption there are fewer `items` than `total`."""

    action: str
    total: int
    succeeded: int
    failed: int
    skipped: int = 0
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
    verb: Verb,
    job_ids: Sequence[str],
    change: Change,
    *,
    skipped: Sequence[BulkItem] = (),
    wait: bool = False,
    timeout_seconds: float | None = None,
) -> Shown:
    """The same change to many jobs: one failure does not stop the rest.

    All are changed first and waited for afterwards, so that they run side by side. Stops
    early only where no further one can succeed: no connection, no valid key. A Ctrl-C ends
    it between two changes, so that what is told of them is all that was done. `skipped` are
    those that were found and left alone.
    """
    items: dict[str, BulkItem] = {}
    begun: list[JobView] = []
    waited = 0
    total = len(job_ids) + len(skipped)
    try:
        with between_steps() as step:
            for job_id in progress(session, verb.name, job_ids):
                step()
                try:
                    job = change(job_id)
                except (Unreachable, Unauthorized) as error:
                    if not items:
                        raise
                    items |= {left: _failed(left, error) for left in job_ids if left not in items}
                    break
                except Conflict as error:
                    items[job_id] = _already(session, verb, job_id) or _failed(job_id, error)
                except VardyError as error:
                    items[job_id] = _failed(job_id, error)
                else:
                    items[job_id] = BulkItem(job=job_id, ok=True, status=job.status)
                    begun.append(job)
            step()
        if wait:
            for job in progress(session, "wait", begun):
                items[job.id] = _ended(session, job, timeout_seconds)
                waited += 1
    except KeyboardInterrupt:
        return _interrupted(verb, [*items.values(), *skipped], total, begun=len(begun), waited=waited)
    return _outcome(verb.name, [*(items[job_id] for job_id in job_ids), *skipped])


def _already(session: Session, verb: Verb, job_id: str) -> BulkItem | None:
    """The item of a job that the change came to before; None where something else stands against it."""
    try:
        job = session.client.get(job_id)
    except VardyError:
        return None
    note = verb.already(job)
    return BulkItem(job=job_id, ok=True, skipped=True, status=job.status, note=note) if note else None


def _interrupted(verb: Verb, items: Sequence[BulkItem], total: int, *, begun: int, waited: int) -> Shown:
    """What was done when a person had enough, and how to go on."""
    message = f"Interrupted: {verb.name} was begun for {begun} of {counted(total, 'job')}"
    message += f", {waited} of them were seen to end. " if waited else ". "
    message += "None is half-done; the same command again goes on with the rest."
    failure = CommandError(
        message, code="cli.interrupted", title="The command was interrupted", exit_code=ExitCode.INTERRUPTED
    )
    return Shown(_result(verb.name, items, total), failure=failure)


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


def _result(action: str, items: Sequence[BulkItem], total: int) -> BulkResult:
    failed = sum(not item.ok for item in items)
    skipped = sum(item.skipped for item in items)
    succeeded = len(items) - failed - skipped
    return BulkResult(
        action=action, total=total, succeeded=succeeded, failed=failed, skipped=skipped, items=tuple(items)
    )


def _outcome(action: str, items: Sequence[BulkItem]) -> Shown:
    result = _result(action, items, len(items))
    if not result.failed:
        return Shown(result)
    message = f"{action}: {result.failed} of {counted(result.total, 'job')} failed, or did not end well."
    failure = CommandError(
        message,
        code="cli.bulk_failed",
        title="Some of the changes failed",
        exit_code=ExitCode.BULK_FAILED,
        details={"total": result.total, "failed": result.failed},
    )
    return Shown(result, failure=failure)
