"""The operator's verbs, for one job or many: what they allow, and which jobs they mean."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from vardy_api.cli.bulk import BulkResult, DryRunItem, change_many, change_one, would
from vardy_api.cli.exits import conflict, not_found
from vardy_api.cli.shown import Shown
from vardy_api.cli.text import counted
from vardy_api.shapes import SummaryPage
from vardy_worker.contracts.journal import DONE, EffectState
from vardy_worker.contracts.status import TRANSITIONS, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from vardy_api.cli.listing import Filters
    from vardy_api.cli.session import Session
    from vardy_api.client import Vardy
    from vardy_api.shapes import SummaryView
    from vardy_worker.contracts.view import JobView

DISCARDED = "commit.discarded"
COMMIT_STATUSES = (Status.COMMITTING, Status.PARTIAL, Status.FUNCTION_ERROR)
_STOPPED_STATUSES = (Status.PARTIAL, Status.FUNCTION_ERROR)


@dataclass(frozen=True, slots=True)
class Verb:
    """A change. `refusal` says why a job as seen now would not take it, "" if it would."""

    name: str
    refusal: Callable[[JobView], str]


def _cancel_refusal(job: JobView) -> str:
    can = Status.CANCELLED in TRANSITIONS[job.status]
    return "" if can else f"a {job.status.value} job cannot be cancelled"


def _requeue_refusal(job: JobView) -> str:
    if job.status not in _STOPPED_STATUSES or job.plan is None:
        return f"a {job.status.value} job has no stopped commit"
    if _discarded(job):
        return "its rest was discarded"
    return ""


def _discard_refusal(job: JobView) -> str:
    if job.status is not Status.PARTIAL:
        return f"a {job.status.value} job has no rest to give up"
    return "its rest was discarded already" if _discarded(job) else ""


def _discarded(job: JobView) -> bool:
    return job.error is not None and job.error.code == DISCARDED


CANCEL = Verb("cancel", _cancel_refusal)
REQUEUE = Verb("requeue", _requeue_refusal)
DISCARD = Verb("discard", _discard_refusal)


def change_jobs(
    session: Session,
    verb: Verb,
    job_ids: Sequence[str],
    change: Callable[[str], JobView],
    *,
    yes: bool,
    dry_run: bool,
    wait: bool = False,
    timeout_seconds: float | None = None,
    bulk: bool = False,
) -> Shown:
    """Applies a verb. One named job answers with the job itself; several, or `bulk`, with a `BulkResult`."""
    chosen = list(dict.fromkeys(job_ids))
    if dry_run:
        return would(verb.name, [_dry_item(verb, session.client.get(job_id)) for job_id in chosen])
    if len(chosen) == 1 and not bulk:
        return change_one(session, chosen[0], change, wait=wait, timeout_seconds=timeout_seconds)
    if not chosen:
        session.note("No job matches.")
        return Shown(BulkResult(action=verb.name, total=0, succeeded=0, failed=0))
    session.confirm(f"{verb.name} {counted(len(chosen), 'job')} (--dry-run lists them)", yes=yes)
    return change_many(session, verb.name, chosen, change, wait=wait, timeout_seconds=timeout_seconds)


def _dry_item(verb: Verb, job: JobView) -> DryRunItem:
    refusal = verb.refusal(job)
    note = refusal or (_what_would_run(job) if verb is REQUEUE else "")
    return DryRunItem(target=job.id, status=job.status, allowed=not refusal, note=note)


def _what_would_run(job: JobView) -> str:
    left = [effect for effect in job.effects if effect.state not in DONE]
    unknown = [str(effect.seq) for effect in left if effect.state is EffectState.UNKNOWN]
    note = f"{counted(len(left), 'effect')} would run" + (f", from {left[0].seq}" if left else "")
    if unknown:
        note += f"; outcome unknown of {', '.join(unknown)}: resolve first unless the function is idempotent"
    return note


def _matching(client: Vardy, filters: Filters, statuses: Sequence[Status], error: str | None) -> Iterator[SummaryView]:
    """Commits by filter. A `FUNCTION_ERROR` without effects never began to commit."""
    for item in client.iterate_jobs(status=statuses, **filters):
        begun = item.effects_total > 0 or item.status is Status.COMMITTING
        wanted = item.error_code == error if error is not None else item.error_code != DISCARDED
        if begun and wanted:
            yield item


def commits(
    client: Vardy, filters: Filters, *, status: Sequence[str] | None, error: str | None, limit: int
) -> SummaryPage:
    """The first `limit` commits that run or stopped; discarded ones only where their code is asked for."""
    statuses = tuple(map(Status, status)) if status else COMMIT_STATUSES
    return SummaryPage(items=tuple(islice(_matching(client, filters, statuses, error), limit)))


def stopped_commits(client: Vardy, filters: Filters, *, status: Sequence[str] | None, error: str | None) -> list[str]:
    """Ids of every commit that stopped, oldest first, so that repairs keep their order."""
    statuses = [Status(name) for name in status or () if Status(name) in _STOPPED_STATUSES] or _STOPPED_STATUSES
    return [item.id for item in _matching(client, filters, statuses, error)][::-1]


def would_resolve(job: JobView, seq: int, *, done: bool) -> Shown:
    """The dry run of resolving one effect."""
    effect = next((effect for effect in job.effects if effect.seq == seq), None)
    if effect is None:
        raise not_found(f"The plan of {job.id} has no effect {seq}.", code="effect.not_found")
    if effect.state is not EffectState.UNKNOWN:
        raise conflict(
            f"The outcome of effect {seq} is not unknown: it is {effect.state.value}.", code="effect.not_unknown"
        )
    state = EffectState.RESOLVED_DONE if done else EffectState.RESOLVED_NOT_DONE
    note = f"effect {seq} ({effect.function}) would be {state.value}"
    return would("resolve", [DryRunItem(target=job.id, status=job.status, note=note)])
