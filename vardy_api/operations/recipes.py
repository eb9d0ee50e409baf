"""Recipes: reviewed programs under a name, validated when they are saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from vardy_worker.contracts.audit import Action, AuditNote
from vardy_worker.contracts.base import JsonObject, sha256_text
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.recipe import Recipe
from vardy_worker.contracts.user import Scope
from vardy_worker.documents import RECIPES, read_recipe, recipe_version, recipe_versions
from vardy_worker.logs import get_logger
from vardy_worker.programs.recipes import check_params_schema, check_recipe_source, pinned_versions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_api.operations.caller import Caller
    from vardy_api.operations.catalogue import CatalogueReader
    from vardy_api.operations.jobs import JobOperations
    from vardy_api.recipe_shapes import RecipeSave
    from vardy_worker.contracts.program import Finding
    from vardy_worker.ports import Clock, Documents


log = get_logger(__name__)


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

    def list(self) -> Sequence[Recipe]:
        """The newest version of each, by name."""
        return [recipe_version(document) for document in self._documents.all(RECIPES)]

    def get(self, name: str) -> Recipe:
        """The newest version. Raises `recipe.not_found`."""
        recipe = read_recipe(self._documents, name)
        if recipe is None:
            raise _not_found(name)
        return recipe

    def versions(self, name: str) -> Sequence[Recipe]:
        """All versions, oldest first. Raises `recipe.not_found`."""
        versions = recipe_versions(self._documents, name)
        if not versions:
            raise _not_found(name)
        return versions

    def save(self, caller: Caller, name: str, request: RecipeSave) -> tuple[Recipe, tuple[Finding, ...]]:
        """Stores a new version, and returns it with the warnings of validation.

        The functions it calls are pinned to their present versions. Raises `auth.scope`,
        `request.invalid`, `recipe.invalid` with every finding, `recipe.conflict`, `job.not_found`.
        """
        caller.need(Scope.OPERATE)
        source = self._source(caller, request)
        check_params_schema(request.params_schema)
        catalogue = self._catalogue.current()
        findings = check_recipe_source(source, catalogue, program_bytes_max=self._program_bytes_max)
        try:
            recipe = Recipe(
                name=name,
                description=request.description,
                source=source,
                params_schema=request.params_schema,
                functions=pinned_versions(source, catalogue),
                reviewed_by=caller.key.person.id if caller.key.person else request.reviewed_by or caller.key.owner,
                reviewed_at_ms=self._clock.now_ms(),
                from_job=request.from_job,
            )
        except ValidationError as error:
            message = (
                "A recipe's name begins with a small letter and has small letters, digits and hyphens, at most 63."
            )
            raise RequestError(message, details={"problems": [{"at": "/name", "message": message}]}) from error
        value = recipe.model_dump(mode="json", exclude={"version"})
        noted = self._note(
            Action.RECIPE_SAVED,
            caller,
            recipe.name,
            digest=sha256_text(source),
            details={"reviewed_by": recipe.reviewed_by, "from_job": recipe.from_job},
        )
        stored = self._documents.put(RECIPES, name, value, expect_version=request.expect_version, audit=[noted])
        if stored is None:
            raise RequestError(
                f"The recipe {name} is not at version {request.expect_version} any more; look at it again.",
                code="recipe.conflict",
                details={"recipe": name, "expect_version": request.expect_version},
            )
        log.info("recipe.saved", recipe=name, version=stored.version, key_id=caller.key.id)
        return recipe_version(stored), findings

    def delete(self, caller: Caller, name: str) -> None:
        """Deletes all versions. Jobs that were submitted keep theirs. Raises `recipe.not_found`."""
        caller.need(Scope.OPERATE)
        noted = self._note(Action.RECIPE_DELETED, caller, name)
        if not self._documents.delete(RECIPES, name, audit=[noted]):
            raise _not_found(name)
        log.info("recipe.deleted", recipe=name, key_id=caller.key.id)

    def _note(
        self,
        action: Action,
        caller: Caller,
        name: str,
        *,
        digest: str = "",
        details: JsonObject | None = None,
    ) -> AuditNote:
        return AuditNote(
            action=action,
            at_ms=self._clock.now_ms(),
            by=caller.actor(),
            origin=caller.origin,
            subject=name,
            digest=digest,
            details=details or {},
        )

    def _source(self, caller: Caller, request: RecipeSave) -> str:
        if (request.source is None) == (request.from_job is None):
            message = "Give exactly one of source and from_job."
            raise RequestError(message, details={"problems": [{"at": "/source", "message": message}]})
        if request.source is not None:
            return request.source
        job = self._jobs.find(caller, str(request.from_job))
        if job.program is None or job.is_erased:
            message = f"Job {job.id} has no program{', as its contents were erased' if job.is_erased else ''}."
            raise RequestError(message, details={"problems": [{"at": "/from_job", "message": message}]})
        return job.program.source


def _not_found(name: str) -> RequestError:
    shown = name[:63]
    return RequestError(f"There is no recipe {shown!r}.", code="recipe.not_found", details={"recipe": shown})
