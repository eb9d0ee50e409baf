"""Recipes: lists, one with its params and program, differences, files that go out and come in."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from rich.text import Text

from vardy_api.cli.drawings import facts
from vardy_api.cli.grid import Grid
from vardy_api.cli.recipe_reports import FileState, ImportState
from vardy_api.cli.report import code
from vardy_api.cli.text import ago, counted, one_line, short_json, visible

if TYPE_CHECKING:
    from vardy_api.cli.output import Output
    from vardy_api.cli.recipe_reports import Export, Import, ImportedFile
    from vardy_api.recipe_shapes import RecipeDifference, RecipeList, RecipeView
    from vardy_worker.contracts.envelope import Envelope, FunctionEnvelope

VALUE_CHARACTERS: Final = 200
"""Characters of a field that a difference shows; --json has all."""
_DIFF_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}
_STATES: Final = {
    ImportState.NEW: "green",
    ImportState.CHANGED: "yellow",
    ImportState.REVIEWED: "yellow",
    ImportState.UNCHANGED: "dim",
    ImportState.INVALID: "bold red",
    FileState.NEW: "green",
    FileState.CHANGED: "yellow",
    FileState.UNCHANGED: "dim",
    FileState.REMOVED: "red",
}
_SEVERITIES: Final = {"error": "bold red", "warning": "bold yellow"}


def recipes(out: Output, found: RecipeList) -> None:
    """Recipes, or the versions of one."""
    if not found.items:
        out.line("There is no recipe yet; save one with `vardy recipes save NAME --from-job JOB`.")
        return
    columns = ("name", "version", "review", "judge", "reviewed", "description")
    grid = Grid(*columns, gives_way=("description", "reviewed", "name"), right=frozenset({"version"}))
    for view in found.items:
        reviewed = f"{one_line(view.reviewed_by) or '-'}, {ago(view.reviewed_at, out.now)}"
        review = Text("needed", style="yellow") if view.needs_review else Text("ok", style="green")
        judge = "yes" if view.judge else "-"
        grid.row(view.name, str(view.version), review, judge, reviewed, one_line(view.description))
    out.grid(grid)


def recipe(out: Output, view: RecipeView, style: str) -> None:
    """A recipe with its params and program; after a change only what is new. `style`: `saved`, `reviewed` or ""."""
    if style:
        _after(out, view, style)
    else:
        out.line(Text(view.name, style="bold").append(f"  version {view.version}", style="not bold dim"))
        if view.description:
            out.line(view.description)
        facts(
            out,
            ("calls", ", ".join(sorted(view.functions)) or "no function"),
            ("judge", "yes: its program has classify and ai" if view.judge else ""),
            ("reviewed", f"{view.reviewed_by or '-'}, {ago(view.reviewed_at, out.now)}"),
            ("from job", view.from_job or ""),
        )
        changes(out, view)
        _params(out, view)
        _envelope(out, view.envelope)
        out.line()
        code(out, view.source, "javascript")
    for finding in view.warnings:
        out.line(f"Warning: line {finding.line}: {finding.message}", style="yellow")


def _after(out: Output, view: RecipeView, style: str) -> None:
    done = style.capitalize()
    if view.dry_run:
        what = f"would become version {view.version}" if view.changed else f"is the same as version {view.version}"
        out.line(f"Dry run: nothing was changed. {view.name} is valid and {what}.")
    elif view.changed:
        out.line(f"{done} {view.name} as version {view.version}.")
    else:
        reviewer = one_line(view.reviewed_by)
        seen = f", which {reviewer} reviewed," if reviewer else ""
        out.line(f"Nothing to do: version {view.version} of {view.name}{seen} is the same already.")


def changes(out: Output, view: RecipeView) -> None:
    """What changed of the functions since the recipe was reviewed."""
    if not view.needs_review:
        return
    out.line()
    out.line("Needs a review; since the last one its functions changed:", style="yellow")
    for change in view.changes:
        out.line(f"  {one_line(change.function)}: {one_line(change.message)}")


def _params(out: Output, view: RecipeView) -> None:
    fields = _schema_fields(view.params_schema)
    if not fields:
        return
    out.line()
    grid = Grid("param", "type", "", gives_way=("type", "param"), whole=True)
    for row in fields:
        grid.row(*(one_line(cell) for cell in row))
    out.grid(grid)


def _schema_fields(schema: dict[str, object]) -> list[tuple[str, str, str]]:
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


def _envelope(out: Output, envelope: Envelope | None) -> None:
    if envelope is None:
        return
    most = "" if envelope.effects_max is None else f", {counted(envelope.effects_max, 'effect')} in all"
    out.line()
    out.line(Text("Envelope", style="bold").append(f"  at most, in one plan{most}", style="not bold dim"))
    for name, bounds in envelope.functions.items():
        out.line(f"  {one_line(name)}: {_bounds(bounds)}")
    if not envelope.functions:
        out.line("  no write at all")


def _bounds(envelope: FunctionEnvelope) -> str:
    parts = [counted(envelope.effects_max, "effect")]
    for name, bounds in envelope.arguments.items():
        told = [f"at least {bounds.min}"] if bounds.min is not None else []
        told += [f"at most {bounds.max}"] if bounds.max is not None else []
        told += [f"at most {bounds.sum_max} in all"] if bounds.sum_max is not None else []
        if told:
            parts.append(f"{one_line(name)} {', '.join(told)}")
    return "; ".join(parts)


def difference(out: Output, found: RecipeDifference) -> None:
    """What differs between two versions."""
    head = Text(found.name, style="bold")
    out.line(head.append(f"  version {found.before} → {found.after}", style="not bold dim"))
    if not found.fields and not found.source:
        out.line("The two are the same.")
    for field in found.fields:
        before, after = (short_json(value, VALUE_CHARACTERS) for value in (field.before, field.after))
        out.line()
        out.line(field.field, style="bold")
        out.stdout.print(Text(f"- {before}", style="red"), soft_wrap=True)
        out.stdout.print(Text(f"+ {after}", style="green"), soft_wrap=True)
    if found.source:
        out.line()
        _diff(out, found.source)


def _diff(out: Output, text: str, indent: str = "") -> None:
    for line in text.removesuffix("\n").split("\n"):
        shown = Text(f"{indent}{visible(line)}", style=_DIFF_STYLES.get(line[:1], ""))
        out.stdout.print(shown, soft_wrap=True)


def export(out: Output, report: Export) -> None:
    """One line for each file."""
    if not report.items:
        out.line("There is no recipe to export.")
        return
    for item in report.items:
        line = _state(item.state)
        if item.recipe is not None:
            line.append(item.recipe, style="not dim default").append(f"  version {item.version}", style="not bold dim")
            line.append("  ")
        out.stdout.print(line.append(one_line(item.file), style="not bold dim"), soft_wrap=True)
    if report.dry_run:
        out.line("Dry run: nothing was written.", style="dim")


def _state(state: FileState | ImportState) -> Text:
    return Text(f"{state.value:<11}", style=_STATES[state])


def imported(out: Output, report: Import, style: str) -> None:
    """What becomes, or became, of each file. `style`: `plan` shows differences, "" what was saved."""
    for item in report.items:
        _imported_file(out, item, style)
    counts = Counter(item.state for item in report.items)
    told = ", ".join(f"{counts[state]} {state.value}" for state in ImportState if counts[state])
    saved = sum(item.saved for item in report.items)
    if style == "plan":
        dry = "Dry run: nothing was saved. " if report.dry_run else ""
        out.line(f"{dry}{counted(len(report.items), 'file')}: {told}.", style="dim")
    else:
        out.line(f"Saved {counted(saved, 'recipe')} of {counted(len(report.items), 'file')} ({told}).")


def _imported_file(out: Output, item: ImportedFile, style: str) -> None:
    line = _state(item.state)
    line.append(one_line(item.recipe or "-"), style="not dim not bold default")
    if item.version is not None:
        line.append(f"  version {item.version}", style="not bold dim")
    line.append(f"  {one_line(item.file)}", style="not bold dim")
    if item.error is not None:
        line.append("  failed", style="bold red")
    out.stdout.print(line, soft_wrap=True)
    for finding in item.findings:
        place = Text(f"  {one_line(item.file)}:{finding.line}:{finding.column}: ", style="bold")
        place.append(f"{finding.severity}: ", style=_SEVERITIES[finding.severity])
        place.append(one_line(finding.message), style="not bold default")
        if finding.code:
            place.append(f" [{finding.code}]", style="not bold dim")
        out.stdout.print(place, soft_wrap=True)
    if item.needs_review:
        hint = f"  Its functions changed since it was reviewed; see `vardy recipes review {item.recipe}`."
        out.stdout.print(Text(hint, style="yellow"), soft_wrap=True)
    if item.error is not None:
        out.stdout.print(Text(f"  {one_line(str(item.error['detail']))}", style="red"), soft_wrap=True)
    if item.difference and style == "plan":
        _diff(out, item.difference, "  ")
