"""Syntax trees of JavaScript and TypeScript, made cheap to walk.

tree-sitter parses any text in time linear to its length and never fails: what it
cannot understand becomes `ERROR` and missing nodes. Its trees are copied once into
`Node` objects, without comments and with character offsets, so that the checks can look
at parents and fields freely. No function here recurses: nesting is bounded by memory only.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from vardy_worker.programs.mending import goes_on_behind_a_block, mend_awaits, with_all_semicolons, with_semicolons
from vardy_worker.programs.nodes import Node

if TYPE_CHECKING:
    import tree_sitter

FUNCTIONS = frozenset(
    {
        "function_declaration",
        "function_expression",
        "arrow_function",
        "method_definition",
        "generator_function",
        "generator_function_declaration",
    }
)
"""Node kinds that make a function."""

NESTING_MAX = 2_000
"""Levels of a tree: far more than people or models write. Checks that look at what is around a
node take time by its depth, so this bounds them."""

_COMMENTS = frozenset({"comment", "html_comment"})
LOGICAL = frozenset({"&&", "||", "??"})
"""The operators that choose one of their operands."""
GENERATORS = frozenset({"generator_function", "generator_function_declaration"})
CLASSES = frozenset({"class", "class_declaration"})

_UNICODE_ESCAPE = re.compile(r"\\u(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{4}))")
_STRING_ESCAPE = re.compile(
    r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|[\s\S]))",
)
_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}


@dataclass(frozen=True, slots=True)
class Tree:
    """A parsed text. `nodes` are all of its nodes, `errors` the `ERROR` and missing ones, in source order.

    `comments` are where its comments start and end; they are no nodes. A node as deep as
    `NESTING_MAX` counts as an error, and has nothing below it.
    """

    source: str
    root: Node
    nodes: tuple[Node, ...]
    errors: tuple[Node, ...]
    comments: tuple[tuple[int, int], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the grammar understood all of it."""
        return not self.errors

    @property
    def too_deep(self) -> Node | None:
        """The first node that is nested too deeply."""
        return next((node for node in self.errors if not node.missing and node.kind != "ERROR"), None)


@cache
def _language(name: str) -> tree_sitter.Language:
    # Imported late: the API imports this package, and most of its requests parse nothing.
    from tree_sitter import Language  # noqa: PLC0415 - see above

    if name == "javascript":
        import tree_sitter_javascript  # noqa: PLC0415 - see above

        return Language(tree_sitter_javascript.language())
    import tree_sitter_typescript  # noqa: PLC0415 - see above

    return Language(tree_sitter_typescript.language_typescript())


def parse_javascript(source: str) -> Tree:
    """The tree of a JavaScript text, whose lines end with a line feed."""
    return _parse(source, "javascript")


def is_javascript(source: str) -> bool:
    """Whether the grammar of JavaScript understands all of a text; cheaper than its tree."""
    return not _raw(source.encode("utf-8", "replace"), "javascript").root_node.has_error


def readable(source: str) -> str:
    """The text, or the text with semicolons where the grammar misses them and the language does not.

    No column changes: they are added at the ends of lines.
    """
    if not goes_on_behind_a_block(source):
        return source
    tree = parse_javascript(source)
    mended = with_semicolons(source, tree.nodes) if tree.ok else with_all_semicolons(source)
    return mended if mended != source and is_javascript(mended) else source


def is_typescript(source: str) -> bool:
    """Whether the grammar of TypeScript understands all of a text; cheaper than its tree."""
    return not _raw(source.encode("utf-8", "replace"), "typescript").root_node.has_error


def parse_typescript(source: str) -> Tree:
    """The tree of a TypeScript text, whose lines end with a line feed."""
    return _parse(source, "typescript")


def _parse(source: str, language: str) -> Tree:
    # A lone surrogate becomes one `?`, so that offsets count the same characters.
    data = source.encode("utf-8", "replace")
    tree = _convert(_raw(data, language).walk(), source, _char_offsets(source, len(data)))
    if not mend_awaits(tree.nodes):
        return tree
    return replace(tree, nodes=tuple(tree.root.walk()))


def _raw(data: bytes, language: str) -> tree_sitter.Tree:
    from tree_sitter import Parser  # noqa: PLC0415 - as above

    return Parser(_language(language)).parse(data)


def _char_offsets(source: str, size: int) -> list[int] | None:
    """For each byte of the UTF-8 form the number of its character; None where they agree."""
    if size == len(source):
        return None
    offsets: list[int] = []
    for number, char in enumerate(source):
        offsets.extend([number] * len(char.encode("utf-8", "replace")))
    offsets.append(len(source))
    return offsets


