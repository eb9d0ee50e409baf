"""Lists as tables that fit the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from vardy_api.cli.grid import Grid
from vardy_api.cli.report import status_text
from vardy_api.cli.text import ago, counted, expiry, one_line
from vardy_worker.contracts.functions import FunctionKind

if TYPE_CHECKING:
    from vardy_api.cli.bulk import BulkItem, BulkResult, DryRun
    from vardy_api.cli.output import Output
    from vardy_api.shapes import SummaryPage, SummaryView
    from vardy_worker.contracts.functions import Catalogue


ROWS_MAX = 100
"""Jobs of a bulk change up to which people see what became of each, those that are ok too."""

_SUMMARY_COLUMNS = {
    "": ("job", "status", "for", "made", "asked"),
    "approvals": ("job", "for", "effects", "expires", "asked"),
    "commits": ("job", "status", "for", "error", "asked"),
}
"""What a listing shows of each job: little enough for a terminal of 80 columns to keep every id whole."""
_NOTHING = {
    "": "No job matches.",
    "approvals": "No plan was found that waits for approval.",
    "commits": "No commit was found that needs anybody.",
}


def summaries(out: Output, page: SummaryPage, style: str) -> None:
    """Jobs, one a line. `style` chooses the columns: "" for jobs, `approvals`, `commits`."""
    if not page.items:
        out.line(_NOTHING[style])
        return
    columns = _SUMMARY_COLUMNS[style]
    grid = Grid(*columns, gives_way=("asked", "error", "for"), right=frozenset({"effects"}))
    for item in page.items:
        cells = _summary_cells(out, item)
        grid.row(*(cells[column] for column in columns))
    out.grid(grid)
    if page.next is not None:
        out.line(f"There are more; see them with --all, or with --cursor {page.next}", style="dim")


def _summary_cells(out: Output, item: SummaryView) -> dict[str, str | Text]:
    return {
        "job": item.id,
        "status": status_text(item.status, item.stage.value if item.stage else ""),
        "for": one_line(item.user),
        "effects": str(item.effects_total or "-"),
        "made": ago(item.created_at, out.now),
        "expires": expiry(item.expires_at, out.now).removeprefix("expires "),
        "error": item.error_code or "-",
        "asked": _asked(item),
    }


def _asked(item: SummaryView) -> str:
    return f"recipe {item.recipe}" if item.recipe else one_line(item.request or "")


def functions(out: Output, catalogue: Catalogue) -> None:
    """The catalogue."""
    if not catalogue.functions:
        out.line("The catalogue is empty; a worker publishes it when it starts.")
        return
    grid = Grid("name", "kind", "roles", "what", gives_way=("what", "roles", "name"))
    for spec in catalogue.functions:
        kind = Text(spec.kind.value, style="yellow" if spec.kind is FunctionKind.WRITE else "")
        first = spec.doc.strip().split("\n")[0] if spec.doc else ""
        grid.row(spec.name, kind, ", ".join(spec.roles) or "everybody", one_line(first))
    out.grid(grid)


def bulk_result(out: Output, result: BulkResult) -> None:
    """What became of each job; of very many, only of those that are not ok."""
    few = len(result.items) <= ROWS_MAX
    rows = [item for item in result.items if few or not item.ok]
    grid = Grid("job", "", "status", "note", gives_way=("note",), whole=True)
    for item in rows:
        grid.row(item.job, _mark(item), status_text(item.status) if item.status else "-", _note(item))
    if rows:
        out.grid(grid)
    skipped = f"; {result.skipped} skipped" if result.skipped else ""
    out.line(f"{result.action}: {result.succeeded} of {counted(result.total, 'job')} ok{skipped}.")


def _mark(item: BulkItem) -> Text:
    if item.skipped:
        return Text("skipped", style="dim")
    return Text("ok", style="green") if item.ok else Text("failed", style="red")


def _note(item: BulkItem) -> str:
    error = item.error or {}
    return one_line(item.note or str(error.get("detail") or error.get("message") or ""))


def dry_run(out: Output, plan: DryRun) -> None:
    """What would be done."""
    allowed = sum(item.allowed for item in plan.items)
    out.line(f"Dry run: nothing was changed. It would {plan.action} {allowed} of {len(plan.items)}.", style="dim")
    if not plan.items:
        return
    grid = Grid("what", "", "status", "note", gives_way=("note",), whole=True)
    for item in plan.items:
        mark = Text("would", style="green") if item.allowed else Text("refused", style="red")
        grid.row(item.target, mark, status_text(item.status) if item.status else "-", one_line(item.note))
    out.grid(grid)
