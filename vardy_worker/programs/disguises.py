"""Programs in a form that is not yet JavaScript: as a diff, with line numbers, escaped, in a sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vardy_worker.programs.sheet import Edit, Sheet
from vardy_worker.programs.syntax import bare, parse_javascript

if TYPE_CHECKING:
    from collections.abc import Iterator

DIFF_LABELS = frozenset({"diff", "patch"})
_DIFF_HEADS = ("+++", "---", "@@", "diff ", "index ", "\\ No newline", "*** ")
_PATCH = re.compile(r"^\*\*\* Begin Patch$.*?^\*\*\* End Patch$", re.MULTILINE | re.DOTALL)
_HASHBANG = re.compile(r"^[ \t]{0,99}#![^\n]{0,200}\b(?:node|deno|bun|qjs|env)\b[^\n]{0,200}$", re.MULTILINE)
_METHOD = re.compile(
    r"(?:/\*.*?\*/\s*|//[^\n]*\n\s*){0,9}"
    r"(?P<head>(?:static\s+)?(?P<async>async\s+)?(?P<star>\*\s*)?)(?P<name>run)\s*\(",
    re.DOTALL,
)
_NUMBERED = re.compile(r"[ \t]{0,20}>?[ \t]{0,20}[lL]?(\d{1,5})(?:[ \t]{0,4}[|:│.)][ \t]?|[ \t]|$)")
_NUMBERED_LINES_MIN = 2
_INVISIBLE = re.compile("[\u200b\u200e\u200f\u2060\u00ad]")
_TEXTS = frozenset({"string", "template_string", "regex"})
_SPAN = re.compile(r"(?<!`)`([^`\n]{1,20000})`(?!`)")
_SPAN_CODE = re.compile(r"(?:\bfunction\s{1,5}run\s{0,5}\(|\brun\s{0,5}=).{0,20000}(?:\bawait\b|\breturn\b)")
_DECLARATIONS = frozenset({"function_declaration", "generator_function_declaration", "lexical_declaration"})


def applied_diff(sheet: Sheet) -> Sheet:
    """What a diff leads to: added and unchanged lines, their marks as spaces."""
    kept = []
    for line in sheet.text.split("\n"):
        if line.startswith("-") or line.startswith(_DIFF_HEADS):
            kept.append("")
        else:
            kept.append(" " + line[1:] if line.startswith("+") else line)
    return Sheet("\n".join(kept), sheet.lines)


def applied_patch(sheet: Sheet) -> Sheet | None:
    """What the patch in a text leads to, `*** Begin Patch` to `*** End Patch`; None when it has none."""
    found = _PATCH.search(sheet.text) if "*** Begin Patch" in sheet.text else None
    if found is None:
        return None
    first, after = sheet.text.count("\n", 0, found.start()), sheet.text.count("\n", 0, found.end()) + 1
    return applied_diff(sheet.part(first, after))


def without_diff_marks(sheet: Sheet) -> Sheet | None:
    """The text as what its `+` and `-` lead to; None unless every line has a mark or a space in its place."""
    lines = [line for line in sheet.text.split("\n") if line.strip()]
    marked = all(line[0] in "+- " or line.startswith("@@") for line in lines)
    return applied_diff(sheet) if marked and any(line.startswith("+") for line in lines) else None


def without_hashbang(sheet: Sheet) -> Sheet:
    """The text with lines like `#!/usr/bin/env node` as spaces: what is put around a program would break them."""
    if "#!" not in sheet.text:
        return sheet
    return Sheet(_HASHBANG.sub(lambda match: " " * len(match[0]), sheet.text), sheet.lines)


def as_function(sheet: Sheet) -> Sheet | None:
    """`async run(params) {…}`, the method of an object that is not there, as a function; None for others."""
    space = len(sheet.text) - len(sheet.text.lstrip())
    found = _METHOD.match(sheet.text, space)
    if found is None:
        return None
    head = "async function" if found["async"] else "function"
    name, start = found.start("name"), found.start("head")
    column = name - sheet.text.rfind("\n", 0, name) - 1
    end = len(sheet.text.rstrip())
    edits = [Edit(start, name, f"{head}{found['star'] or ''}\n{' ' * column}")]
    if sheet.text[end - 1] in ",;":
        edits.append(Edit(end - 1, end, " "))
    return sheet.apply(edits)


def as_object(sheet: Sheet) -> Sheet | None:
    """`{ async run(params) {…} }`, which is no statement, as an expression; None for others."""
    start, end = len(sheet.text) - len(sheet.text.lstrip()), len(sheet.text.rstrip().rstrip(";"))
    if sheet.text[start : start + 1] != "{" or sheet.text[end - 1 : end] != "}" or "run" not in sheet.text:
        return None
    return sheet.apply([Edit(0, 0, "(\n"), Edit(end, end, "\n)")])


def without_numbers(sheet: Sheet) -> Sheet | None:
    """The text with the numbers before its lines as spaces; None unless all lines have them, in order."""
    lines = sheet.text.split("\n")
    expected: int | None = None
    for row, line in enumerate(lines):
        if not line.strip():
            continue
        found = _NUMBERED.match(line)
        if found is None or (expected is not None and int(found[1]) != expected):
            return None
        expected = int(found[1]) + 1
        lines[row] = " " * found.end() + line[found.end() :]
    many = sum(1 for line in lines if line.strip()) >= _NUMBERED_LINES_MIN
    return Sheet("\n".join(lines), sheet.lines) if many else None


def without_markdown_escapes(sheet: Sheet) -> Sheet | None:
    r"""The text with `\_` and `\*` as what they escape; None when it has none."""
    text = sheet.text.replace("\\_", "_").replace("\\*", "*")
    return Sheet(text, sheet.lines) if text != sheet.text else None


def without_invisible(sheet: Sheet) -> Sheet:
    """The text with characters without width as spaces where they are not data.

    The grammar takes them for space, engines do not.
    """
    if not _INVISIBLE.search(sheet.text):
        return sheet
    edits: list[Edit] = []
    done = 0
    for node in parse_javascript(sheet.text).nodes:
        if node.kind in _TEXTS and node.end > done:
            edits.extend(_spaces(sheet, done, node.start))
            done = node.end
    return sheet.apply([*edits, *_spaces(sheet, done, len(sheet.text))])


def _spaces(sheet: Sheet, start: int, end: int) -> Iterator[Edit]:
    for found in _INVISIBLE.finditer(sheet.text, start, max(start, end)):
        yield Edit(found.start(), found.end(), " ")


def without_caption(sheet: Sheet) -> Sheet:
    """The text without `Answer:` before a declaration, which the grammar takes for a label."""
    if ":" not in sheet.text:
        return sheet
    edits = []
    for statement in parse_javascript(sheet.text).root.named_children():
        label, body = statement.get("label"), statement.get("body")
        if statement.kind == "labeled_statement" and body is not None and bare(body).kind in _DECLARATIONS:
            edits.append(sheet.blank(statement.start, body.start if label is not None else statement.start))
    return sheet.apply(edits) if edits else sheet


def spans(sheet: Sheet) -> Iterator[Sheet]:
    """Programs in the middle of a sentence, between single ticks; columns stay."""
    for row, line in enumerate(sheet.text.split("\n")):
        for found in _SPAN.finditer(line) if "`" in line else ():
            if _SPAN_CODE.search(found[1]):
                yield Sheet(" " * found.start(1) + found[1], (sheet.lines[row],))
