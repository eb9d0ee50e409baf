"""Words that cannot be names where they stand, and parameters with one name twice."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from vardy_worker.programs.class_forms import inner_boundary
from vardy_worker.programs.scopes import pattern_names
from vardy_worker.programs.strictness import directive, is_strict
from vardy_worker.programs.syntax import FUNCTIONS, enclosing_function, identifier_name, is_async, is_generator

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.programs.nodes import Node

    Fault = tuple[str, str] | None

_STRICT = frozenset({"implements", "interface", "let", "package", "private", "protected", "public", "static", "yield"})
_WORDS = frozenset({"enum"})
_LEXICAL = frozenset({"lexical_declaration", "class_declaration", "class"})
_OTHER_NAME = "Use another name."


def _identifier(node: Node) -> Fault:
    name = identifier_name(node)
    if name in _WORDS or (name in _STRICT and is_strict(node)):
        return f"`{name}` is a reserved word.", _OTHER_NAME
    if name == "let" and _is_lexical(node):
        return "`let` cannot be declared with `let`, `const` or `class`.", _OTHER_NAME
    if name == "await" and _awaits(node):
        return "`await` is no name in an async function.", _OTHER_NAME
    if name == "yield" and _yields(node):
        return "`yield` is no name in a generator.", _OTHER_NAME
    if name == "arguments" and inner_boundary(node, through_arrows=True) in {"field_definition", "class_static_block"}:
        return "`arguments` does not exist in a field or static block.", "Use a method."
    return None


def _is_lexical(node: Node) -> bool:
    above: Node | None = node
    while above is not None and above.parent is not None and above.parent.kind.endswith("_pattern"):
        above = above.parent
    parent = above.parent if above is not None else None
    if parent is None or above is None:
        return False
    if parent.kind == "variable_declarator":
        return above.field == "name" and parent.parent is not None and parent.parent.kind == "lexical_declaration"
    if parent.kind == "for_in_statement":
        keyword = parent.get("kind")
        return above.field == "left" and keyword is not None and keyword.text in {"let", "const"}
    return parent.kind in _LEXICAL and above.field == "name"


def _awaits(node: Node) -> bool:
    """Whether `await` is a keyword where a name stands; arrow functions do not change that."""
    if inner_boundary(node) == "class_static_block":
        return True
    for above in node.near():
        if above.kind in FUNCTIONS:
            own_name = node.field == "name" and node.parent is above
            if own_name and above.kind in {"function_declaration", "generator_function_declaration"}:
                continue
            if is_async(above) or above.kind != "arrow_function":
                return is_async(above)
    return False


def _yields(node: Node) -> bool:
    for above in node.near():
        if above.kind in FUNCTIONS and above.kind != "arrow_function":
            own_name = node.field == "name" and node.parent is above
            if not (own_name and above.kind.endswith("_declaration")):
                return is_generator(above)
    return False


def _parameters(function: Node) -> Fault:
    parameters = function.get("parameters")
    given = parameters.named_children() if parameters is not None else []
    strict = directive(function)
    plain = all(parameter.kind == "identifier" for parameter in given)
    if strict is not None and not plain:
        return '`"use strict"` cannot stand in a function with such parameters.', "Leave it out."
    names = [name.text for parameter in given for name in pattern_names(parameter)]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    loose = plain and function.kind not in {"arrow_function", "method_definition"}
    if twice is None or (loose and not is_strict(function)):
        return None
    return f"Two parameters are called `{twice}`.", "Give one of them another name."


def _in_default(node: Node) -> Fault:
    function = enclosing_function(node)
    parameters = (function.get("parameters") if function is not None else None) or node
    if parameters is not node and node.is_within(parameters):
        word = "yield" if node.kind == "yield_expression" else "await"
        return f"`{word}` cannot stand in the default of a parameter.", "Set the default in the body."
    if inner_boundary(node) == "class_static_block":
        return "`await` stands in a static block.", "Move it into an async method."
    return None


def _delete(node: Node) -> Fault:
    operator, argument = node.get("operator"), node.get("argument")
    deletes = operator is not None and operator.kind == "delete" and argument is not None
    if deletes and argument is not None and argument.kind == "identifier" and is_strict(node):
        return f"`{argument.text}` is a variable and cannot be deleted.", "Set it to `undefined`."
    return None


RULES: dict[str, Callable[[Node], Fault]] = {
    "identifier": _identifier,
    "shorthand_property_identifier": _identifier,
    "shorthand_property_identifier_pattern": _identifier,
    **dict.fromkeys(sorted(FUNCTIONS), _parameters),
    "await_expression": _in_default,
    "yield_expression": _in_default,
    "unary_expression": _delete,
}
"""By kind of node: what is wrong with it, and what to do; None when nothing is."""
