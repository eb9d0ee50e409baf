"""YAML as JSON with the place of every value. What JSON has not, or readers disagree on, is a problem."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import yaml

from vardy_worker.contracts.base import make_pointer
from vardy_worker.recipe_files.scalars import AmbiguousScalarError, plain_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.base import JsonValue

DEPTH_MAX: Final = 60
"""Mappings and lists within each other: the API takes no more, with what surrounds them."""
_ESCAPE: Final = re.compile(r"\\U([0-9A-Fa-f]{8})")
_FORBIDDEN: Final = {"anchor": "anchors and aliases (`&`, `*`)", "tag": "tags (`!`)"}


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line and a column, both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class FileProblem:
    """One thing that is wrong, and where."""

    place: Place
    message: str


@dataclass(frozen=True, slots=True)
class PlacedJson:
    """A JSON value, and by JSON pointer where the key of each of its values stands; "" is the value itself."""

    value: JsonValue
    places: dict[str, Place]
    problems: list[FileProblem]


class _Loader(yaml.BaseLoader):
    """Composes nodes only; every scalar stays the text that is written."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call] # the stubs leave it untyped
        for name, shown in _FORBIDDEN.items():
            if getattr(event, name, None) is not None:
                raise yaml.composer.ComposerError(None, None, f"{shown} are not used here", event.start_mark)
        return super().compose_node(parent, index)


def read_yaml(text: str, *, line: int, is_text: Callable[[str], bool]) -> PlacedJson:
    """Reads a YAML mapping that begins at a line of a file.

    `is_text` says by JSON pointer which scalars are texts as they are written, whatever they
    look like. With problems the value is not whole.
    """
    lines = _Lines(text, line)
    try:
        document = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = FileProblem(lines.place(mark.index if mark else 0), _yaml_message(error))
    except yaml.reader.ReaderError as error:
        message = "there is a character that YAML does not allow; write it as an escape in double quotes"
        problem = FileProblem(lines.place(error.position), message)
    except (ValueError, OverflowError):
        escape = next(filter(_is_no_character, _ESCAPE.finditer(text)), None)
        problem = FileProblem(lines.place(escape.start() if escape else 0), "an escape stands for no character")
    except RecursionError:
        problem = FileProblem(lines.place(0), "it is nested too deeply")
    else:
        reader = _Reader(lines, is_text)
        if isinstance(document, yaml.MappingNode):
            return PlacedJson(reader.mapping(document, "", 0), reader.places, reader.problems)
        problem = FileProblem(lines.place(0), "there must be keys here, such as `name: …`")
    return PlacedJson({}, {"": lines.place(0)}, [problem])


class _Lines:
    """The places of characters as editors count lines: YAML begins new ones at other characters, too."""

    def __init__(self, text: str, line: int) -> None:
        self._line = line
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, index: int) -> Place:
        """The place of the character at an index."""
        number = bisect_right(self._starts, index) - 1
        return Place(self._line + number, index - self._starts[number] + 1)


def _is_no_character(escape: re.Match[str]) -> bool:
    return int(escape[1], 16) > sys.maxunicode


def _yaml_message(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or error.context or ""
    if "'\\t'" in problem:
        return "YAML indents with blanks; there is a tab"
    if isinstance(error, yaml.composer.ComposerError):
        return "`---` begins another document; there is one only" if error.context else problem
    return f"this is not YAML: {problem}"


class _Reader:
    def __init__(self, lines: _Lines, is_text: Callable[[str], bool]) -> None:
        self._lines = lines
        self._is_text = is_text
        self.places = {"": lines.place(0)}
        self.problems: list[FileProblem] = []

    def problem(self, node: yaml.Node, message: str) -> None:
        self.problems.append(FileProblem(self._place(node), message))

    def _place(self, node: yaml.Node) -> Place:
        return self._lines.place(node.start_mark.index)

    def mapping(self, node: yaml.MappingNode, pointer: str, depth: int) -> dict[str, JsonValue]:
        found: dict[str, JsonValue] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.problem(key, "a key must be a text")
                continue
            at = pointer + make_pointer((key.value,))
            if key.value in found:
                self.problem(key, f"`{key.value[:100]}` is written twice; it stands at line {self.places[at].line} too")
                continue
            if key.style is None and key.value == "<<":
                self.problem(key, "mappings cannot be merged here (`<<`)")
                continue
            self.places[at] = self._place(key)
            found[key.value] = self._value(value, at, depth + 1)
        return found

    def _value(self, node: yaml.Node, pointer: str, depth: int) -> JsonValue:
        if depth > DEPTH_MAX:
            self.problem(node, f"it is nested deeper than {DEPTH_MAX} levels")
            return None
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, pointer, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self._element(item, f"{pointer}/{index}", depth + 1) for index, item in enumerate(node.value)]
        return self._scalar(node, pointer)

    def _element(self, node: yaml.Node, pointer: str, depth: int) -> JsonValue:
        self.places[pointer] = self._place(node)
        return self._value(node, pointer, depth)

    def _scalar(self, node: yaml.Node, pointer: str) -> JsonValue:
        text = str(node.value)
        if any("\ud800" <= sign <= "\udfff" for sign in text):
            self.problem(node, "a text has half of a surrogate pair, which is no character")
            return ""
        if not isinstance(node, yaml.ScalarNode) or node.style is not None:
            return text
        try:
            value = plain_value(text)
        except AmbiguousScalarError as error:
            if self._is_text(pointer):
                return text
            self.problem(node, str(error))
            return None
        return text if self._is_text(pointer) and value is not None else value
