"""TypeScript to plain JavaScript: types become spaces, so that every column stays.

Enums are translated. What has no plain form (namespaces, decorators, parameter properties,
computed enum members) stays in the text and is named by `typescript_findings`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vardy_worker.programs.enums import enum_as_object
from vardy_worker.programs.nodes import Node
from vardy_worker.programs.sheet import Edit, Sheet, blanked
from vardy_worker.programs.syntax import Tree, is_typescript, parse_typescript

if TYPE_CHECKING:
    from vardy_worker.programs.codes import Findings
_STATEMENTS = frozenset(
    {
        "interface_declaration",
        "type_alias_declaration",
        "ambient_declaration",
        "function_signature",
        "import_alias",
    }
)
_MEMBERS = frozenset({"abstract_method_signature", "method_signature", "index_signature"})
_TYPES = frozenset(
    {
        "type_annotation",
        "type_predicate_annotation",
        "asserts_annotation",
        "type_parameters",
        "type_arguments",
        "implements_clause",
        "accessibility_modifier",
        "override_modifier",
    }
)
_CASTS = frozenset({"as_expression", "satisfies_expression"})
_CAST_ENDS = frozenset({"expression_statement", "variable_declarator", "return_statement", "assignment_expression"})
_CONTINUES = frozenset("([`+-/")


_NAMESPACE = ("TypeScript namespaces have no plain form.", "Use a constant object.")
_REFUSED = {
    "internal_module": _NAMESPACE,
    "module": _NAMESPACE,
    "decorator": ("Decorators do not exist in programs.", "Call a helper function instead."),
}


@dataclass(frozen=True, slots=True)
class _Refusal:
    """TypeScript without a plain form."""

    node: Node
    message: str
    hint: str


@dataclass(slots=True)
class _Strip:
    """The edits of one text."""

    sheet: Sheet
    edits: list[Edit] = field(default_factory=list)
    refusals: list[_Refusal] = field(default_factory=list)

    def blank(self, start: int, end: int, mark: str = "") -> None:
        """Spaces over a range; `mark` takes the first places of it."""
        text = blanked(self.sheet.text[start:end])
        self.edits.append(Edit(start, end, mark + text[len(mark) :]))


def strip_types(sheet: Sheet) -> Sheet | None:
    """The text as JavaScript; None when it is not TypeScript either, or has no plain form."""
    if not is_typescript(sheet.text):
        return None
    strip = _collect(parse_typescript(sheet.text), sheet)
    return None if strip.refusals else sheet.apply(strip.edits)


def typescript_findings(source: str, findings: Findings) -> bool:
    """Adds what keeps a TypeScript program from running; False when the text is not TypeScript."""
    if not is_typescript(source):
        return False
    tree = parse_typescript(source)
    strip = _collect(tree, Sheet.of(source))
    for refusal in strip.refusals:
        findings.add("program.typescript", refusal.node, refusal.message, refusal.hint)
    if not strip.refusals:
        typed = next((n for n in tree.nodes if n.kind in _TYPES | _STATEMENTS | _CASTS), tree.root)
        findings.add("program.typescript", typed, "This is TypeScript.", "Write plain JavaScript, without types.")
    return True


def _collect(tree: Tree, sheet: Sheet) -> _Strip:
    strip = _Strip(sheet)
    stack = [tree.root]
    while stack:
        node = stack.pop()
        if not _replace(strip, node):
            _trim(strip, node)
            # Only the value of a cast stays.
            stack.extend(reversed(node.children[:1] if node.kind in _CASTS else node.children))
    return strip


def _replace(strip: _Strip, node: Node) -> bool:
    """Handles a node that goes as a whole; True when nothing below it is left to do."""
    if _is_type_statement(node):
        strip.blank(node.start, node.end, ";")
    elif node.kind in _MEMBERS or _is_declared_field(node):
        strip.blank(node.start, node.end)
    elif node.kind in _TYPES:
        _blank_type(strip, node)
    elif node.kind == "enum_declaration":
        translated = enum_as_object(node)
        if isinstance(translated, str):
            strip.refusals.append(_Refusal(node, translated, 'Use a constant object: `const Name = {A: "a"};`.'))
        else:
            strip.edits.extend(translated)
    elif node.kind in _REFUSED and node.named:
        strip.refusals.append(_Refusal(node, *_REFUSED[node.kind]))
    else:
        return False
    return True


def _is_declared_field(node: Node) -> bool:
    """Fields that TypeScript only declares; a plain field would hide an inherited one."""
    return node.kind == "public_field_definition" and (node.has_token("declare") or node.has_token("abstract"))


def _is_type_statement(node: Node) -> bool:
    """Statements that are types and nothing else: `interface`, `type`, `declare`, type imports and exports."""
    if node.kind == "export_statement":
        return node.has_token("type") or any(child.kind in _STATEMENTS for child in node.children)
    return node.kind in _STATEMENTS or (node.kind == "import_statement" and _imports_types(node))


def _imports_types(node: Node) -> bool:
    clause = next((child for child in node.children if child.kind == "import_clause"), None)
    names = clause.named_children() if clause is not None else []
    specifiers = names[0].named_children() if len(names) == 1 and names[0].kind == "named_imports" else []
    return node.has_token("type") or (bool(specifiers) and all(name.has_token("type") for name in specifiers))


def _trim(strip: _Strip, node: Node) -> None:
    """Takes the types off a node whose parts stay."""
    kind = node.kind
    if kind in _CASTS:
        _trim_cast(strip, node)
    elif kind == "non_null_expression":
        strip.blank(node.end - 1, node.end)
    elif kind in {"required_parameter", "optional_parameter"}:
        _trim_parameter(strip, node)
    elif kind == "abstract_class_declaration":
        _blank_tokens(strip, node, {"abstract"})
    elif kind in {"public_field_definition", "variable_declarator"}:
        _blank_tokens(strip, node, {"readonly", "?", "!", "abstract"})
    elif kind == "method_definition":
        _blank_tokens(strip, node, {"?"})
    elif kind in {"import_specifier", "export_specifier"} and node.has_token("type"):
        _blank_tokens(strip, node, {"type"})


def _blank_tokens(strip: _Strip, node: Node, tokens: set[str]) -> None:
    for child in node.children:
        if not child.named and child.kind in tokens:
            strip.blank(child.start, child.end)


def _trim_cast(strip: _Strip, node: Node) -> None:
    """`value as T`; a line that goes on with `(` or the like must not join the one before it."""
    value = node.children[0]
    rest = strip.sheet.text[node.end :]
    after = rest.lstrip()
    newline = "\n" in rest[: len(rest) - len(after)]
    # A cast without parentheses is never called: the grammar joins the lines, TypeScript does not.
    ends = node.field in {"function", "object"} or (node.parent is not None and node.parent.kind in _CAST_ENDS)
    strip.blank(value.end, node.end, " ;" if ends and newline and after[:1] in _CONTINUES else "")


def _trim_parameter(strip: _Strip, node: Node) -> None:
    pattern = node.get("pattern")
    if pattern is not None and pattern.kind == "this":
        # `this: T` is no parameter at all, so its comma goes too.
        following = strip.sheet.text[node.end :]
        comma = len(following) - len(following.lstrip()) + 1 if following.lstrip().startswith(",") else 0
        strip.edits = [edit for edit in strip.edits if not node.start <= edit.start < node.end]
        strip.blank(node.start, node.end + comma)
        node.children = []
        return
    _blank_tokens(strip, node, {"?"})
    modifier = next(
        (c for c in node.children if c.kind in {"accessibility_modifier", "override_modifier", "readonly"}), None
    )
    if modifier is not None:
        strip.refusals.append(
            _Refusal(node, "Parameter properties have no plain form.", "Assign the field in the constructor.")
        )


def _blank_type(strip: _Strip, node: Node) -> None:
    parent = node.parent
    spans = "\n" in node.text
    if spans and parent is not None and parent.kind == "arrow_function":
        if node.field == "return_type":
            # `=>` must stand on the line of `)`, so the parenthesis moves to the end of the type.
            closing = strip.sheet.text.rfind(")", 0, node.start)
            strip.blank(closing, closing + 1)
            text = blanked(node.text)
            strip.edits.append(Edit(node.start, node.end, f"{text[:-1]})"))
            return
        if node.kind == "type_parameters" and parent.has_token("async"):
            opening = strip.sheet.text.find("(", node.end)
            strip.blank(node.start, node.end, "(")
            strip.blank(opening, opening + 1)
            return
    strip.blank(node.start, node.end)
