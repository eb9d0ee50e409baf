"""Statements without a function around them become the body of `run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.programs.globals import ALLOWED_GLOBALS, MISSING_GLOBALS
from vardy_worker.programs.nodes import Node
from vardy_worker.programs.scopes import Names, Use, pattern_names
from vardy_worker.programs.sheet import Edit, Sheet
from vardy_worker.programs.syntax import FUNCTIONS, bare, property_name

if TYPE_CHECKING:
    from collections.abc import Iterable

_NOT_LAST = FUNCTIONS | {"class_declaration", "empty_statement", "import_statement"}
_ACTS = FUNCTIONS | {
    "assignment_expression",
    "augmented_assignment_expression",
    "await_expression",
    "call_expression",
    "new_expression",
    "update_expression",
    "yield_expression",
}
_DEPTH_MAX = 40


def wrap_statements(sheet: Sheet, names: Names) -> Sheet:
    """The statements inside of `run`; what the last one works out is returned."""
    end = len(sheet.text)
    opening = "async function run(params) {"
    closing = "\n}"
    if "params" in names.top.bindings:
        # The model gave `params` a value of its own, which a block of its own may declare.
        opening, closing = f"{opening} {{", f"\n}}{closing}"
    undeclared = _undeclared(names)
    if undeclared:
        opening = f"{opening} let {', '.join(undeclared)};"
    edits = [Edit(0, 0, f"{opening}\n"), *_returns(sheet, names), Edit(end, end, closing)]
    return sheet.apply(edits)


def _undeclared(names: Names) -> list[str]:
    """Names that the statements assign at their top without declaring them."""
    written = (
        reference.name
        for reference in names.free
        if reference.use is Use.WRITE and not any(node.kind in FUNCTIONS for node in reference.node.ancestors())
    )
    return [name for name in dict.fromkeys(written) if name not in ALLOWED_GLOBALS and name not in MISSING_GLOBALS]


def _returns(sheet: Sheet, names: Names) -> list[Edit]:
    statements = [node for node in names.tree.root.named_children() if node.kind not in _NOT_LAST]
    return _return_of(sheet, statements[-1], names, 0) if statements else []


def _return_of(sheet: Sheet, statement: Node, names: Names, depth: int) -> list[Edit]:
    """The edits that make a statement return what it works out."""
    kind = statement.kind
    if depth > _DEPTH_MAX:
        return []
    if kind == "expression_statement":
        return _return_expression(sheet, statement, names)
    if kind in {"lexical_declaration", "variable_declaration"}:
        value = _declared_value(statement)
        if not value or depth:
            return []
        return [Edit(statement.end, statement.end, f"\nreturn {value};{_line_end(sheet, statement)}")]
    ends = _ends_of(statement)
    return [edit for node in ends if node is not None for edit in _return_of(sheet, node, names, depth + 1)]


def _return_expression(sheet: Sheet, statement: Node, names: Names) -> list[Edit]:
    expression = statement.named_children()[0]
    inner = bare(expression)
    printed = _printed(inner, names)
    if printed is not None:
        # Printing a value at the end is how scripts give their answer.
        after = _line_end(sheet, statement)
        return [Edit(statement.end, statement.end, f"\nreturn {printed};{after}")] if printed else []
    if inner.kind in {"string", "template_string"} and statement.row == 0:
        return []
    body = _body_called(inner)
    inside = printed_returns(sheet, body, names) if body is not None else []
    braces = statement.parent is not None and statement.parent.kind not in {"program", "statement_block"}
    after = _line_end(sheet, statement)
    opening, closing = ("{\nreturn (\n", f"\n);\n}}{after}") if braces else ("\nreturn (\n", f"\n);{after}")
    if not sheet.text[: statement.start].rpartition("\n")[2].strip() and not braces:
        # The statement begins its line: the added line goes before the indentation.
        opening = "return (\n"
        start = statement.start - statement.column
        return [
            Edit(start, start, opening),
            *inside,
            sheet.blank(expression.end, statement.end),
            Edit(statement.end, statement.end, closing),
        ]
    return [
        Edit(statement.start, statement.start, opening + " " * statement.column),
        *inside,
        sheet.blank(expression.end, statement.end),
        Edit(statement.end, statement.end, closing),
    ]


def printed_returns(sheet: Sheet, body: Node, names: Names) -> list[Edit]:
    """The edits that return what the body of a function prints at its end, unless it returns a value anywhere."""
    own = body.walk(lambda node: node.kind not in FUNCTIONS)
    if body.kind != "statement_block" or any(n.kind == "return_statement" and n.named_children() for n in own):
        return []
    last = [node for node in body.named_children() if node.kind not in _NOT_LAST][-1:]
    return [edit for node in last for edit in _printed_of(sheet, node, names, 0)]


def _printed_of(sheet: Sheet, statement: Node, names: Names, depth: int) -> list[Edit]:
    if statement.kind == "expression_statement":
        printed = _printed(bare(statement.named_children()[0]), names)
        after = _line_end(sheet, statement)
        return [Edit(statement.end, statement.end, f"\nreturn {printed};{after}")] if printed else []
    ends = _ends_of(statement) if depth <= _DEPTH_MAX else ()
    return [edit for node in ends if node is not None for edit in _printed_of(sheet, node, names, depth + 1)]


def _ends_of(statement: Node) -> Iterable[Node | None]:
    """The statements that may be the last to run of a block, a choice or a `try`."""
    kind = statement.kind
    if kind == "statement_block":
        return [node for node in statement.named_children() if node.kind not in _NOT_LAST][-1:]
    if kind == "if_statement":
        return (statement.get("consequence"), statement.get("alternative"))
    if kind == "else_clause":
        return statement.named_children()
    if kind == "try_statement":
        handler = statement.get("handler")
        return (statement.get("body"), handler.get("body") if handler is not None else None)
    return ()


def _body_called(expression: Node) -> Node | None:
    """The body of a function that is called where it stands, also with `await` before or `.catch(…)` behind."""
    node: Node | None = expression
    while node is not None:
        node = bare(node)
        if node.kind in FUNCTIONS:
            return node.get("body")
        if node.kind == "await_expression":
            node = next(iter(node.named_children()), None)
        elif node.kind == "call_expression":
            node = node.get("function")
        elif node.kind == "member_expression" and property_name(node) in {"catch", "finally"}:
            node = node.get("object")
        else:
            return None
    return None


def _line_end(sheet: Sheet, statement: Node) -> str:
    """A line end, unless nothing follows the statement in its line."""
    return "\n" if sheet.text[statement.end :].partition("\n")[0].strip() else ""


def _printed(expression: Node, names: Names) -> str | None:
    """What `console.log(x)` prints when that can be read again; "" for other prints; None for no print."""
    callee = expression.get("function") if expression.kind == "call_expression" else None
    receiver = callee.get("object") if callee is not None else None
    if callee is None or receiver is None or names.free_name(receiver) != "console":
        return None
    arguments = expression.get("arguments")
    values = arguments.named_children() if arguments is not None else []
    if len(values) != 1 or property_name(callee) != "log":
        return ""
    value = _made_text(values[0], names)
    if value.kind == "object" and not any(node.kind in _ACTS for node in value.walk()):
        return f"({value.text})"
    return value.text if value.kind in {"identifier", "member_expression"} else ""


def _made_text(value: Node, names: Names) -> Node:
    """The `x` of `JSON.stringify(x, null, 2)`; any other value as it is."""
    callee = value.get("function") if value.kind == "call_expression" else None
    holder = callee.get("object") if callee is not None else None
    if callee is None or holder is None or names.free_name(holder) != "JSON" or property_name(callee) != "stringify":
        return value
    arguments = value.get("arguments")
    return next(iter(arguments.named_children()), value) if arguments is not None else value


def _declared_value(declaration: Node) -> str:
    """What the last declarator of a statement declares, as an expression."""
    declarators = [node for node in declaration.named_children() if node.kind == "variable_declarator"]
    target = declarators[-1].get("name") if declarators else None
    if target is None:
        return ""
    if target.kind == "identifier":
        return target.text
    declared = ", ".join(name.text for name in pattern_names(target))
    return f"({{ {declared} }})" if declared else ""
