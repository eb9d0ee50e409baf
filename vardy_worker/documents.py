"""The small documents that API and worker share: catalogue, active rules, recipes, keys.

One place for their names and shapes in `ports.Documents`, so that neither side guesses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.functions import Catalogue, FunctionSpec
from vardy_worker.contracts.policy import RulesVersion
from vardy_worker.contracts.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vardy_worker.ports import Document, Documents

CATALOGUE = "catalogue"
RULES = "rules"
RECIPES = "recipes"
KEYS = "keys"
FUNCTION_VERSIONS = "function_versions"
"""Functions as recipes were reviewed against them, each version once."""
CURRENT = "current"
"""The name of the one document in `CATALOGUE` and in `RULES`."""

BUILT_IN_RULES = "default: approve\n"
"""The rules of a deployment that never applied any: every write needs an approval."""


def read_catalogue(documents: Documents) -> Catalogue:
    """The catalogue as a worker published it last; empty before any worker started."""
    document = documents.get(CATALOGUE, CURRENT)
    return Catalogue() if document is None else Catalogue.model_validate(document.value)


def publish_catalogue(documents: Documents, catalogue: Catalogue) -> bool:
    """Stores the catalogue as a new version if it differs from the newest; says whether it did."""
    if catalogue == read_catalogue(documents):
        return False
    documents.put(CATALOGUE, CURRENT, catalogue.model_dump(mode="json"))
    return True


def read_rules(documents: Documents) -> RulesVersion:
    """The active rules; version 0 with `BUILT_IN_RULES` and no digest before any were applied."""
    document = documents.get(RULES, CURRENT)
    if document is None:
        return RulesVersion(version=0, digest="", text=BUILT_IN_RULES)
    return rules_version(document)


def rules_version(document: Document) -> RulesVersion:
    """The rules of one stored version."""
    return RulesVersion.model_validate({**document.value, "version": document.version})


def read_recipe(documents: Documents, name: str) -> Recipe | None:
    """The newest version of a recipe."""
    document = documents.get(RECIPES, name)
    return None if document is None else recipe_version(document)


def recipe_version(document: Document) -> Recipe:
    """The recipe of one stored version."""
    return Recipe.model_validate({**document.value, "version": document.version})


def recipe_versions(documents: Documents, name: str, *, after: int = 0, limit: int | None = None) -> Sequence[Recipe]:
    """The versions of a recipe above `after`, oldest first: `limit` of them, or all."""
    return [recipe_version(document) for document in documents.versions(RECIPES, name, after=after, limit=limit)]


def keep_function_versions(documents: Documents, functions: Iterable[FunctionSpec]) -> None:
    """Keeps the functions that a recipe is pinned to, so that it can be said what changed of them since."""
    for spec in functions:
        name = _version_name(spec.name, spec.version)
        if documents.get(FUNCTION_VERSIONS, name) is None:
            documents.put(FUNCTION_VERSIONS, name, spec.model_dump(mode="json"), expect_version=0)


def read_function_version(documents: Documents, name: str, version: str) -> FunctionSpec | None:
    """A function as a recipe was reviewed against it; None where it was not kept."""
    document = documents.get(FUNCTION_VERSIONS, _version_name(name, version))
    return None if document is None else FunctionSpec.model_validate(document.value)


def _version_name(name: str, version: str) -> str:
    return f"{name}:{version}"
