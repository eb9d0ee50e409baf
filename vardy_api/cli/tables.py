"""Lists as tables that fit the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from vardy_api.cli.report import status_text
from vardy_api.cli.text import ago, counted, one_line, short_json, until
from vardy_worker.contracts.functions import FunctionKind

if TYPE_CHECKING:
    from vardy_api.cli.bulk import BulkResult, DryRun
    from vardy_api.cli.output import Output
    from vardy_api.shapes import KeyList, RecipeList, SummaryPage, SummaryView
    from vardy_worker.contracts.functions import Catalogue

WHOLE_TEXT = frozenset({"what", "error", "note"})


def summaries(out: Output, page: SummaryPage, style: str) -> None:
    """Jobs, one a line. `style` chooses the columns: jobs, `approvals` or `commits`."""
    if not page.items:
        out.line(
            {"approvals": "No plan waits for approval.", "commits": "No commit needs anybody."}.get(
                style, "No job matches."
            )
        )
        return
    last = {"approvals": "expires", "commits": "error"}.get(style, "made")
    table = out.table("job", "status", "for", "effects", last, "asked")
    for name in ("job", "status", last):
        column = next(column for column in table.columns if column.header == name.upper())
        column.no_wrap, column.min_width = True, {"job": 30, "status": 8}.get(name, 7)
    table.columns[3].justify = "right"
    for item in page.items:
        table.add_row(
            item.id,
            status_text(item.status, item.stage.value if item.stage else ""),
            one_line(item.user),
            str(item.effects_total or "-"),
            _last(out, item, style),
            _asked(item),
        )
    out.stdout.print(table)
    if page.next is not None:
        out.line(f"There are more; see them with --all, or with --cursor {page.next}", style="dim")


def _last(out: Output, item: SummaryView, style: str) -> str:
    match style:
        case "approvals":
            return until(item.expires_at, out.now)
        case "commits":
            return item.error_code or "-"
        case _:
            return ago(item.created_at, out.now)


def _asked(item: SummaryView) -> str:
    return f"recipe {item.recipe}" if item.recipe else one_line(item.request or "")


def recipes(out: Output, found: RecipeList) -> None:
    """Recipes, or the versions of one."""
    if not found.items:
        out.line("There is no recipe yet; save one with `vardy recipes save NAME --from-job JOB`.")
        return
    table = out.table("name", "version", "functions", "reviewed", "description")
    for recipe in found.items:
        reviewed = f"{one_line(recipe.reviewed_by) or '-'}, {ago(recipe.reviewed_at, out.now)}"
        functions = ", ".join(sorted(recipe.functions)) or "-"
        table.add_row(recipe.name, str(recipe.version), functions, reviewed, one_line(recipe.description))
    out.stdout.print(table)


def functions(out: Output, catalogue: Catalogue) -> None:
    """The catalogue."""
    if not catalogue.functions:
        out.line("The catalogue is empty; a worker publishes it when it starts.")
        return
    table = out.table("name", "kind", "roles", "what")
    for spec in catalogue.functions:
        kind = Text(spec.kind.value, style="yellow" if spec.kind is FunctionKind.WRITE else "")
        first = spec.doc.strip().split("\n")[0] if spec.doc else ""
        table.add_row(spec.name, kind, ", ".join(spec.roles) or "everybody", one_line(first))
    out.stdout.print(table)


def keys(out: Output, found: KeyList) -> None:
    """API keys without their secrets."""
    table = out.table("id", "name", "owner", "person", "scopes", "state")
    for key in found.items:
        if key.revoked_at is not None:
            state = f"revoked {ago(key.revoked_at, out.now)}"
        elif key.expires_at is not None:
            state = f"expires {until(key.expires_at, out.now)}".replace("expires expired", "expired")
        else:
            state = "valid"
        person = key.person.id if key.person else "anyone"
        scopes = ", ".join(scope.value for scope in key.scopes)
        table.add_row(key.id, one_line(key.name), one_line(key.owner), one_line(person), scopes, state)
    out.stdout.print(table)


def bulk_result(out: Output, result: BulkResult) -> None:
    """What became of each job."""
    table = out.table("job", "", "status", "error", whole=WHOLE_TEXT)
    for item in result.items:
        mark = Text("ok", style="green") if item.ok else Text("failed", style="red")
        error = item.error or {}
        sentence = one_line(str(error.get("detail") or error.get("message") or ""))
        table.add_row(item.job, mark, status_text(item.status) if item.status else "-", sentence)
    out.stdout.print(table)
    out.line(f"{result.action}: {result.succeeded} of {counted(result.total, 'job')} ended well.")


def dry_run(out: Output, plan: DryRun) -> None:
    """What would be done."""
    allowed = sum(item.allowed for item in plan.items)
    out.line(f"Dry run, nothing is changed. {plan.action} would be done to {counted(allowed, 'thing')}.", style="dim")
    if not plan.items:
        return
    table = out.table("what", "", "status", "note", whole=WHOLE_TEXT)
    for item in plan.items:
        mark = Text("would", style="green") if item.allowed else Text("refused", style="red")
        table.add_row(item.target, mark, status_text(item.status) if item.status else "-", one_line(item.note))
    out.stdout.print(table)


def schema_fields(schema: dict[str, object]) -> list[tuple[str, str, str]]:
    """Name, type and whether it is needed, of each property of an object schema."""
    properties = schema.get("properties")
    required = schema.get("required")
    needed = set(required) if isinstance(required, list) else set()
    if not isinstance(properties, dict):
        return []
    return [(name, _type_of(part), "needed" if name in needed else "") for name, part in properties.items()]


def _type_of(part: object) -> str:
    if not isinstance(part, dict):
        return "any"
    if "enum" in part:
        return " | ".join(short_json(value) for value in part["enum"])
    if "anyOf" in part:
        return " | ".join(_type_of(option) for option in part["anyOf"])
    return str(part.get("type") or part.get("$ref", "any")).rpartition("/")[2]
