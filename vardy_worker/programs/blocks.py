"""The stretches of a model's text that may be a program: fenced blocks, and code without fences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from vardy_worker.programs.sheet import Sheet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCRIPT_LABELS = frozenset(
    {
        "",
        "js",
        "javascript",
        "jsx",
        "mjs",
        "cjs",
        "node",
        "nodejs",
        "es6",
        "ecmascript",
        "ts",
        "typescript",
        "tsx",
        "mts",
        "quickjs",
        "code",
        "program",
    }
)
TYPESCRIPT_LABELS = frozenset({"ts", "typescript", "tsx", "mts"})
_PROSE_LABELS = frozenset({"markdown", "md", "mdx"})
_BLOCKS_MAX = 50
_ENDS_MAX = 24
_STARTS_MAX = 6
_NESTING_MAX = 8
_LIST_MARKER = re.compile(r"(?:[-*+]|\d{1,3}[.)])[ \t]+")
_LABEL = re.compile(r"[A-Za-z0-9+#]+")
_CODE_START = re.compile(
    r"(?:export|import|async|function|class|const|let|var|await|return|module\.exports|exports\.|for|if|try)\b|//|/\*|\(?async\b"
)
_CODE_ENDS = ("}", ";", ")", "*/")
_TOKEN = re.compile(r"^<\|[a-z_]{1,30}\|>|<\|[a-z_]{1,30}\|>$|^\[TOOL_CALLS\]", re.MULTILINE)
_TAG = re.compile(r"</?(?:code|javascript|js|script|program|answer|response|output|pre)>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Block:
    """One stretch. `indent` is the width of the list or quote around it, now spaces.

    `closed` says that the text itself showed where it ends. `label` is "" without one;
    code without fences has the label None.
    """

    sheet: Sheet
    label: str | None
    closed: bool
    indent: int = 0


@dataclass(frozen=True, slots=True)
class _Fence:
    """A line that may open or close: what stands before the ticks, the ticks, what follows."""

    column: int
    quotes: int
    char: str
    size: int
    info: str


_End: TypeAlias = tuple[int, "str | None", bool]
"""Where a block may end: the line, what of that line still belongs to it, and whether it is closed there."""


def _fence(line: str) -> _Fence | None:
    """Reads a fence at the start of a line, inside of quotes and lists."""
    place, quotes = 0, 0
    for _ in range(_NESTING_MAX):
        while place < len(line) and line[place] in " \t>":
            quotes += line[place] == ">"
            place += 1
        marker = _LIST_MARKER.match(line[place : place + 16])
        if marker is None:
            break
        place += marker.end()
    char = line[place : place + 1]
    if char not in {"`", "~"}:
        return None
    end = place
    while end < len(line) and line[end] == char:
        end += 1
    if end - place < 3:  # noqa: PLR2004 - a fence has at least three
        return None
    return _Fence(place, quotes, char, end - place, line[end:].strip())


def _late_fence(line: str) -> _Fence | None:
    """A fence behind prose on one line: `Here it is: ```js`."""
    for char in "`~":
        place = line.find(char * 3)
        if place > 0:
            end = place
            while end < len(line) and line[end] == char:
                end += 1
            info = line[end:].strip()
            if char not in line[:place] and len(info.split()) <= 1 and char not in info:
                return _Fence(0, 0, char, end - place, info)
    return None


def label_of(info: str) -> str:
    """The language of a fence's info string, in lower case."""
    found = _LABEL.search(info.partition(" ")[0]) if info else None
    return found[0].lower() if found is not None else ""


def fenced_blocks(sheet: Sheet, parses: Callable[[Sheet], bool]) -> list[Block]:
    """The fenced blocks in order.

    A line of ticks inside of a template literal looks like the end of its fence. So the
    first end is taken with which the block parses, and the first one at all when none does.
    Blocks beyond the fiftieth are not read.
    """
    lines = sheet.text.split("\n")
    # Each is looked at once for every block before it, so it is read once alone.
    fences = [_fence(line) for line in lines]
    blocks: list[Block] = []
    number = 0
    while number < len(lines) and len(blocks) < _BLOCKS_MAX:
        fence = fences[number] or _late_fence(lines[number])
        if fence is None:
            number += 1
            continue
        single = _single_line(sheet, number, fence, lines[number])
        if single is not None:
            blocks.append(single)
            number += 1
            continue
        label = label_of(fence.info)
        if not fence.info and _opens_script(lines[number + 1 : number + 2]):
            number += 1
            continue
        if label in _PROSE_LABELS or fence.char in fence.info:
            number = _end_of_prose(lines, number, fence) + 1
            continue
        ends = _ends(lines, fences, number, fence)
        block, number = _read(sheet, lines, number, fence, ends, parses)
        blocks.append(block)
    return blocks


def _end_of_prose(lines: list[str], opened: int, fence: _Fence) -> int:
    """The line that closes a fence of prose; the one that opens it where other fences or code are inside."""
    for number in range(opened + 1, len(lines)):
        inner = _fence(lines[number])
        if inner is not None:
            closes = inner.char == fence.char and inner.size >= fence.size and not inner.info
            return number if closes else opened
        if _CODE_START.match(lines[number].lstrip()[:40]):
            break
    return opened


def _opens_script(following: list[str]) -> bool:
    """Whether the next line opens a fence with a label, so that this one only stands around it."""
    inner = _fence(following[0]) if following else None
    return inner is not None and bool(inner.info) and label_of(inner.info) in SCRIPT_LABELS


