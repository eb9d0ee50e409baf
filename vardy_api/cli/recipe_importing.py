"""`vardy recipes import`: files compared with what the service has, checked as a whole, then saved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import unified_diff
from typing import TYPE_CHECKING

from pydantic import ValidationError

from vardy_api.cli.exits import CommandError, ExitCode
from vardy_api.cli.failures import describe
from vardy_api.cli.progress import between_steps, progress
from vardy_api.cli.recipe_exporting import recipe_of
from vardy_api.cli.recipe_reports import Import, ImportedFile, ImportState
from vardy_api.cli.shown import Shown
from vardy_api.cli.text import counted
from vardy_api.client_errors import Invalid, NotFound, Unauthorized, Unreachable
from vardy_worker.contracts.errors import RequestError, VardyError
from vardy_worker.contracts.recipe import FileFinding
from vardy_worker.recipe_files import recipe_file_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_api.cli.recipe_folder import FoundFile
    from vardy_api.cli.session import Session
    from vardy_api.client import Vardy
    from vardy_api.recipe_shapes import RecipeView
    from vardy_worker.contracts.recipe import Recipe
    from vardy_worker.recipe_files import RecipeFile


@dataclass(frozen=True, slots=True)
class _Candidate:
    """One file; `sha256` is that of the recipe that it was compared with."""

    item: ImportedFile
    file: RecipeFile | None = None
    sha256: str | None = None

    @property
    def is_pending(self) -> bool:
        return self.item.state in {ImportState.NEW, ImportState.CHANGED, ImportState.REVIEWED}


def import_files(session: Session, files: Sequence[FoundFile], *, reviewed_by: str, dry_run: bool, yes: bool) -> Shown:
    """Saves what is new or changed. With one file that is not valid, nothing is saved.

    Asks before it saves several. Each save is refused where the recipe changed since it
    was compared.
    """
    checked = [_checked(session.client, file, reviewed_by) for file in progress(session, "check", files)]
    candidates = _refuse_repeated(checked)
    report = _report(candidates, dry_run=dry_run)
    if not report.valid:
        return Shown(report, style="plan", failure=_not_valid(report))
    pending = [candidate for candidate in candidates if candidate.is_pending]
    if dry_run or not pending:
        return Shown(report, style="plan")
    asks = len(pending) > 1 and not yes
    if asks and session.can_ask and not session.as_json:
        session.show(Shown(report, style="plan"))
    if asks:
        session.confirm(f"save {counted(len(pending), 'recipe')}", yes=False)
    return _saved(session, candidates, reviewed_by)


# --- comparing ---------------------------------------------------------------------------------------


def _checked(client: Vardy, found: FoundFile, reviewed_by: str) -> _Candidate:
    if isinstance(found.content, RequestError):
        findings = tuple(FileFinding(**each) for each in found.content.details["problems"])
        return _Candidate(ImportedFile(file=found.shown, state=ImportState.INVALID, findings=findings))
    file = found.content
    item = ImportedFile(file=found.shown, recipe=file.recipe.name, state=ImportState.INVALID)
    try:
        view = _save(client, file.recipe, reviewed_by, dry_run=True)
    except Invalid as error:
        told = {"at": "/source", "message": error.message}
        return _Candidate(item.model_copy(update={"findings": tuple(map(file.finding, error.problems or [told]))}))
    except ValidationError as error:
        problems = [(f"/{part['loc'][0]}", part["msg"].removeprefix("Value error, ")) for part in error.errors()]
        findings = tuple(file.finding({"at": pointer, "message": message}) for pointer, message in problems)
        return _Candidate(item.model_copy(update={"findings": findings}))
    present = _present(client, file.recipe.name)
    findings = tuple(file.finding(warning.model_dump()) for warning in view.warnings)
    if present is None:
        return _Candidate(item.model_copy(update={"state": ImportState.NEW, "findings": findings}), file)
    difference = _difference(present, file.recipe, found.shown)
    state = _state(file.recipe, changed=view.changed, differs=bool(difference))
    update = {
        "state": state,
        "version": present.version,
        "needs_review": state is ImportState.UNCHANGED and present.needs_review,
        "difference": difference if state is ImportState.CHANGED else "",
        "findings": findings,
    }
    return _Candidate(item.model_copy(update=update), file, present.sha256)


def _present(client: Vardy, name: str) -> RecipeView | None:
    try:
        return client.recipe(name)
    except NotFound:
        return None


def _state(recipe: Recipe, *, changed: bool, differs: bool) -> ImportState:
    if not changed or differs:
        return ImportState.CHANGED if changed else ImportState.UNCHANGED
    # Only the versions of functions are other ones. A file that names the present ones was reviewed against them.
    return ImportState.REVIEWED if recipe.functions else ImportState.UNCHANGED


def _difference(present: RecipeView, recipe: Recipe, shown: str) -> str:
    before, after = (_content_lines(each) for each in (recipe_of(present), recipe))
    lines = unified_diff(before, after, f"{present.name} version {present.version}", shown)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _content_lines(recipe: Recipe) -> list[str]:
    """The lines of the recipe's file, without what each version has of its own."""
    own = {"version": 1, "functions": {}, "reviewed_by": "", "reviewed_at_ms": 0}
    lines = recipe_file_text(recipe.model_copy(update=own)).split("\n")
    return [*(f"{line}\n" for line in lines[:-1]), *([lines[-1]] if lines[-1] else [])]