def _convert(cursor: tree_sitter.TreeCursor, source: str, offsets: list[int] | None) -> Tree:
    line_starts = [0]
    line_starts.extend(match.end() for match in re.finditer("\n", source))
    nodes: list[Node] = []
    errors: list[Node] = []
    comments: list[tuple[int, int]] = []
    root: Node | None = None
    parent: Node | None = None
    while True:
        raw = cursor.node
        assert raw is not None  # noqa: S101 - narrows the type; a cursor always has a node
        start, end, row = raw.start_byte, raw.end_byte, raw.start_point[0]
        if offsets is not None:
            start, end = offsets[start], offsets[end]
        node = Node(
            source,
            raw.type,
            start,
            end,
            row=row,
            column=start - line_starts[row],
            named=raw.is_named,
            missing=raw.is_missing,
        )
        node.field = cursor.field_name
        node.parent = parent
        if node.kind in _COMMENTS:
            comments.append((start, end))
        else:
            nodes.append(node)
            if parent is not None:
                parent.children.append(node)
        if node.missing or node.kind == "ERROR" or cursor.depth == NESTING_MAX:
            errors.append(node)
        if root is None:
            root = node
        if cursor.depth < NESTING_MAX and cursor.goto_first_child():
            parent = node
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return Tree(source, root, tuple(nodes), tuple(errors), tuple(comments))
            assert parent is not None  # noqa: S101 - narrows the type; the cursor went down before
            parent = parent.parent


def identifier_name(node: Node) -> str:
    """The name an identifier stands for, escapes (`u0065val` with a backslash) resolved."""
    text = node.text
    return _UNICODE_ESCAPE.sub(lambda m: _char(m[1] or m[2]), text) if "\\" in text else text


def string_value(node: Node) -> str | None:
    """What a string literal, or a template without substitutions, says; None for others."""
    if node.kind == "string":
        return _unescape(node.text[1:-1])
    if node.kind == "template_string" and not any(child.kind == "template_substitution" for child in node.children):
        return _unescape(node.text[1:-1])
    return None


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text

    def one(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        return _char(code) if code else _SIMPLE_ESCAPES.get(match[4], match[4])

    return _STRING_ESCAPE.sub(one, text)


def _char(code: str) -> str:
    number = int(code, 16)
    return chr(number) if number <= sys.maxunicode else "\ufffd"


def bare(node: Node) -> Node:
    """The node without the parentheses around it."""
    while node.kind == "parenthesized_expression" and len(node.named_children()) == 1:
        node = node.named_children()[0]
    return node


def around(node: Node) -> Node:
    """The outermost parentheses around the node, or the node itself: the opposite of `bare`."""
    while node.parent is not None and node.parent.kind == "parenthesized_expression":
        node = node.parent
    return node


def operator(node: Node) -> str:
    """The operator of a binary expression; "" for nodes without one."""
    found = node.get("operator")
    return found.kind if found is not None else ""


def property_name(node: Node) -> str | None:
    """The name a member or subscript expression reaches for, when the text shows it."""
    if node.kind == "member_expression":
        reached = node.get("property")
        return identifier_name(reached) if reached is not None else None
    if node.kind == "subscript_expression":
        index = node.get("index")
        return string_value(bare(index)) if index is not None else None
    return None


def key_name(node: Node) -> str | None:
    """The name of a property key in an object literal, pattern or class, when the text shows it."""
    if node.kind in {"property_identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern"}:
        return identifier_name(node)
    if node.kind == "string":
        return string_value(node)
    if node.kind == "number":
        return node.text
    if node.kind == "computed_property_name":
        inner = node.named_children()
        return string_value(bare(inner[0])) if inner else None
    return None


def short_text(node: Node, length: int = 40) -> str:
    """The text of a node for a message: one line, cut off beyond `length` characters."""
    text = " ".join(bare(node).text.split())
    return text if len(text) <= length else f"{text[: length - 1]}…"


def enclosing_function(node: Node) -> Node | None:
    """The nearest function around the node, not the node itself."""
    return next((ancestor for ancestor in node.ancestors() if ancestor.kind in FUNCTIONS), None)


def is_generator(function: Node) -> bool:
    """Whether a function node is declared with `*`."""
    return function.kind in GENERATORS or (function.kind == "method_definition" and function.has_token("*"))


def is_async(function: Node) -> bool:
    """Whether a function node is declared `async`."""
    return function.has_token("async")
