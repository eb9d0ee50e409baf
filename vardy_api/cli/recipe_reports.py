"""What exports and imports of recipes come to, as JSON and for the drawings."""

from __future__ import annotations

from enum import StrEnum

from vardy_worker.contracts.base import Contract, JsonObject
from vardy_worker.contracts.recipe import FileFinding


class FileState(StrEnum):
    """What an export does to a file."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    """Its recipe does not exist any more."""


class ExportedFile(Contract):
    """One file of an export; without `recipe` and `version` where it was removed."""

    file: str
    state: FileState
    recipe: str | None = None
    version: int | None = None


class Export(Contract):
    """What an export did, or would do."""

    dry_run: bool = False
    items: tuple[ExportedFile, ...] = ()


class RecipeText(Contract):
    """A recipe as the text of its file."""

    recipe: str
    version: int
    text: str


class ImportState(StrEnum):
    """What an import of one file comes to."""

    NEW = "new"
    CHANGED = "changed"
    REVIEWED = "reviewed"
    """The same recipe, reviewed against the functions as they are now, which the one of the service was not."""
    UNCHANGED = "unchanged"
    INVALID = "invalid"


class ImportedFile(Contract):
    """What became of one file.

    `version` is the recipe's newest afterwards; null where there is none. `needs_review`: its functions changed since
    it was reviewed, and the file does not say that it was again. `difference` is a unified diff
    from the recipe of the service to the file. `error` is the problem document of a save that failed.
    """

    file: str
    recipe: str = ""
    state: ImportState
    version: int | None = None
    needs_review: bool = False
    saved: bool = False
    difference: str = ""
    findings: tuple[FileFinding, ...] = ()
    error: JsonObject | None = None


class Import(Contract):
    """What an import did, or would do. `valid` is false where a file is not; then nothing was saved."""

    dry_run: bool = False
    valid: bool = True
    items: tuple[ImportedFile, ...] = ()
