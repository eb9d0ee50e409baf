"""What the language forbids inside of classes and objects, though the grammar lets it pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.programs.syntax import CLASSES, FUNCTIONS, key_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.programs.nodes import Node

    Fault = tuple[str, str] | None

_MEMBERS_MAX = 1000
"""Names of larger classes are not looked up; the engine does it."""
_BOUNDARIES = frozenset({"field_definition", "class_static_block"})


def _members(body: Node) -> list[Node]:
    return [member for member in body.named_children() if member.kind in {"method_definition", "field_definition"}]


def _key(member: Node) -> Node | None:
    return member.get("name") or member.get("property")


def _two_constructors(body: Node) -> Fault:
    found = [
        member
        for member in _members(body)
        if not member.has_token("static") and (key := _key(member)) is not None and key_name(key) == "constructor"
    ]
    return ("A class has one constructor only.", "Join them.") if len(found) > 1 else None


def _private_names_twice(body: Node) -> Fault:
    seen: dict[str, str] = {}
    for member in _members(body):
        key = _key(member)
        if key is None or key.kind != "private_property_identifier":
            continue
        accessor = next((token for token in ("get", "set") if member.has_token(token)), "")
        before = seen.get(key.text)
        if before is not None and (not accessor or not before or before == accessor):
            return f"`{key.text}` is declared twice in this class.", "Give one of them another name."
        seen[key.text] = accessor
    return None


def _class_body(body: Node) -> Fault:
    return _two_constructors(body) or _private_names_twice(body)


def _method(member: Node) -> Fault:
    parent, key = member.parent, _key(member)
    counted = _accessor_parameters(member)
    if counted is not None or key is None or parent is None or parent.kind != "class_body":
        return counted
    name, static = key_name(key) if key.kind != "computed_property_name" else None, member.has_token("static")
    special = any(member.has_token(token) for token in ("get", "set", "async", "*"))
    if name == "constructor" and not static and special:
        return "The constructor of a class is a plain method.", "Give the method another name."
    return _reserved_key(key, name, static=static)


def _reserved_key(key: Node, name: str | None, *, static: bool) -> Fault:
    if key.text == "#constructor" or (static and name == "prototype"):
        return f"A class cannot have a member `{key.text}` here.", "Give it another name."
    return None


def _field(member: Node) -> Fault:
    key = _key(member)
    if key is None or key.kind == "computed_property_name":
        return None
    name = key_name(key)
    if name == "constructor":
        return "A field cannot be called `constructor`.", "Give it another name."
    return _reserved_key(key, name, static=member.has_token("static"))


def _accessor_parameters(member: Node) -> Fault:
    parameters = member.get("parameters")
    given = parameters.named_children() if parameters is not None else []
    if member.has_token("get") and given:
        return "A getter takes no parameters.", "Make it a method."
    if member.has_token("set") and (len(given) != 1 or given[0].kind == "rest_pattern"):
        return "A setter takes exactly one parameter.", "Make it a method."
    return None


def _undeclared_private(name: Node) -> Fault:
    parent = name.parent
    above = parent.parent if parent is not None else None
    if parent is not None and parent.kind == "member_expression" and above is not None:
        operator = above.get("operator") if above.kind == "unary_expression" else None
        if operator is not None and operator.kind == "delete":
            return f"`{name.text}` cannot be deleted.", "Set it to `undefined`."
    if parent is not None and parent.kind in {"method_definition", "field_definition"}:
        return None
    for outer in name.near():
        body = outer.get("body") if outer.kind in CLASSES else None
        members = body.children if body is not None else []
        if len(members) > _MEMBERS_MAX or any((key := _key(m)) and key.text == name.text for m in members):
            return None
    return f"`{name.text}` is not declared in a class around it.", "Declare it in the class: `#name = value;`."


def _super(node: Node) -> Fault:
    called = node.parent is not None and node.parent.kind == "call_expression" and node.field == "function"
    for above in node.near():
        if above.kind == "arrow_function":
            continue
        if called and above.kind == "method_definition":
            return None if _is_derived_constructor(above) else _SUPER_CALL
        if above.kind in {"method_definition", *_BOUNDARIES}:
            return _SUPER_CALL if called else None
        if above.kind in FUNCTIONS:
            break
    return "`super` stands outside of a class.", "Call the function by its name."


_SUPER_CALL = ("`super(…)` stands outside of the constructor of a class that extends another.", "Leave it out.")


def _is_derived_constructor(method: Node) -> bool:
    key, body = method.get("name"), method.parent
    holder = body.parent if body is not None and body.kind == "class_body" else None
    derived = holder is not None and any(child.kind == "class_heritage" for child in holder.children)
    return derived and key is not None and key_name(key) == "constructor" and not method.has_token("static")


def _return_in_static_block(node: Node) -> Fault:
    if inner_boundary(node) == "class_static_block":
        return "`return` stands in a static block.", "Move it into a method."
    return None


def inner_boundary(node: Node, *, through_arrows: bool = False) -> str:
    """The kind of the nearest function, field or static block around a node."""
    for above in node.near():
        if above.kind in FUNCTIONS and not (through_arrows and above.kind == "arrow_function"):
            return above.kind
        if above.kind in _BOUNDARIES:
            return above.kind
    return ""


RULES: dict[str, Callable[[Node], Fault]] = {
    "class_body": _class_body,
    "method_definition": _method,
    "field_definition": _field,
    "private_property_identifier": _undeclared_private,
    "super": _super,
    "return_statement": _return_in_static_block,
}
"""By kind of node: what is wrong with it, and what to do; None when nothing is."""