def _single_line(sheet: Sheet, number: int, fence: _Fence, line: str) -> Block | None:
    """A fence that opens and closes in one line: ```` ```js return 1``` ````."""
    ticks = fence.char * 3
    if not fence.info.endswith(ticks) or fence.info.strip(fence.char) == "":
        return None
    end = line.rstrip().rfind(fence.info.strip(fence.char)[-1]) + 1
    start = line.find(fence.info, fence.column)
    word = fence.info.partition(" ")[0].lower()
    label = word if word in SCRIPT_LABELS and " " in fence.info else ""
    start += len(label)
    part = Sheet(" " * start + line[start:end], (sheet.lines[number],))
    return Block(part, label, closed=True)


def _read(
    sheet: Sheet, lines: list[str], opened: int, fence: _Fence, ends: Iterator[_End], parses: Callable[[Sheet], bool]
) -> tuple[Block, int]:
    """The block that a fence opens, and the number of the line to go on with."""
    first: tuple[Block, int] | None = None
    label = label_of(fence.info)
    head = _code_behind_label(lines[opened], fence, label)
    for count, (end, tail, closed) in enumerate(ends):
        part = _content(sheet, lines, opened + 1, end, tail, fence)
        if head:
            part = Sheet(head, (sheet.lines[opened],)).join(part)
        found = (Block(part, label, closed, fence.column), end + 1)
        if label not in SCRIPT_LABELS or parses(part):
            return found
        first = first or found
        if count >= _ENDS_MAX:
            break
    assert first is not None  # noqa: S101 - `_ends` always gives the end of the text
    return first


def _code_behind_label(line: str, fence: _Fence, label: str) -> str:
    """Code in the line of the fence itself, in its column; "" when there is none."""
    rest = fence.info[len(label) :].lstrip() if fence.info.lower().startswith(label) else fence.info
    if label not in SCRIPT_LABELS or not _CODE_START.match(rest) or not any(sign in rest for sign in "(){};=/"):
        return ""
    return " " * line.rfind(rest) + rest


def _ends(lines: list[str], fences: list[_Fence | None], opened: int, fence: _Fence) -> Iterator[_End]:
    """The ends that the block may have, the likeliest first; the end of the text is the last."""
    other: list[tuple[int, str | None]] = []
    for number in range(opened + 1, len(lines)):
        line, closer = lines[number], fences[number]
        if closer is not None and closer.char == fence.char and closer.size >= fence.size:
            if not closer.info:
                yield number, None, True
            elif closer.char not in closer.info:
                other.append((number, None))
        elif line.rstrip().endswith(fence.char * fence.size):
            other.append((number, line.rstrip().rstrip(fence.char)))
        elif fence.char * fence.size in line and "}" in line.partition(fence.char * fence.size)[0]:
            other.append((number, line.partition(fence.char * fence.size)[0]))
    for number, tail in other:
        yield number, tail, True
    yield len(lines), None, False


def _content(sheet: Sheet, lines: list[str], first: int, end: int, tail: str | None, fence: _Fence) -> Sheet:
    content = [_unquoted(line, fence.quotes) for line in lines[first:end]]
    rows = sheet.lines[first:end]
    if tail is not None:
        content.append(_unquoted(tail, fence.quotes))
        rows = sheet.lines[first : end + 1]
    return Sheet("\n".join(content), rows) if rows else Sheet("", (0,))


def _unquoted(line: str, quotes: int) -> str:
    """The line with its quote marks as spaces."""
    place = 0
    while quotes and place < len(line) and line[place] in " \t>":
        quotes -= line[place] == ">"
        place += 1
    return line[:place].replace(">", " ") + line[place:]


def without_tokens(sheet: Sheet) -> Sheet:
    """The text with tokens of chat templates, like `<|im_end|>`, at the ends of lines as spaces."""
    if "<|" not in sheet.text and "[TOOL_CALLS]" not in sheet.text:
        return sheet
    text = _TOKEN.sub(lambda match: " " * len(match[0]), sheet.text)
    return Sheet(text, sheet.lines)


def without_tags(sheet: Sheet) -> Sheet:
    """The text with lines that are only a tag, like `<code>`, as spaces."""
    if "<" not in sheet.text:
        return sheet
    lines = sheet.text.split("\n")
    for number, line in enumerate(lines):
        if "<" in line and _TAG.fullmatch(line.strip()):
            lines[number] = " " * len(line)
    return Sheet("\n".join(lines), sheet.lines)


def without_label(sheet: Sheet) -> Sheet:
    """The text without a first line that is only the label of a fence: `javascript`."""
    start = sheet.text.lstrip()
    word = start.partition("\n")[0].strip()
    if word.lower() not in SCRIPT_LABELS or not word:
        return sheet
    place = len(sheet.text) - len(start)
    return Sheet(sheet.text[:place] + " " * len(word) + start[len(word) :], sheet.lines)


def bare_regions(sheet: Sheet) -> Iterator[Sheet]:
    """Stretches of a text without fences that may be code, the most likely one first.

    First the whole, then from a line that starts like code to a line that ends like code.
    """
    lines = sheet.text.split("\n")
    yield sheet
    starts = [number for number, line in enumerate(lines) if _CODE_START.match(line.lstrip()[:40])]
    ends = [number for number, line in enumerate(lines) if line.rstrip().endswith(_CODE_ENDS)]
    for start in starts[:_STARTS_MAX]:
        later = [end for end in ends if end >= start]
        for end in reversed(later[-_STARTS_MAX:]):
            yield sheet.part(start, end + 1)
