"""Characters that the grammar lets pass and JavaScript refuses: invisible ones, and those of no name."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from vardy_worker.programs.nodes import Node
from vardy_worker.programs.syntax import identifier_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vardy_worker.programs.codes import Findings
    from vardy_worker.programs.syntax import Tree

_INVISIBLE = re.compile("[\u200b\u2060]")
"""Of no width; the grammar takes exactly these two for white space, and the language does not."""

_TEXTS = frozenset({"string_fragment", "regex_pattern", "jsx_text"})
_NAMES = frozenset(
    {
        "identifier",
        "property_identifier",
        "private_property_identifier",
        "shorthand_property_identifier",
        "shorthand_property_identifier_pattern",
        "statement_identifier",
    }
)
_QUOTES = frozenset("\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u201b\u00ab\u00bb\u00b4")
"""Typographic quotes, and the acute accent that is typed for one."""
_JOINERS = frozenset("$_\u200c\u200d")
_NAME_CATEGORIES = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Mn", "Mc", "Nd", "Pc"})


def check_characters(tree: Tree, findings: Findings) -> None:
    """Invisible characters between the words of a program, and names with signs that no name has."""
    for place in _invisible(tree):
        start = tree.source.rfind("\n", 0, place) + 1
        row = tree.source.count("\n", 0, place)
        node = Node(
            tree.source, "character", place, place + 1, row=row, column=place - start, named=False, missing=False
        )
        message = (
            f"An invisible character (U+{ord(tree.source[place]):04X}) stands here, which JavaScript does not allow."
        )
        findings.add("program.syntax", node, message, "Delete it.")
    for node in tree.nodes:
        if node.kind in _NAMES and ("\\" in node.text or not node.text.isascii()):
            sign = wrong_sign(identifier_name(node).removeprefix("#"))
            if sign is not None:
                message = f"JavaScript does not allow `{sign}` here."
                hint = (
                    "Write strings with straight quotes: \" or '."
                    if sign in _QUOTES
                    else "Write names with letters, digits, `_` and `$`."
                )
                findings.add("program.syntax", node, message, hint)


def _invisible(tree: Tree) -> Iterator[int]:
    """The places of invisible characters that are neither data nor comment."""
    found = [match.start() for match in _INVISIBLE.finditer(tree.source)]
    if not found:
        return
    harmless = sorted([*tree.comments, *((node.start, node.end) for node in tree.nodes if node.kind in _TEXTS)])
    current = 0
    for place in found:
        while current < len(harmless) and harmless[current][1] <= place:
            current += 1
        if current == len(harmless) or place < harmless[current][0]:
            yield place


def wrong_sign(name: str) -> str | None:
    """The first sign of a name that no name has, or that none begins with."""
    return next((char for place, char in enumerate(name) if not _in_names(char, first=place == 0)), None)


def _in_names(char: str, *, first: bool) -> bool:
    if first and unicodedata.category(char) in {"Nd", "Mn", "Mc"}:
        return False
    # Python's own rule adds the few that Unicode lists by hand.
    return char in _JOINERS or unicodedata.category(char) in _NAME_CATEGORIES or f"a{char}".isidentifier()
