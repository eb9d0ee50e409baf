"""The text of a recipe's file as a recipe, with the place of everything in it; or all that is wrong, with its line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from vardy_worker.contracts.base import make_pointer
from vardy_worker.contracts.envelope import Bounds, Envelope, FunctionEnvelope
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.recipe import FileFinding, Recipe
from vardy_worker.recipe_files.writing import FILE_SUFFIX, HEADER_END, HEADER_START
from vardy_worker.recipe_files.yaml_places import FileProblem, Place, read_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.recipe_files.yaml_places import PlacedJson

FILE_BYTES_MAX: Final = 1024 * 1024
HEADER_BYTES_MAX: Final = 256 * 1024
REVIEWED_AT_MS_MAX: Final = 253_402_300_799_999
"""The last millisecond of the year 9999, beyond which no time can be written."""

_TEXTS: Final = frozenset({"name", "description", "reviewed_by", "reviewed_at"})
_KEYS: Final = (
    "name",
    "version",
    "description",
    "judge",
    "params_schema",
    "envelope",
    "functions",
    "reviewed_by",
    "reviewed_at",
)
_ENVELOPE_KEYS: Final = {
    1: tuple(Envelope.model_fields),
    3: tuple(FunctionEnvelope.model_fields),
    5: tuple(Bounds.model_fields),
}
"""The keys that there are, by their depth in the envelope."""
_HIDDEN_LINE_END: Final = re.compile("[\x85\u2028\u2029]|\r(?!$)")
"""What begins a new line for YAML alone, so that keys could hide in what looks like a comment."""
_NAME_MESSAGE: Final = "a name begins with a small letter and has small letters, digits and hyphens, at most 63"


@dataclass(frozen=True, slots=True)
class RecipeFile:
    """A recipe as a file has it.

    `recipe.functions` is empty where the file pins none. `program_line` is the line of the
    file that the program begins at.
    """

    recipe: Recipe
    program_line: int
    places: Mapping[str, Place]

    def place(self, pointer: str) -> Place:
        """Where the file says what a JSON pointer into the recipe names, or what is around it."""
        while pointer and pointer not in self.places:
            pointer = pointer.rpartition("/")[0]
        return self.places[pointer]

    def finding(self, problem: JsonObject) -> FileFinding:
        """A problem of a recipe (`line` and `column` of its program, or `at`, a JSON pointer) by its place here."""
        at = str(problem.get("at", ""))
        if "line" in problem:
            place = Place(self.program_line + problem["line"] - 1, problem["column"])
        else:
            place = Place(self.program_line, 1) if at == "/source" else self.place(at)
        hint = f" ({problem['hint']})" if problem.get("hint") else ""
        return FileFinding(
            line=place.line,
            column=place.column,
            message=f"{problem.get('message', '')}{hint}",
            code=problem.get("code", ""),
            severity=problem.get("severity", "error"),
        )


def read_recipe_file(text: str, *, file_name: str = "") -> RecipeFile:
    """Reads the text of a recipe's file.

    A byte order mark is left out. A file whose first line ends in CRLF was converted as a
    whole, and is read with line feeds. With a `file_name` the recipe must have its name.

    Raises `RequestError` `recipe.invalid` with all that is wrong: line, column, message.
    """
    text = text.removeprefix("\ufeff")
    if text.partition("\n")[0].endswith("\r"):
        text = text.replace("\r\n", "\n")
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > FILE_BYTES_MAX:
        raise _invalid([_at(1, f"the file has {size} bytes; the most is {FILE_BYTES_MAX}")])
    header, program_line = _split(text)
    source = text.split("\n", program_line - 1)[-1] if program_line <= text.count("\n") + 1 else ""
    placed = read_yaml(header, line=2, is_text=_is_text)
    reader = _HeaderReader(placed)
    if not source.strip():
        reader.problems.append(_at(program_line, "there is no program below the comment"))
    recipe = reader.recipe(source, file_name)
    if recipe is None or reader.problems:
        raise _invalid(reader.problems)
    return RecipeFile(recipe, program_line, placed.places)


def _at(line: int, message: str) -> FileProblem:
    return FileProblem(Place(line, 1), message)


def _invalid(problems: Sequence[FileProblem]) -> RequestError:
    found = sorted(set(problems))
    first, others = found[0], len(found) - 1
    more = f" (and {others} more problem{'s' if others > 1 else ''})" if others else ""
    return RequestError(
        f"Line {first.place.line}: {first.message}{more}.",
        code="recipe.invalid",
        details={
            "problems": [
                {"line": each.place.line, "column": each.place.column, "message": each.message} for each in found
            ]
        },
    )


def _split(text: str) -> tuple[str, int]:
    """The YAML of the comment, and the line that the program begins at. Raises `recipe.invalid` without a comment."""
    first, _, rest = text.partition("\n")
    if first.rstrip() != HEADER_START:
        raise _invalid(
            [_at(1, f"the file must begin with a line `{HEADER_START}`, which opens the comment on the recipe")]
        )
    lines: list[str] = []
    for number, line in enumerate(rest.split("\n"), start=2):
        if line.rstrip() == HEADER_END:
            header = "\n".join(lines)
            if len(header.encode("utf-8", "surrogatepass")) > HEADER_BYTES_MAX:
                raise _invalid([_at(1, f"the comment has more than {HEADER_BYTES_MAX} bytes")])
            return header, number + 1
        if "*/" in line:
            message = "`*/` ends the comment, for JavaScript; in a text in double quotes write `*\\/`"
            if line.lstrip().startswith(HEADER_END):
                message = f"the comment ends with `{HEADER_END}` alone on a line, at its beginning"
            raise _invalid([FileProblem(Place(number, line.index("*/") + 1), message)])
        if hidden := _HIDDEN_LINE_END.search(line):
            message = "a character ends the line for YAML that editors do not show; in double quotes write an escape"
            raise _invalid([FileProblem(Place(number, hidden.start() + 1), message)])
        lines.append(line)
    raise _invalid([_at(1, f"the comment on the recipe has no end: a line `{HEADER_END}`")])


def _is_text(pointer: str) -> bool:
    first, _, second = pointer[1:].partition("/")
    return (first in _TEXTS and not second) or (first == "functions" and bool(second))


class _HeaderReader:
    """Makes a recipe of the header, and collects problems instead of stopping at the first."""

    def __init__(self, placed: PlacedJson) -> None:
        self._header: JsonObject = placed.value
        self._places = placed.places
        self._is_whole = not placed.problems
        self.problems = placed.problems

    def recipe(self, source: str, file_name: str) -> Recipe | None:
        for key in self._header:
            if key not in _KEYS:
                self._problem(make_pointer((key,)), _unknown(key, _KEYS))
        fields: JsonObject = {
            "name": self._name(file_name),
            "version": self._version(),
            "description": self._text("description"),
            "source": source,
            "params_schema": self._object("params_schema", {"type": "object"}),
            "functions": self._pins(),
            "judge": self._judge(),
            "envelope": self._envelope(),
            "reviewed_by": self._text("reviewed_by"),
            "reviewed_at_ms": self._reviewed_at_ms(),
        }
        if self.problems:
            return None
        try:
            return Recipe.model_validate(fields)
        except ValidationError as error:
            for part in error.errors():
                pointer = make_pointer(part["loc"])
                self._problem(pointer, _NAME_MESSAGE if pointer == "/name" else part["msg"])
        return None

    def _problem(self, pointer: str, message: str) -> None:
        while pointer not in self._places:
            pointer = pointer.rpartition("/")[0]
        self.problems.append(FileProblem(self._places[pointer], message))

    def _text(self, key: str) -> str:
        value = self._header.get(key)
        if value is None or isinstance(value, str):
            return value or ""
        self._problem(f"/{key}", f"`{key}` must be a text")
        return ""

    def _name(self, file_name: str) -> str:
        name = self._text("name")
        expected = file_name.removesuffix(FILE_SUFFIX)
        if "name" not in self._header:
            if self._is_whole:
                self._problem("", "the recipe has no `name`")
        elif file_name and name and name != expected:
            self._problem(
                "/name", f"the recipe is named `{name[:100]}`, but its file {file_name[:100]}: name both alike"
            )
        return name

    def _object(self, key: str, default: JsonObject) -> JsonObject:
        value = self._header.get(key)
        if value is None:
            return default
        if isinstance(value, dict):
            return value
        self._problem(f"/{key}", f"`{key}` must be a mapping")
        return default

    def _version(self) -> int:
        value = self._header.get("version")
        if value is None:
            return 1
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return value
        self._problem("/version", "`version` must be a whole number from 1; leave it out of a new file")
        return 1

    def _judge(self) -> bool:
        value = self._header.get("judge")
        if not isinstance(value, bool | None):
            self._problem("/judge", "`judge` must be true or false")
        return value is True

    def _pins(self) -> dict[str, str]:
        pins = self._object("functions", {})
        for name, version in pins.items():
            if not isinstance(version, str) or not version:
                self._problem(
                    make_pointer(("functions", name)), f"`{name[:100]}` must have the version of the function"
                )
        return pins

    def _reviewed_at_ms(self) -> int:
        text = self._text("reviewed_at")
        if not text:
            return 0
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            self._problem("/reviewed_at", "`reviewed_at` must be a time with its offset, such as 2026-03-01T09:00:00Z")
            return 0
        at_ms = round(moment.timestamp() * 1000)
        if not 0 <= at_ms <= REVIEWED_AT_MS_MAX:
            self._problem("/reviewed_at", "`reviewed_at` must be a time from 1970 to 9999")
        return at_ms

    def _envelope(self) -> Envelope | None:
        value = self._header.get("envelope")
        if value is None:
            return None
        if not isinstance(value, dict):
            self._problem("/envelope", "`envelope` must be a mapping")
            return None
        try:
            return Envelope.model_validate(value, strict=True)
        except ValidationError as error:
            for part in error.errors():
                pointer = make_pointer(part["loc"])
                self._problem(f"/envelope{pointer}", _envelope_message(part["type"], part["loc"], part["msg"]))
        return None


def _envelope_message(kind: str, loc: tuple[Any, ...], message: str) -> str:
    key = str(loc[-1])
    if kind == "extra_forbidden":
        return _unknown(key, _ENVELOPE_KEYS[len(loc)])
    if kind == "missing":
        return f"there is no `{key}`"
    return f"`{key}`: {message.removeprefix('Value error, ')}"


def _unknown(key: str, known: Sequence[str]) -> str:
    near = get_close_matches(key.lower(), known, n=1)
    hint = f" (did you mean `{near[0]}`?)" if near else ""
    return f"`{key[:100]}` is not known here; there are {', '.join(f'`{each}`' for each in known)}{hint}"
