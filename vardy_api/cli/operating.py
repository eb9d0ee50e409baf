"""The operator's verbs, for one job or many: what they allow, and which jobs they mean."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from vardy_api.cli.bulk import BulkItem, BulkResult, DryRunItem, Verb, change_many, change_one, would
from vardy_api.cli.exits import conflict, not_found, usage_error
from vardy_api.cli.progress import progress
from vardy_api.cli.shown import Shown
from vardy_api.cli.text import counted
from vardy_api.client_errors import Conflict
from vardy_api.shapes import SummaryPage
from vardy_worker.contracts.erasure import may_be_erased
from vardy_worker.contracts.errors import DISCARDED, VardyError, is_discarded
from vardy_worker.contracts.journal import DONE, EffectState
from vardy_worker.contracts.plan import effects_named
from vardy_worker.contracts.status import TRANSITIONS, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from vardy_api.cli.listing import Filters
    from vardy_api.cli.session import Session
    from vardy_api.client import Vardy
    from vardy_api.shapes import SummaryView
    from vardy_worker.contracts.view import JobView

COMMIT_STATUSES = (Status.COMMITTING, Status.PARTIAL, Status.FUNCTION_ERROR)
_STOPPED_STATUSES = (Status.PARTIAL, Status.FUNCTION_ERROR)


def _cancel_refusal(job: JobView) -> str:
    can = Status.CANCELLED in TRANSITIONS[job.status]
    return "" if can else f"a {job.status.value} job cannot be cancelled"


def _requeue_refusal(job: JobView) -> str:
    if job.status not in _STOPPED_STATUSES or job.plan is None:
        return f"a {job.status.value} job has no stopped commit"
    if is_discarded(job.error):
        return "its rest was discarded"
    return ""


def _discard_refusal(job: JobView) -> str:
    if job.status is not Status.PARTIAL:
        return f"a {job.status.value} job has no rest to give up"
    return "its rest was discarded already" if is_discarded(job.error) else ""


def _runs_or_ended(job: JobView) -> str:
    done = job.status in {Status.COMMITTING, Status.SUCCESS}
    return f"it is {job.status.value} already" if done else ""


CANCEL = Verb(
    "cancel", _cancel_refusal, already=lambda job: "cancelled already" if job.status is Status.CANCELLED else ""
)
REQUEUE = Verb(
    "requeue", _requeue_refusal, _runs_or_ended, ask=lambda client, job_id: client.requeue(job_id, dry_run=True)
)
DISCARD = Verb(
    "discard", _discard_refusal, already=lambda job: "its rest was discarded already" if is_discarded(job.error) else ""
)
ERASE = Verb(
    "erase",
    refusal=lambda job: "erased already" if job.erased_at is not None else "",
    already=lambda job: "erased already" if job.erased_at is not None else "",
    ask=lambda client, job_id: client.erase(job_id, dry_run=True),
)


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
    skipped: Sequence[BulkItem] = (),
    for_good: bool = False,
) -> Shown:
    """Applies a verb. One named job answers with the job itself; several, or `bulk`, with a `BulkResult`.

    `for_good`: it cannot be undone, so that it is asked about even for one job.
    """
    chosen = list(dict.fromkeys(job_ids))
    one = len(chosen) == 1 and not bulk
    if dry_run:
        tried = [_dry_item(session, verb, job_id) for job_id in progress(session, "dry run", chosen)]
        return would(verb.name, [*tried, *(_dry_skipped(item) for item in skipped)])
    if not chosen and not skipped:
        session.note("No job matches.")
        return Shown(BulkResult(action=verb.name, total=0, succeeded=0, failed=0))
    if chosen and (for_good or not one):
        what = chosen[0] if one else counted(len(chosen), "job")
        hint = "" if one else " (--dry-run lists them)"
        session.confirm(f"{verb.name} {what}{' for good' if for_good else ''}{hint}", yes=yes)
    if one:
        return change_one(session, chosen[0], change, wait=wait, timeout_seconds=timeout_seconds)
    return change_many(session, verb, chosen, change, skipped=skipped, wait=wait, timeout_seconds=timeout_seconds)


def _dry_item(session: Session, verb: Verb, job_id: str) -> DryRunItem:
    """What would become of one job; where only the service can know, it is asked."""
    client, refusal = session.client, ""
    try:
        job = client.get(job_id) if verb.ask is None else verb.ask(client, job_id)
    except Conflict as error:
        job, refusal = client.get(job_id), _why(error)
    refusal = verb.refusal(job) or refusal
    note = refusal or (_what_would_run(job) if verb is REQUEUE else "")
    return DryRunItem(target=job.id, status=job.status, allowed=not refusal, note=note)


def _dry_skipped(item: BulkItem) -> DryRunItem:
    return DryRunItem(target=item.job, status=item.status, allowed=False, note=item.note)


def _why(error: Conflict) -> str:
    """Why the service would refuse, in few words where it names effects."""
    if error.code != "commit.unresolved":
        return error.message
    seqs = error.details["effects"]
    return f"resolve {effects_named(seqs)} first: outcome unknown, and not safe to repeat"


def _what_would_run(job: JobView) -> str:
    left = [effect for effect in job.effects if effect.state not in DONE]
    unknown = [effect.seq for effect in left if effect.state is EffectState.UNKNOWN]
    note = f"{counted(len(left), 'effect')} would run" + (f", from {left[0].seq}" if left else "")
    return note + (f"; {effects_named(unknown)} again with the same key" if unknown else "")


def only_chosen(jobs: Sequence[str] | None, *, by_filter: bool) -> None:
    """Raises a usage error unless jobs are named, or chosen by `--all` and filters, and not both."""
    if bool(jobs) == by_filter:
        raise usage_error("Give ids of jobs, or --all (with filters, if you like); not both.")


def _matching(client: Vardy, filters: Filters, statuses: Sequence[Status], error: str | None) -> Iterator[SummaryView]:
    """Commits by filter. A `FUNCTION_ERROR` without effects never began to commit; an erased one is over for good."""
    for item in client.iterate_jobs(status=statuses, **filters):
        begun = item.effects_total > 0 or item.status is Status.COMMITTING
        wanted = item.error_code == error if error is not None else item.error_code != DISCARDED
        if begun and wanted and item.erased_at is None:
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


def erasable(client: Vardy, filters: Filters) -> tuple[list[str], list[BulkItem]]:
    """Ids of the jobs that match and are over, and those that must end first. Erased ones are neither."""
    over: list[str] = []
    alive: list[BulkItem] = []
    for item in client.iterate_jobs(**filters):
        if item.erased_at is not None:
            continue
        if may_be_erased(item.status, item.error_code):
            over.append(item.id)
        else:
            note = "discard its rest first" if item.status is Status.PARTIAL else "it is not over yet"
            alive.append(BulkItem(job=item.id, ok=True, skipped=True, status=item.status, note=note))
    return over, alive


def would_resolve(job: JobView, seqs: Sequence[int], *, done: bool) -> Shown:
    """The dry run of resolving effects."""
    state = EffectState.RESOLVED_DONE if done else EffectState.RESOLVED_NOT_DONE
    notes = []
    for seq in seqs:
        effect = next((effect for effect in job.effects if effect.seq == seq), None)
        if effect is None:
            raise not_found(f"The plan of {job.id} has no effect {seq}.", code="effect.not_found")
        if effect.state is not EffectState.UNKNOWN:
            raise conflict(
                f"The outcome of effect {seq} is not unknown: it is {effect.state.value}.", code="effect.not_unknown"
            )
        notes.append(f"effect {seq} ({effect.function}) would be {state.value}")
    return would("resolve", [DryRunItem(target=job.id, status=job.status, note="; ".join(notes))])


def resolve_effects(session: Session, job_id: str, seqs: Sequence[int], resolve: Callable[[int], JobView]) -> Shown:
    """Resolves effects of one job, one after the other; says how far it came where one is refused."""
    settled: list[int] = []
    for seq in seqs:
        try:
            job = resolve(seq)
        except VardyError:
            if settled:
                session.note(f"Resolved before that: {effects_named(settled)} of {job_id}.")
            raise
        settled.append(seq)
    return Shown(job)
