"""A commit's story: what happened to each effect, when, and by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api.cli.grid import Grid
from vardy_api.cli.report import job_report, section, state_text
from vardy_api.cli.text import duration, one_line
from vardy_worker.contracts.journal import EffectState
from vardy_worker.contracts.view import JobView, JournalEntryView

if TYPE_CHECKING:
    from vardy_api.cli.output import Output
    from vardy_api.shapes import JournalView


class CommitReport(JobView):
    """A job with the journal of its commit, oldest first."""

    journal: tuple[JournalEntryView, ...] = ()


def commit_report(job: JobView, journal: JournalView) -> CommitReport:
    """Both in one."""
    fields = {name: getattr(job, name) for name in JobView.model_fields}
    return CommitReport.model_construct(**fields, journal=journal.items)


def draw_commit(out: Output, commit: CommitReport) -> None:
    """The job in full, then its timeline."""
    job_report(out, commit, whole=True)
    if not commit.journal:
        return
    first = commit.journal[0].at
    section(out, "Timeline", f"UTC, from {first:%Y-%m-%d}")
    grid = Grid("time", "effect", "state", "try", "what", gives_way=("what",), whole=True, right=frozenset({"try"}))
    holders: dict[int, tuple[str, int]] = {}
    day = first.date()
    for entry in commit.journal:
        at = entry.at
        # A day is named where it begins.
        time = f"{at:%H:%M:%S}.{at.microsecond // 1000:03}" if at.date() == day else f"{at:%m-%d %H:%M:%S}"
        day = at.date()
        grid.row(time, str(entry.seq), state_text(entry.state), str(entry.attempt), _what(entry, holders))
    out.grid(grid, indent=2)


def _what(entry: JournalEntryView, holders: dict[int, tuple[str, int]]) -> str:
    """The rest of an entry in words. The worker is named where it is another one than before."""
    parts = []
    holder = (entry.worker, entry.fence)
    if entry.worker and (entry.state is EffectState.STARTED or holders.get(entry.seq) != holder):
        parts.append(f"{one_line(entry.worker)}, fence {entry.fence}")
        holders[entry.seq] = holder
    if entry.code:
        parts.append(entry.code)
    if entry.due_at is not None:
        pause = duration((entry.due_at - entry.at).total_seconds())
        parts.append(f"again at {entry.due_at:%H:%M:%S}, after {pause}")
    if entry.by:
        said = f": {one_line(entry.reason)}" if entry.reason else ""
        parts.append(f"{one_line(entry.by)}{said}")
    return "; ".join(parts)
