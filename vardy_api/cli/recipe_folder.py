"""Recipes' files on disk: found, read, and written so that nothing is lost half-way."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from vardy_api.cli.exits import CommandError, usage_error
from vardy_worker.contracts.errors import RequestError
from vardy_worker.recipe_files import FILE_SUFFIX, RecipeFile, read_recipe_file

STDIN = "-"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file as it was found: what it says, or why it is no recipe. `shown` is how people name it."""

    shown: str
    content: RecipeFile | RequestError


def found_files(sources: list[str]) -> list[FoundFile]:
    """The recipes' files that the words of a command line name: files, folders with all below them, `-`.

    Raises `CommandError` for what cannot be read, and for a folder without any.
    """
    paths: dict[Path, None] = {}
    found: list[FoundFile] = []
    for source in dict.fromkeys(sources):
        if source == STDIN:
            found.append(_decoded("<stdin>", _stdin_bytes(), ""))
            continue
        if not source:
            raise usage_error("The name of a file or folder is empty; `.` is the present folder.")
        path = Path(source)
        if not path.is_dir():
            paths[path] = None
            continue
        # A link that leads nowhere is a recipe that would be missed: it is read, and told.
        named = path.rglob(f"*{FILE_SUFFIX}")
        inside = sorted(inner for inner in named if inner.is_file() or (inner.is_symlink() and not inner.exists()))
        if not inside:
            raise usage_error(f"There is no file named *{FILE_SUFFIX} in {source}.")
        paths |= dict.fromkeys(inside)
    return [*found, *(_read(path) for path in paths)]


def read_bytes(path: Path) -> bytes | None:
    """What is in a file; None without one. Raises `CommandError` where it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise usage_error(f"{path} cannot be read: {error.strerror}.") from error


def write_file(path: Path, text: str) -> None:
    """Puts a text in the place of a file, whole or not at all. Raises `CommandError`."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_bytes(text.encode())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise _cannot("written", path, error) from error


def remove_file(path: Path) -> None:
    """Removes a file. Raises `CommandError`."""
    try:
        path.unlink()
    except OSError as error:
        raise _cannot("removed", path, error) from error


def exported_files_in(folder: Path) -> list[Path]:
    """The files in a folder, not below it, that exports wrote: recipes under their own name, with a version."""
    return [path for path in sorted(folder.glob(f"*{FILE_SUFFIX}")) if path.is_file() and _was_exported(path)]


def _was_exported(path: Path) -> bool:
    content = _read(path).content
    return isinstance(content, RecipeFile) and "/version" in content.places


def _read(path: Path) -> FoundFile:
    data = read_bytes(path)
    if data is None:
        raise usage_error(f"There is no file {path}.")
    # A recipe may be tried from a file of any name; one that is named as recipes are must be named right.
    return _decoded(str(path), data, path.name if path.name.endswith(FILE_SUFFIX) else "")


def _stdin_bytes() -> bytes:
    """Standard input as it is: a text would come with other line ends."""
    binary = getattr(sys.stdin, "buffer", None)
    return sys.stdin.read().encode() if binary is None else binary.read()


def _decoded(shown: str, data: bytes, file_name: str) -> FoundFile:
    try:
        return FoundFile(shown, read_recipe_file(data.decode(), file_name=file_name))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = "the file is not a text in UTF-8"
        problem = {"line": line, "column": 1, "message": message}
        refusal = RequestError(f"Line {line}: {message}.", code="recipe.invalid", details={"problems": [problem]})
        return FoundFile(shown, refusal)
    except RequestError as error:
        return FoundFile(shown, error)


def _cannot(done: str, path: Path, error: OSError) -> CommandError:
    return CommandError(
        f"{path} cannot be {done}: {error.strerror}.",
        code="cli.file",
        title="A file could not be changed",
        details={"file": str(path)},
    )
