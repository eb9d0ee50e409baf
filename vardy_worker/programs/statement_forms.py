"""Where statements, labels, arrows and line ends may stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.programs.syntax import CLASSES, FUNCTIONS, bare, is_async, short_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.programs.nodes import Node

    Fault = tuple[str, str] | None

_LOOPS = frozenset({"for_statement", "for_in_statement", "while_statement", "do_statement"})
_LEXICAL = frozenset({"lexical_declaration", "class_declaration", "generator_function_declaration"})
_OPERANDS = {
    "call_expression": "function",
    "member_expression": "object",
    "subscript_expression": "object",
    "ternary_expression": "condition",
}
_CHAIN_MAX = 100
_BLOCK = "Put it into braces: `{ … }`."


def _single(statement: Node | None, *, plain_function: bool) -> Fault:
    """A declaration cannot be the whole body of a loop or branch."""
    if statement is None:
        return None
    function = statement.kind == "function_declaration" and (is_async(statement) or not plain_function)
    if statement.kind in _LEXICAL or function:
        return f"`{short_text(statement, 20)}` is a declaration, which cannot stand alone here.", _BLOCK
    return None


def _if(statement: Node) -> Fault:
    return _single(statement.get("consequence"), plain_function=True)


def _else(clause: Node) -> Fault:
    return next((_single(child, plain_function=True) for child in clause.named_children()), None)


def _loop(statement: Node) -> Fault:
    return _single(statement.get("body"), plain_function=False)


def _for_in(statement: Node) -> Fault:
    of = (statement.get("operator") or statement).kind == "of"
    left, value = statement.get("left"), statement.get("value")
    if statement.has_token("await") and not of:
        return "`for await` needs `of`.", "Write `for await (const x of …)`."
    if value is not None and (of or left is None or left.kind != "identifier" or not statement.has_token("var")):
        return "The variable of this loop cannot have a value of its own.", "Leave `= …` out."
    if statement.get("kind") is None and left is not None and left.text in ({"let", "async"} if of else set()):
        return f"`{left.text}` cannot be the variable of this loop.", "Use another name."
    if statement.get("kind") is None and left is not None and bare(left).kind not in _TARGETS:
        return f"`{short_text(left)}` cannot be the variable of this loop.", "Declare one with `const`."
    return _loop(statement)


_TARGETS = frozenset(
    {"identifier", "member_expression", "subscript_expression", "array_pattern", "object_pattern", "undefined"}
)


def _label(statement: Node) -> Fault:
    label = statement.get("label")
    for above in statement.near():
        if above.kind in FUNCTIONS:
            break
        outer = above.get("label") if above.kind == "labeled_statement" else None
        if outer is not None and label is not None and outer.text == label.text:
            return f"`{label.text}` is the label of a statement around it too.", "Use another name."
    return None


def _continue(statement: Node) -> Fault:
    label = statement.get("label")
    for above in statement.near():
        named = above.get("label") if above.kind == "labeled_statement" else None
        if label is None or above.kind in FUNCTIONS:
            break
        if named is not None and named.text == label.text:
            body = above.get("body")
            while body is not None and body.kind == "labeled_statement":
                body = body.get("body")
            if body is None or body.kind not in _LOOPS:
                return f"`{label.text}` is not the label of a loop.", "Use `break`, or label the loop."
            break
    return None


def _switch_body(body: Node) -> Fault:
    defaults = [case for case in body.named_children() if case.kind == "switch_default"]
    return ("A `switch` has one `default` only.", "Join them.") if len(defaults) > 1 else None


def _throw(statement: Node) -> Fault:
    value = next(iter(statement.named_children()), None)
    if value is not None and "\n" in statement.source[statement.start : value.start]:
        return "What is thrown must begin in the line of `throw`.", "Move it up."
    return None


def _arrow(function: Node) -> Fault:
    sign = next((child for child in function.children if child.kind == "=>"), None)
    parameters = function.get("parameters") or function.get("parameter")
    if sign is not None and parameters is not None and sign.row != _last_row(parameters):
        return "`=>` must stand in the line of the parameters.", "Move it up."
    parent = function.parent
    operand = parent is not None and (
        parent.kind == "binary_expression" or (parent.kind in _OPERANDS and function.field == _OPERANDS[parent.kind])
    )
    return ("An arrow function must stand in parentheses here.", "Write `((…) => …)`.") if operand else None


def _last_row(node: Node) -> int:
    return node.row + node.text.count("\n")


def _expression_statement(statement: Node) -> Fault:
    first = next(iter(statement.named_children()), None)
    while first is not None and first.start == statement.start and first.kind not in {"object", *FUNCTIONS, *CLASSES}:
        first = next((child for child in first.children if child.named), None)
    if first is None or first.start != statement.start or first.kind == "arrow_function":
        return None
    if first.kind == "object":
        pairs = first.named_children()
        if not pairs[1:] and all((pair.get("key") or pair).kind == "property_identifier" for pair in pairs):
            # A block, with a label at most.
            return None
        return "A statement cannot begin with an object.", "Put it into parentheses, or return it."
    return "A function or class that is a statement needs a name.", "Give it one."


def _arguments(arguments: Node) -> Fault:
    before = ""
    for child in arguments.children:
        if child.kind == "," and before in {"(", ","}:
            return "An argument is missing before this comma.", "Write `undefined` for it."
        before = child.kind
    return None


def _call(call: Node) -> Fault:
    template, node = call.get("arguments"), call.get("function")
    if template is None or template.kind != "template_string":
        return None
    for _ in range(_CHAIN_MAX):
        if node is None:
            return None
        if node.get("optional_chain") is not None:
            return "A template cannot follow `?.`.", "Call the function with parentheses."
        node = node.get("object") or node.get("function")
    return None


RULES: dict[str, Callable[[Node], Fault]] = {
    "if_statement": _if,
    "else_clause": _else,
    "while_statement": _loop,
    "do_statement": _loop,
    "for_statement": _loop,
    "for_in_statement": _for_in,
    "labeled_statement": _label,
    "continue_statement": _continue,
    "switch_body": _switch_body,
    "throw_statement": _throw,
    "arrow_function": _arrow,
    "expression_statement": _expression_statement,
    "arguments": _arguments,
    "call_expression": _call,
}
"""By kind of node: what is wrong with it, and what to do; None when nothing is."""
