"""The audit trail as people see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from vardy_api.cli.auditing import summary
from vardy_api.cli.grid import Grid
from vardy_api.cli.text import counted, one_line, short_json
from vardy_worker.contracts.view import moment

if TYPE_CHECKING:
    from vardy_api.cli.audit_comparing import AuditVerdict
    from vardy_api.cli.auditing import Exported
    from vardy_api.cli.output import Output
    from vardy_worker.contracts.audit import AuditEntry, AuditPage

BROKEN_SHOWN_MAX = 20
WIDE = 140
"""Columns from which on an entry is shown with all that it says; below, ids stay whole."""


def entries(out: Output, page: AuditPage) -> None:
    """Entries, one a line; with states and details where there is room."""
    if not page.items:
        out.line("Nothing was noted that matches.")
        return
    is_wide = out.stdout.width >= WIDE
    more = ("status", "what") if is_wide else ()
    grid = Grid("time", "by", "action", "about", *more, gives_way=("what", "by") if is_wide else ("by",))
    for entry in page.items:
        cells = (_time(entry, seconds=is_wide), one_line(entry.by), entry.action, _about(entry))
        grid.row(*cells, *((_status(entry), _what(entry)) if is_wide else ()))
    out.grid(grid)
    if not is_wide:
        out.line("A wider terminal, a pipe and --json show more of each.", style="dim")
    if page.next is not None:
        out.line(f"There are more; see them with --all, or with --cursor {page.next}", style="dim")


def _time(entry: AuditEntry, *, seconds: bool) -> str:
    at = moment(entry.at_ms)
    shape = "%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M"
    return f"{at.astimezone():{shape}}" if at else "-"


def _about(entry: AuditEntry) -> str:
    return one_line(entry.subject) or entry.chain


def _status(entry: AuditEntry) -> str:
    before = entry.before.status.value if entry.before and entry.before.status else ""
    after = entry.after.status.value if entry.after and entry.after.status else ""
    if not after:
        return f"version {entry.after.version}" if entry.after and entry.after.version else "-"
    return after if before in {"", after} else f"{before} → {after}"


def _what(entry: AuditEntry) -> str:
    parts = [
        f"{name} {one_line(short_json(value))}" for name, value in entry.details.items() if value not in (None, "", [])
    ]
    if entry.text is not None:
        parts.insert(0, f"“{one_line(entry.text.reason)}”")
    elif entry.text_sha256:
        parts.insert(0, "(text erased)")
    where = " ".join(part for part in (entry.via, entry.key_id, entry.address) if part)
    return "; ".join([*parts, where])


def verdict(out: Output, found: AuditVerdict) -> None:
    """What a check found."""
    out.line(Text(summary(found), style="green" if found.ok else "red"))
    for item in found.broken[:BROKEN_SHOWN_MAX]:
        out.line(f"  {one_line(item.chain)}: {one_line(item.message)}" if item.chain else f"  {one_line(item.message)}")
    if len(found.broken) > BROKEN_SHOWN_MAX:
        out.line(f"  and {len(found.broken) - BROKEN_SHOWN_MAX} more; --json names all.", style="dim")


def exported(out: Output, written: Exported) -> None:
    """What was written."""
    lines = counted(written.entries, "line")
    out.line(f"{lines} written to {written.file}." if written.entries else f"Nothing new for {written.file}.")
