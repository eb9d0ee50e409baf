"""Recipes: reviewed programs under a name, validated when they are saved and when they are reviewed again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vardy_api.operations.caller import require_somebody
from vardy_api.operations.jobs import plan_of
from vardy_api.operations.recipe_differences import difference
from vardy_worker.contracts.audit import Action, AuditNote
from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.user import Scope
from vardy_worker.documents import (
    RECIPES,
    keep_function_versions,
    read_function_version,
    read_recipe,
    recipe_version,
    recipe_versions,
)
from vardy_worker.functions.changes import changes_of
from vardy_worker.logs import get_logger
from vardy_worker.programs.recipes import RecipeDraft, make_recipe
from vardy_worker.rules.envelope import seen
from vardy_worker.store.cursor import invalid_cursor, make_cursor, read_cursor, read_name_cursor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_api.operations.caller import Caller
    from vardy_api.operations.catalogue import CatalogueReader
    from vardy_api.operations.jobs import JobOperations
    from vardy_api.recipe_shapes import RecipeDifference, RecipeReview, RecipeSave
    from vardy_worker.contracts.envelope import Envelope
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.program import Finding
    from vardy_worker.contracts.recipe import FunctionChange, Recipe
    from vardy_worker.ports import Clock, Documents


log = get_logger(__name__)

SAVE_TRIES = 5
"""How often a save is begun again because somebody else saved meanwhile."""


@dataclass(frozen=True, slots=True)
class FoundRecipe:
    """A stored version, and what changed of its functions since it was reviewed: with any, it needs a review."""

    recipe: Recipe
    changes: tuple[FunctionChange, ...] = ()


@dataclass(frozen=True, slots=True)
class RecipePage:
    """Some recipes, or versions of one. `next` is the cursor of the following ones."""

    items: Sequence[FoundRecipe]
    next: str | None


@dataclass(frozen=True, slots=True)
class SavedRecipe:
    """What came of a save or a review: the version that holds now, or would, and the warnings of its program.

    `changed` is false where the newest version is the same already.
    """

    recipe: Recipe
    warnings: tuple[Finding, ...]
    changed: bool


class RecipeOperations:
    """The use cases around recipes."""

    def __init__(
        self,
        documents: Documents,
        catalogue: CatalogueReader,
        jobs: JobOperations,
        clock: Clock,
        *,
        program_bytes_max: int,
    ) -> None:
        self._documents = documents
        self._catalogue = catalogue
        self._jobs = jobs
        self._clock = clock
        self._program_bytes_max = program_bytes_max

    # --- reading ------------------------------------------------------------------------------

    def list(self, *, cursor: str | None, limit: int) -> RecipePage:
        """A page of the newest version of each, by name. Raises `cursor.invalid`."""
        page = self._documents.page(RECIPES, after=read_name_cursor(cursor), limit=limit)
        found = self._found([recipe_version(document) for document in page.items])
        return RecipePage(found, None if page.last is None else make_cursor(0, page.last))

    def get(self, name: str) -> FoundRecipe:
        """The newest version, which is the one that runs. Raises `recipe.not_found`."""
        return self._found([self._newest(name)])[0]

    def versions(self, name: str, *, cursor: str | None, limit: int) -> RecipePage:
        """A page of its versions, oldest first. Raises `recipe.not_found`, `cursor.invalid`."""
        after = 0 if cursor is None else _version_seen(cursor, name)
        found = recipe_versions(self._documents, name, after=after, limit=limit + 1)
        if not found:
            self._newest(name)
        more = make_cursor(found[limit - 1].version, name) if len(found) > limit else None
        return RecipePage(self._found(found[:limit]), more)

    def version(self, name: str, number: int) -> FoundRecipe:
        """One version. Raises `recipe.not_found`."""
        return self._found([self._numbered(name, number)])[0]

    def difference(self, name: str, *, before: int | None, after: int | None) -> RecipeDifference:
        """What differs between two versions: unless said otherwise, the newest and the one before it.

        Raises `recipe.not_found`.
        """
        later = self._newest(name) if after is None else self._numbered(name, after)
        return difference(self._numbered(name, later.version - 1 if before is None else before), later)

    # --- changing -----------------------------------------------------------------------------

    def save(self, caller: Caller, name: str, request: RecipeSave, *, dry_run: bool = False) -> SavedRecipe:
        """Stores a new version, pinned to the present versions of the functions that it calls.

        Nothing is stored where the newest version is the same already. A dry run, which needs no
        scope, stores nothing. Raises `auth.scope`, `request.invalid`, `recipe.invalid` with every
        finding, `recipe.conflict`, `job.not_found`, `plan.none`, `plan.erased`.
        """
        if not dry_run:
            caller.need(Scope.OPERATE)
        catalogue = self._catalogue.current()
        source = self._source(caller, request)
        draft = RecipeDraft(
            name=name,
            source=source,
            description=request.description,
            params_schema=request.params_schema,
            judge=request.judge,
            envelope=self._envelope(caller, request, source, catalogue),
            functions=request.functions,
            from_job=request.from_job,
        )
        recipe, findings = self._make(caller, draft, catalogue, request.reviewed_by)
        if not dry_run:
            _require_reviewer(caller, recipe, request.reviewed_by)
        for _ in range(SAVE_TRIES):
            newest = read_recipe(self._documents, name)
            known = 0 if newest is None else newest.version
            if request.expect_version not in {None, known} or _is_another(newest, request):
                break
            if newest is not None and newest.digest == recipe.digest:
                return SavedRecipe(newest, findings, changed=False)
            saved = self._put(caller, recipe, Action.RECIPE_SAVED, catalogue, over=known, dry_run=dry_run)
            if saved is not None:
                if not dry_run:
                    log.info("recipe.saved", recipe=name, version=saved.version, key_id=caller.key.id)
                return SavedRecipe(saved, findings, changed=True)
        raise _conflict(name, request.expect_version)

    def review(self, caller: Caller, name: str, request: RecipeReview, *, dry_run: bool = False) -> SavedRecipe:
        """Makes a new version of the same program, pinned to the functions as they are now.

        Raises as `save` does, and `recipe.not_found`.
        """
        if not dry_run:
            caller.need(Scope.OPERATE)
        newest, catalogue = self._newest(name), self._catalogue.current()
        if request.expect_version not in {None, newest.version} or _is_another(newest, request):
            raise _conflict(name, request.expect_version)
        draft = RecipeDraft(
            name=name,
            source=newest.source,
            description=newest.description if request.description is None else request.description,
            params_schema=newest.params_schema,
            judge=newest.judge,
            envelope=newest.envelope if request.keeps_envelope else request.envelope,
            from_job=newest.from_job,
        )
        recipe, findings = self._make(caller, draft, catalogue, request.reviewed_by)
        if not dry_run:
            _require_reviewer(caller, recipe, request.reviewed_by)
        saved = self._put(caller, recipe, Action.RECIPE_REVIEWED, catalogue, over=newest.version, dry_run=dry_run)
        if saved is None:
            raise _conflict(name, newest.version)
        if not dry_run:
            log.info("recipe.reviewed", recipe=name, version=saved.version, key_id=caller.key.id)
        return SavedRecipe(saved, findings, changed=True)

    def delete(self, caller: Caller, name: str) -> None:
        """Deletes all versions. Jobs that were submitted keep theirs. Raises `recipe.not_found`."""
        caller.need(Scope.OPERATE)
        noted = self._note(Action.RECIPE_DELETED, caller, self._newest(name))
        if not self._documents.delete(RECIPES, name, audit=[noted]):
            raise _not_found(name)
        log.info("recipe.deleted", recipe=name, key_id=caller.key.id)

    # --- inside -------------------------------------------------------------------------------

    def _newest(self, name: str) -> Recipe:
        recipe = read_recipe(self._documents, name)
        if recipe is None:
            raise _not_found(name)
        return recipe

    def _numbered(self, name: str, number: int) -> Recipe:
        found = recipe_versions(self._documents, name, after=number - 1, limit=1) if number > 0 else ()
        if found:
            return found[0]
        newest = self._newest(name).version
        raise RequestError(
            f"There is no version {number} of recipe {name!r}; the newest is {newest}.",
            code="recipe.not_found",
            details={"recipe": name, "version": number, "newest": newest},
        )

    def _found(self, recipes: Sequence[Recipe]) -> Sequence[FoundRecipe]:
        catalogue = self._catalogue.current()
        # Of a function that changed, many recipes may say the same.
        said: dict[tuple[str, str], tuple[FunctionChange, ...]] = {}
        found = []
        for recipe in recipes:
            pins = [(name, recipe.functions[name]) for name in recipe.changed_functions(catalogue)]
            for name, version in pins:
                if (name, version) not in said:
                    before = read_function_version(self._documents, name, version)
                    said[name, version] = changes_of(name, before, catalogue.get(name))
            found.append(FoundRecipe(recipe, tuple(change for pin in pins for change in said[pin])))
        return found

    def _make(
        self, caller: Caller, draft: RecipeDraft, catalogue: Catalogue, reviewed_by: str
    ) -> tuple[Recipe, tuple[Finding, ...]]:
        bound = caller.key.person
        if bound is None:
            require_somebody(reviewed_by, "/reviewed_by")
        return make_recipe(
            draft,
            catalogue,
            program_bytes_max=self._program_bytes_max,
            reviewed_by=bound.id if bound else reviewed_by or caller.key.owner,
            now_ms=self._clock.now_ms(),
        )

    def _put(
        self, caller: Caller, recipe: Recipe, action: Action, catalogue: Catalogue, *, over: int, dry_run: bool
    ) -> Recipe | None:
        """Stores the recipe as the version after `over`; None where that is not the newest any more."""
        if dry_run:
            return recipe.model_copy(update={"version": over + 1})
        keep_function_versions(self._documents, (s for s in catalogue.functions if s.name in recipe.functions))
        value = recipe.model_dump(mode="json", exclude={"version"})
        noted = self._note(action, caller, recipe)
        stored = self._documents.put(RECIPES, recipe.name, value, expect_version=over, audit=[noted])
        return None if stored is None else recipe_version(stored)

    def _note(self, action: Action, caller: Caller, recipe: Recipe) -> AuditNote:
        return AuditNote(
            action=action,
            at_ms=self._clock.now_ms(),
            by=caller.actor(),
            origin=caller.origin,
            subject=recipe.name,
            digest=sha256_text(recipe.source),
            details={"recipe_sha256": recipe.digest, "reviewed_by": recipe.reviewed_by, "from_job": recipe.from_job},
        )

    def _source(self, caller: Caller, request: RecipeSave) -> str:
        if (request.source is None) == (request.from_job is None):
            raise _bad("/source", "Give exactly one of source and from_job.")
        if request.source is not None:
            return request.source
        job = self._jobs.find(caller, str(request.from_job))
        if job.program is None or job.is_erased:
            because = ", as its contents were erased" if job.is_erased else ""
            raise _bad("/from_job", f"Job {job.id} has no program{because}.")
        return job.program.source

    def _envelope(self, caller: Caller, request: RecipeSave, source: str, catalogue: Catalogue) -> Envelope | None:
        if request.envelope_from_job is None:
            return request.envelope
        if request.envelope is not None:
            raise _bad("/envelope_from_job", "Give at most one of envelope and envelope_from_job.")
        job = self._jobs.find(caller, request.envelope_from_job)
        plan = plan_of(job)
        if not _ran(job, source):
            raise _bad(
                "/envelope_from_job", f"Job {job.id} ran another program, so its plan says nothing about this one."
            )
        return seen(plan.body().effects, catalogue)


def _ran(job: JobRecord, source: str) -> bool:
    return job.program is not None and job.program.source == source


def _version_seen(cursor: str, name: str) -> int:
    number, of = read_cursor(cursor)
    if of != name or number < 0:
        raise invalid_cursor()
    return number


def _bad(at: str, message: str) -> RequestError:
    return RequestError(message, details={"problems": [{"at": at, "message": message}]})


def _require_reviewer(caller: Caller, recipe: Recipe, named: str) -> None:
    """By an envelope rules may allow what otherwise a person approves, and nobody approves a plan of their own."""
    if recipe.envelope is not None and caller.key.person is None and not named:
        raise _bad("/reviewed_by", "Say who reviewed it (reviewed_by): an envelope is a person's word, not a key's.")


def _is_another(newest: Recipe | None, request: RecipeSave | RecipeReview) -> bool:
    """Whether the newest version is not what the caller looked at, whatever its number."""
    return request.expect_sha256 not in {None, newest and newest.digest}


def _conflict(name: str, expected: int | None) -> RequestError:
    if expected == 0:
        message = f"There is a recipe {name} already; look at it, or take another name."
    else:
        seen_at = "as it was a moment ago" if expected is None else f"at version {expected}"
        message = f"The recipe {name} is not {seen_at} any more; look at it again."
    return RequestError(
        message,
        code="recipe.conflict",
        details={"recipe": name, "expect_version": expected},
    )


def _not_found(name: str) -> RequestError:
    shown = name[:63]
    return RequestError(f"There is no recipe {shown!r}.", code="recipe.not_found", details={"recipe": shown})