def _refuse_repeated(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    first: dict[str, str] = {}
    checked = []
    for candidate in candidates:
        name, shown = candidate.item.recipe, candidate.item.file
        if candidate.file is not None and name in first:
            finding = candidate.file.finding({"at": "/name", "message": f"the recipe {name} is in {first[name]} too"})
            update = {"state": ImportState.INVALID, "findings": (finding,)}
            candidate = replace(candidate, item=candidate.item.model_copy(update=update))  # noqa: PLW2901 - the same one, judged
        first.setdefault(name, shown)
        checked.append(candidate)
    return checked


# --- saving ------------------------------------------------------------------------------------------


def _save(
    client: Vardy,
    recipe: Recipe,
    reviewed_by: str,
    *,
    expect_version: int | None = None,
    expect_sha256: str | None = None,
    dry_run: bool = False,
) -> RecipeView:
    return client.save_recipe(
        recipe.name,
        source=recipe.source,
        description=recipe.description,
        params_schema=recipe.params_schema,
        judge=recipe.judge,
        envelope=recipe.envelope,
        functions=recipe.functions or None,
        reviewed_by=reviewed_by or recipe.reviewed_by,
        expect_version=expect_version,
        expect_sha256=expect_sha256,
        dry_run=dry_run,
    )


def _saved(session: Session, candidates: Sequence[_Candidate], reviewed_by: str) -> Shown:
    """One failure does not stop the rest, but a lost connection or key does. A Ctrl-C ends it between two saves."""
    done: dict[int, ImportedFile] = {}
    failure: CommandError | None = None
    pending = [index for index, candidate in enumerate(candidates) if candidate.is_pending]
    try:
        with between_steps() as step:
            for index in progress(session, "save", pending):
                step()
                try:
                    done[index] = _saved_one(session.client, candidates[index], reviewed_by)
                except (Unreachable, Unauthorized) as error:
                    if not any(item.saved for item in done.values()):
                        raise
                    done |= {left: _failed(candidates[left], error) for left in pending if left not in done}
                    break
                except VardyError as error:
                    if len(pending) == 1:
                        raise
                    done[index] = _failed(candidates[index], error)
    except KeyboardInterrupt:
        failure = _interrupted(done, len(pending))
    merged = [replace(each, item=done.get(index, each.item)) for index, each in enumerate(candidates)]
    failed = sum(item.error is not None for item in done.values())
    if failed and failure is None:
        message = f"import: {failed} of {counted(len(pending), 'recipe')} could not be saved."
        failure = CommandError(
            message,
            code="cli.bulk_failed",
            title="Some of the changes failed",
            exit_code=ExitCode.BULK_FAILED,
            details={"total": len(pending), "failed": failed},
        )
    return Shown(_report(merged, dry_run=False), failure=failure)


def _saved_one(client: Vardy, candidate: _Candidate, reviewed_by: str) -> ImportedFile:
    assert candidate.file is not None  # noqa: S101 - narrows the type; what is pending was read
    view = _save(
        client,
        candidate.file.recipe,
        reviewed_by,
        expect_version=candidate.item.version or 0,
        expect_sha256=candidate.sha256,
    )
    return candidate.item.model_copy(update={"saved": view.changed, "version": view.version})


def _failed(candidate: _Candidate, error: VardyError) -> ImportedFile:
    return candidate.item.model_copy(update={"error": describe(error).problem()})


def _report(candidates: Sequence[_Candidate], *, dry_run: bool) -> Import:
    items = tuple(candidate.item for candidate in candidates)
    return Import(dry_run=dry_run, valid=all(item.state is not ImportState.INVALID for item in items), items=items)


def _not_valid(report: Import) -> CommandError:
    invalid = sum(item.state is ImportState.INVALID for item in report.items)
    return CommandError(
        f"{invalid} of {counted(len(report.items), 'file')} not valid; nothing was saved.",
        code="cli.recipes_invalid",
        title="Files of recipes are not valid",
        details={"total": len(report.items), "invalid": invalid},
    )


def _interrupted(done: dict[int, ImportedFile], total: int) -> CommandError:
    saved = sum(item.saved for item in done.values())
    return CommandError(
        f"Interrupted: {saved} of {counted(total, 'recipe')} saved. The same command again goes on with the rest.",
        code="cli.interrupted",
        title="The command was interrupted",
        exit_code=ExitCode.INTERRUPTED,
    )
