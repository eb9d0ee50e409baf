"""From what a model wrote to one program that defines `async function run(params)`."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from vardy_worker.contracts.program import Extracted, NoProgram
from vardy_worker.programs.blocks import (
    SCRIPT_LABELS,
    TYPESCRIPT_LABELS,
    Block,
    bare_regions,
    fenced_blocks,
    without_label,
    without_tags,
    without_tokens,
)
from vardy_worker.programs.candidates import (
    TIER_BROKEN,
    TIER_BROKEN_RUN,
    TIER_FUNCTIONS,
    TIER_NONE,
    TIER_RUN,
    TIER_STATEMENTS,
    TIER_WAITING,
    Candidate,
    Place,
    tier_of,
)
from vardy_worker.programs.disguises import (
    DIFF_LABELS,
    applied_diff,
    applied_patch,
    as_function,
    as_object,
    spans,
    without_caption,
    without_diff_marks,
    without_hashbang,
    without_invisible,
    without_markdown_escapes,
    without_numbers,
)
from vardy_worker.programs.joining import defines_what_is_missing, statements_with_helpers, steps_joined, with_helpers
from vardy_worker.programs.json_wrapping import unescaped, unwrap_json
from vardy_worker.programs.line_ends import plain_lines
from vardy_worker.programs.shaping import shape
from vardy_worker.programs.sheet import Sheet
from vardy_worker.programs.syntax import Tree, is_javascript, parse_javascript, readable
from vardy_worker.programs.thinking import without_thinking
from vardy_worker.programs.typescript import strip_types

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

CUT_REASONS = frozenset({"length", "max_tokens"})
"""Finish reasons that say that the text was cut off."""
_SAID_CHARS_MAX = 2000
_PARSES_MAX = 100
_PARSED_CHARS_MAX = 1024 * 1024
_CODE_WORDS = re.compile(r"\bfunction\b|=>|\bawait\b|\breturn\b")
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,5}|#x[0-9a-f]{1,4});", re.IGNORECASE)
_BROKEN_CODE = re.compile(
    r"\bfunction\s{1,9}run\b|\brun\s{0,9}=[^=]"
    r"|^[ \t]{0,99}(?:export|const|let|var|async|function|await|return)\b.{0,999}[;{(,][ \t]{0,9}$",
    re.MULTILINE,
)
"""What a broken program has and prose about one has not."""
_RUN_WORD = re.compile(r"\brun\b")
_SPAN = re.compile(r"`[^`\n]{1,2000}`")


class _Reader:
    """Reads one text, within a budget of parses."""

    def __init__(self, program_bytes_max: int) -> None:
        self._bytes_max = program_bytes_max
        self._parses_left = _PARSES_MAX
        self._chars_left = _PARSED_CHARS_MAX
        self.oversize = 0

    def plain(self, sheet: Sheet, *, typescript: bool = False) -> Sheet | None:
        """The stretch as JavaScript; None when it is neither that nor TypeScript."""
        if not sheet.text.strip() or not self._affordable(sheet):
            return None
        sheet = without_invisible(sheet)
        if typescript:
            # `f<T>(x)` is a comparison to JavaScript; the label says which one is meant.
            stripped = strip_types(sheet)
            if stripped is not None and is_javascript(stripped.text):
                return stripped
        mended = Sheet(readable(sheet.text), sheet.lines)
        if is_javascript(mended.text):
            return without_caption(mended)
        stripped = strip_types(sheet)
        if stripped is not None and is_javascript(stripped.text):
            return stripped
        if _ENTITY.search(sheet.text) is not None:
            decoded = Sheet(html.unescape(sheet.text), sheet.lines)
            if decoded.text.count("\n") == sheet.text.count("\n") and is_javascript(decoded.text):
                return decoded
        disguises = (without_numbers, without_markdown_escapes, unescaped, without_diff_marks, as_function, as_object)
        return next((other for disguise in disguises if _is_plain(other := disguise(sheet))), None)

    def _affordable(self, sheet: Sheet) -> bool:
        size = len(sheet.text.encode())
        if size > self._bytes_max:
            self.oversize = max(self.oversize, size)
            return False
        self._parses_left -= 1
        self._chars_left -= len(sheet.text)
        return self._parses_left >= 0 and self._chars_left >= 0

    def candidates(self, sheet: Sheet) -> list[Candidate]:
        """All stretches of a text that may be its program, in order."""
        inner = unwrap_json(sheet)
        if inner is not None:
            inside = self._of_json(inner)
            return inside if any(c.tier > TIER_NONE for c in inside) else [_broken(inner, Place.JSON, closed=True)]
        patched = applied_patch(sheet)
        if patched is not None:
            return self.candidates(patched)
        blocks = fenced_blocks(sheet, lambda part: self.plain(part) is not None or unwrap_json(part) is not None)
        found = [candidate for block in blocks for candidate in self._of_block(block)]
        if any(candidate.tier >= TIER_STATEMENTS for candidate in found):
            return found
        one_line = unescaped(sheet)
        if one_line is not None:
            return self.candidates(one_line)
        bare = self._of_bare_text(_outside(sheet, blocks), alone=not blocks)
        if bare is not None:
            return [*found, *bare]
        for span in spans(sheet):
            plain = self.plain(span)
            if plain is not None and tier_of(parse_javascript(plain.text)) == TIER_RUN:
                place = _place_of_span(sheet, plain)
                return [*found, Candidate(plain, TIER_RUN, parsed=True, closed=True, place=place)]
        unquoted = _SPAN.sub("", sheet.text)
        if not blocks and _RUN_WORD.search(unquoted) and _BROKEN_CODE.search(unquoted):
            found.extend(self._broken_text(sheet))
        return found

    def _of_json(self, inner: Sheet) -> list[Candidate]:
        return [replace(c, place=Place.JSON) if c.place is Place.WHOLE else c for c in self.candidates(inner)]

    def _of_bare_text(self, sheet: Sheet, *, alone: bool) -> list[Candidate] | None:
        """The code in a text without fences; empty when it is only a part of what is too large."""
        for region in bare_regions(without_label(without_tags(sheet))):
            plain = self.plain(region)
            tree = parse_javascript(plain.text) if plain is not None else None
            tier = tier_of(tree) if tree is not None and not _has_markup(tree) else TIER_NONE
            if plain is not None and tier > TIER_NONE:
                if len(sheet.text.encode()) > self._bytes_max and not _is_prose(sheet, region):
                    return []
                whole = alone and not _leaves_out(sheet, region)
                place = Place.WHOLE if whole else Place.PROSE
                return [Candidate(plain, tier, parsed=True, closed=False, place=place)]
        return None

    def _of_block(self, block: Block) -> list[Candidate]:
        inner = unwrap_json(block.sheet)
        if inner is not None:
            return self._of_json(inner)
        if block.label in DIFF_LABELS:
            block = replace(block, sheet=applied_diff(block.sheet))
        plain = self.plain(without_label(block.sheet), typescript=block.label in TYPESCRIPT_LABELS)
        if plain is None:
            return self._of_broken(block)
        tree = parse_javascript(plain.text)
        tier = tier_of(tree)
        if block.label not in SCRIPT_LABELS and tier < TIER_RUN:
            return []
        program = _dedent_templates(plain, tree, block.indent)
        return [Candidate(program, tier, parsed=True, closed=block.closed, place=_place_of(block))]

    def _of_broken(self, block: Block) -> list[Candidate]:
        """A block that does not parse: its program when only prose stands beside it, else all of it."""
        small = len(block.sheet.text.encode()) <= self._bytes_max and _RUN_WORD.search(block.sheet.text)
        for region in bare_regions(block.sheet) if small else ():
            plain = self.plain(region) if region.lines and _is_prose(block.sheet, region) else None
            if plain is not None and tier_of(parse_javascript(plain.text)) == TIER_RUN:
                return [Candidate(plain, TIER_RUN, parsed=True, closed=block.closed, place=_place_of(block))]
        return [_broken(block.sheet, _place_of(block), closed=block.closed)] if block.label in SCRIPT_LABELS else []

    def _broken_text(self, sheet: Sheet) -> list[Candidate]:
        """Code without fences that does not parse: from its first line of code on."""
        regions = list(bare_regions(sheet))
        chosen = regions[1] if len(regions) > 1 else regions[0]
        return [_broken(chosen, Place.PROSE, closed=False)] if len(chosen.text.encode()) <= self._bytes_max else []


def _is_plain(sheet: Sheet | None) -> bool:
    return sheet is not None and is_javascript(sheet.text)


def _has_markup(tree: Tree) -> bool:
    """Whether a statement is an element: tags around a program, which the grammar takes for JSX."""
    return any(
        inner.kind.startswith("jsx_")
        for statement in tree.root.named_children()
        for inner in statement.named_children()
    )


def _place_of(block: Block) -> Place:
    return Place.SCRIPT if block.label and block.label in SCRIPT_LABELS else Place.FENCE


def _place_of_span(whole: Sheet, span: Sheet) -> Place:
    if whole.text.strip().strip("`") == span.text.strip():
        return Place.WHOLE
    return Place.PROSE if "\n" in span.text.strip() else Place.SPAN


def _lines_left_out(whole: Sheet, region: Sheet) -> list[str]:
    return [
        line for line, number in zip(whole.text.split("\n"), whole.lines, strict=True) if number not in region.lines
    ]


def _leaves_out(whole: Sheet, region: Sheet) -> bool:
    return any(line.strip() for line in _lines_left_out(whole, region))


def _is_prose(whole: Sheet, region: Sheet) -> bool:
    """Whether what a stretch leaves out of a block has no sign of code."""
    left = _lines_left_out(whole, region)
    return (
        bool(left)
        and not any(sign in line for line in left for sign in "{};=")
        and not any(line.lstrip().startswith("@") for line in left)
    )


def _broken(sheet: Sheet, place: Place, *, closed: bool) -> Candidate:
    tier = TIER_NONE
    if _CODE_WORDS.search(sheet.text):
        tier = TIER_BROKEN_RUN if _RUN_WORD.search(sheet.text) else TIER_BROKEN
    return Candidate(sheet, tier, parsed=False, closed=closed, place=place)


def _outside(sheet: Sheet, blocks: list[Block]) -> Sheet:
    """The text with its fenced blocks left empty."""
    if not blocks:
        return sheet
    taken = {line for block in blocks for line in block.sheet.lines}
    lines = sheet.text.split("\n")
    kept = [
        "" if number in taken or line.lstrip(" \t>-*").startswith(("```", "~~~")) else line
        for line, number in zip(lines, sheet.lines, strict=True)
    ]
    return Sheet("\n".join(kept), sheet.lines)


def _dedent_templates(sheet: Sheet, tree: Tree, indent: int) -> Sheet:
    """Takes the indentation of a list or quote out of the lines inside of template literals.

    Everywhere else the indentation stays, because it does not matter to a program and
    keeps the columns those of the model's text.
    """
    if not indent:
        return sheet
    rows: set[int] = set()
    for node in tree.nodes:
        if node.kind == "template_string":
            rows.update(range(node.row + 1, node.row + node.text.count("\n") + 1))
    lines = sheet.text.split("\n")
    for row in rows:
        space = len(lines[row]) - len(lines[row].lstrip(" \t"))
        lines[row] = lines[row][min(space, indent) :]
    return Sheet("\n".join(lines), sheet.lines)


def extract(
    text: str,
    *,
    finish_reason: str = "stop",
    program_bytes_max: int,
    functions: Collection[str] = (),
    is_meant: Callable[[Candidate], bool] = lambda _: True,
) -> Extracted | NoProgram:
    """The program in a model's text, or why there is none.

    `finish_reason` is the provider's; `"length"` means that the text was cut off, and a
    program that the text does not close itself is then refused as truncated. A program
    above `program_bytes_max` is refused before it is parsed. A stretch that is clearly
    meant as the program but does not parse is returned as it is, so that `check` can point
    to the place. Helpers in fences of their own are joined to the one with `run`, unless they
    define one of the registered `functions` that the caller names. Where a text need not
    hold a program at all, `is_meant` says which stretches are meant to be run; when none
    is, there is no program. Time is linear in the length of the text, within a fixed
    budget of parses.
    """
    written = Sheet.of(plain_lines(text.removeprefix("\ufeff")))
    sheet = without_hashbang(without_tokens(written))
    spoken = without_thinking(sheet)
    reader = _Reader(program_bytes_max)
    cut = finish_reason.lower() in CUT_REASONS
    found = reader.candidates(spoken.sheet)
    if all(c.tier == TIER_NONE for c in found) and spoken.open_ended and not cut:
        found = reader.candidates(sheet)
    if found and not any(is_meant(candidate) for candidate in found):
        return _truncated(text) if cut else _nothing(text)
    if cut and _is_cut_program(found):
        return _truncated(text)
    lost = [candidate for candidate in found if cut and not candidate.closed]
    found = [candidate for candidate in found if candidate not in lost]
    best = max((c.tier for c in found), default=TIER_NONE)
    if reader.oversize and best < TIER_RUN and (found or _CODE_WORDS.search(text)):
        return too_large(reader.oversize, program_bytes_max)
    if best == TIER_NONE:
        return _truncated(text) if cut else _nothing(text)
    chosen = _chosen(found, best, functions)
    if any(defines_what_is_missing(candidate, chosen) for candidate in lost):
        return _truncated(text)
    return _finished(chosen, program_bytes_max)


def _chosen(found: list[Candidate], best: float, functions: Collection[str]) -> Candidate:
    """The best stretch, with what it needs of the others."""
    joined = steps_joined(found) if best <= TIER_WAITING else None
    if joined is not None:
        return joined
    chosen = statements_with_helpers(found) if best == TIER_FUNCTIONS else None
    chosen = chosen or next(c for c in reversed(found) if c.tier == best)
    return with_helpers(chosen, found, functions) if chosen.parsed and len(found) > 1 else chosen


def _is_cut_program(found: list[Candidate]) -> bool:
    """Whether the stretch that was cut off looks more like the program than all that are complete."""
    cut = max((c.tier for c in found if not c.closed), default=TIER_NONE)
    return cut >= TIER_BROKEN_RUN and cut > max((c.tier for c in found if c.closed), default=TIER_NONE)


def _finished(chosen: Candidate, program_bytes_max: int) -> Extracted | NoProgram:
    sheet = shape(chosen.sheet) if chosen.parsed else chosen.sheet
    size = len(sheet.text.encode())
    if size > program_bytes_max:
        return too_large(size, program_bytes_max)
    source = sheet.text.rstrip() + "\n"
    return Extracted(source=source, line_map=(*sheet.lines, 0)[: source.count("\n") + 1])


def _said(text: str) -> dict[str, str]:
    return {"said": text[:_SAID_CHARS_MAX]}


def _nothing(text: str) -> NoProgram:
    message = "The model gave no program." if text.strip() else "The model gave an empty answer."
    return NoProgram(code="generation.no_program", message=message, details=_said(text))


def _truncated(text: str) -> NoProgram:
    return NoProgram(
        code="generation.truncated",
        message="The model's answer was cut off before the program ended; ask for a shorter one.",
        details=_said(text),
    )


def too_large(size: int, limit: int) -> NoProgram:
    """What becomes of a program of `size` bytes above the limit."""
    return NoProgram(
        code="generation.program_too_large",
        message=f"The program has {size} bytes; at most {limit} are allowed.",
        details={"limit": "program_bytes_max", "limit_value": limit, "value": size},
    )
