"""Literal arguments of calls against the functions' schemas.

Only what the text shows is judged: a variable, a call or a spread may hold anything and
passes. The full check of the real values happens when the call is made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vardy_worker.contracts.base import JsonObject, make_pointer
from vardy_worker.programs.argument_words import describe, one_of, resolved, words_for
from vardy_worker.programs.capabilities import close_names
from vardy_worker.programs.literals import beyond_safe, is_big_integer, literal_types, literal_value
from vardy_worker.programs.nodes import Node
from vardy_worker.programs.subject import (
    COMPARING_METHODS,
    ELEMENT_METHODS,
    Call,
    Subject,
    arguments_of,
    method_call,
)
from vardy_worker.programs.syntax import FUNCTIONS, bare, key_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.programs.codes import Findings

_NEVER_OBJECTS = FUNCTIONS | {
    "string",
    "number",
    "template_string",
    "true",
    "false",
    "null",
    "array",
    "regex",
    "binary_expression",
}
CALLS_BY_POSITION = ELEMENT_METHODS | COMPARING_METHODS | {"reduce", "reduceRight"}
"""Methods of lists that call their callback with several arguments."""
_DEPTH_MAX = 32
_NUMERIC = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")


@dataclass(frozen=True, slots=True)
class _Wrong:
    """Why a literal does not fit: at which node and path, and how."""

    code: str
    node: Node
    path: tuple[str | int, ...]
    expected: str
    found: str
    allowed: tuple[Any, ...] = ()


def check_arguments(subject: Subject, findings: Findings) -> None:
    """Shape, names and literal values of every registered call's arguments."""
    for call in subject.calls:
        if call.spec is not None:
            _check_call(call, call.spec.input_schema, findings)
    _check_passed_on(subject, findings)


def _check_passed_on(subject: Subject, findings: Findings) -> None:
    """`ids.map(f)` would call `f` with element, index and array by position."""
    for reference in subject.names.free:
        spec = subject.specs.get(reference.name)
        arguments = reference.node.parent
        call = arguments.parent if arguments is not None and arguments.kind == "arguments" else None
        method = method_call(call) if call is not None else None
        if spec is None or method is None or method[1] not in CALLS_BY_POSITION:
            continue
        findings.add(
            "program.arguments_shape",
            reference.node,
            f"`{method[1]}` calls `{spec.name}` with arguments by position; it takes one object of named arguments.",
            f"Write `{method[1]}((item) => {signature(spec.name, spec.input_schema)})`.",
            details={"function": spec.name},
        )


def _check_call(call: Call, schema: JsonObject, findings: Findings) -> None:
    callee = call.node.get("function")
    arguments = spread_out(arguments_of(call.node))
    given = call.node.get("arguments")
    example = signature(call.name, schema)
    if given is not None and given.kind == "template_string":
        _shape(call, given, "a template", example, findings)
        return
    shown = [argument for argument in arguments if argument.kind != "spread_element"]
    if len(shown) > 1:
        _shape(call, shown[1], f"{len(shown)} arguments by position", example, findings)
        return
    if arguments and arguments[0].kind == "spread_element":
        return
    if not arguments or bare(arguments[0]).kind == "undefined":
        for name in _required(schema):
            _missing(call, callee or call.node, name, schema, findings)
        return
    argument = bare(arguments[0])
    if argument.kind in _NEVER_OBJECTS:
        _shape(call, argument, words_for(argument), example, findings)
    elif argument.kind == "object":
        _check_object(call, argument, schema, findings)


def spread_out(arguments: list[Node]) -> list[Node]:
    """The arguments with `...[a, b]` as `a, b`; other spreads stay what they are."""
    found: list[Node] = []
    stack = list(reversed(arguments))
    while stack:
        argument = stack.pop()
        inner = bare(argument.named_children()[0]) if argument.kind == "spread_element" else None
        if inner is not None and inner.kind == "array":
            stack.extend(reversed(inner.named_children()))
        else:
            found.append(argument)
    return found


def _shape(call: Call, node: Node, found: str, example: str, findings: Findings) -> None:
    findings.add(
        "program.arguments_shape",
        node,
        f"`{call.name}` takes one object of named arguments, not {found}.",
        f"Call it as `{example}`.",
        details={"function": call.name},
    )


def signature(name: str, schema: JsonObject) -> str:
    """How to call a function, with its required arguments: `refund({payment_id: …})`."""
    required = _required(schema)
    return f"{name}({{{', '.join(f'{key}: …' for key in required)}}})" if required else f"{name}()"


def _required(schema: JsonObject) -> list[str]:
    return [name for name in schema.get("required", []) if isinstance(name, str)]


def _missing(call: Call, node: Node, name: str, schema: JsonObject, findings: Findings) -> None:
    expected = describe(schema.get("properties", {}).get(name, True), schema)
    findings.add(
        "program.argument_missing",
        node,
        f"`{call.name}` needs the argument `{name}` ({expected}).",
        f"Call it as `{signature(call.name, schema)}`.",
        details={"function": call.name, "argument": make_pointer([name]), "expected": expected},
    )


def _check_object(call: Call, literal: Node, schema: JsonObject, findings: Findings) -> None:
    members = _members(literal)
    properties: JsonObject = schema.get("properties", {})
    for name in _required(schema):
        value = members.values.get(name)
        if (value is None and not members.open) or (value is not None and bare(value).kind == "undefined"):
            _missing(call, literal, name, schema, findings)
    for name, key in members.keys.items():
        value = members.values.get(name)
        if name not in properties:
            if schema.get("additionalProperties", False) is False:
                _unknown(call, key, name, list(properties), findings)
        elif value is not None:
            for wrong in _judge(value, properties[name], schema, (name,)):
                _report(call, wrong, findings)


@dataclass(frozen=True, slots=True)
class _Members:
    """The keys of an object literal; `open` when a spread or computed key hides some."""

    keys: dict[str, Node]
    values: dict[str, Node]
    open: bool


def _members(literal: Node) -> _Members:
    keys: dict[str, Node] = {}
    values: dict[str, Node] = {}
    hidden = False
    for child in literal.named_children():
        key = child.get("key") if child.kind == "pair" else child
        key = child.get("name") if child.kind == "method_definition" else key
        name = key_name(key) if key is not None and child.kind != "spread_element" else None
        if name is None or key is None:
            hidden = True
            continue
        keys[name] = key
        value = child.get("value") if child.kind == "pair" else child
        if value is not None:
            values[name] = value
    return _Members(keys, values, hidden)


def _unknown(call: Call, key: Node, name: str, known: list[str], findings: Findings) -> None:
    close = close_names(name, known)
    hint = f"Did you mean `{close[0]}`? " if close else ""
    listed = ", ".join(known) or "none"
    findings.add(
        "program.argument_unknown",
        key,
        f"`{call.name}` has no argument `{name}`.",
        f"{hint}Its arguments are: {listed}.",
        details={"function": call.name, "argument": make_pointer([name]), "close": close, "arguments": known},
    )


def _report(call: Call, wrong: _Wrong, findings: Findings) -> None:
    place = ".".join(str(part) for part in wrong.path)
    details: dict[str, Any] = {"function": call.name, "argument": make_pointer(wrong.path), "expected": wrong.expected}
    if wrong.allowed:
        details["allowed"] = list(wrong.allowed)
    findings.add(
        wrong.code,
        wrong.node,
        f"`{place}` of `{call.name}` must be {wrong.expected}, not {wrong.found}.",
        _remedy(wrong),
        details=details,
    )


def _remedy(wrong: _Wrong) -> str:
    """What to write instead, as far as the literal shows what was meant."""
    shown = literal_value(wrong.node)
    wanted = wrong.expected.removesuffix(" or null")
    value = shown[0] if shown is not None else None
    if isinstance(value, str) and wrong.allowed:
        close = close_names(value, [option for option in wrong.allowed if isinstance(option, str)])
        return f'Did you mean "{close[0]}"?' if close else "Choose one of them."
    number = value.strip() if isinstance(value, str) and _NUMERIC.fullmatch(value.strip()) else ""
    if wanted == "an integer" and (isinstance(value, float) or "." in number):
        return "Write a whole number; `Math.round(…)` makes one."
    if number and wanted in {"an integer", "a number"}:
        return f"Write `{number}`, without quotes."
    if beyond_safe(shown):
        return "A number beyond 2^53 keeps its digits only with an `n` behind them."
    if isinstance(value, str) and wanted == "true or false":
        return "Write `true` or `false`, without quotes."
    if wanted == "a string" and wrong.node.kind == "number":
        return f'Write `"{wrong.node.text}"`, with quotes.'
    if wanted.startswith("an array") and wrong.node.kind != "array":
        return "Put it into brackets: `[…]`."
    return "Take the value from `params` or from what a read returned." if shown is not None else f"Give {wanted}."


# --- literals against schemas -----------------------------------------------------------------


def _judge(value: Node, schema: Any, root: JsonObject, path: tuple[str | int, ...]) -> list[_Wrong]:
    """What is wrong with a value; empty for what fits and for what the text does not show."""
    schema, value = resolved(schema, root), bare(value)
    if not isinstance(schema, dict) or len(path) > _DEPTH_MAX:
        return []
    if value.kind == "ternary_expression":
        return [wrong for branch in _branches(value) for wrong in _judge(branch, schema, root, path)]
    kinds = literal_types(value)
    if not kinds:
        return []
    options = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(options, list):
        return _judge_options(value, schema, options, root, path)
    found: list[_Wrong] = []
    for part in schema.get("allOf", []):
        found.extend(_judge(value, part, root, path))
    return found or _judge_plain(value, kinds, schema, root, path)


def _branches(value: Node) -> list[Node]:
    """The values a ternary expression can have, with those nested in it."""
    found: list[Node] = []
    stack = [value]
    while stack:
        node = bare(stack.pop())
        if node.kind == "ternary_expression":
            stack.extend(part for part in (node.get("alternative"), node.get("consequence")) if part is not None)
        else:
            found.append(node)
    return found


def _judge_options(
    value: Node, schema: JsonObject, options: list[Any], root: JsonObject, path: tuple[str | int, ...]
) -> list[_Wrong]:
    verdicts = [_judge(value, option, root, path) for option in options]
    if any(not verdict for verdict in verdicts):
        return []
    # A wrong place further inside, or a wrong value of the right type, says more than "no option fits".
    telling = [v for v in verdicts if v[0].code != "program.argument_type" or len(v[0].path) > len(path)]
    if len(telling) == 1:
        return telling[0]
    return [_Wrong("program.argument_type", value, path, describe(schema, root), words_for(value))]


def _judge_plain(
    value: Node, kinds: frozenset[str], schema: JsonObject, root: JsonObject, path: tuple[str | int, ...]
) -> list[_Wrong]:
    allowed = schema["enum"] if "enum" in schema else [schema["const"]] if "const" in schema else None
    types = schema.get("type")
    wanted = frozenset([types] if isinstance(types, str) else types or [])
    shown = literal_value(value)
    if "integer" in kinds and "n" not in value.text and beyond_safe(shown):
        return [
            _Wrong("program.argument_value", value, path, f"written as `{value.text}n`", "a number that loses digits")
        ]
    if "integer" in wanted and value.kind == "string" and is_big_integer(shown):
        return []
    if wanted and kinds.isdisjoint(_widened(wanted)):
        return [_Wrong("program.argument_type", value, path, describe(schema, root), words_for(value))]
    if allowed is not None:
        if shown is not None and not any(_same(shown[0], option) for option in allowed):
            return [_Wrong("program.argument_value", value, path, one_of(allowed), words_for(value), tuple(allowed))]
        return []
    if "object" in kinds and value.kind == "object":
        return _judge_object(value, schema, root, path)
    if "array" in kinds and value.kind == "array":
        return _judge_array(value, schema, root, path)
    return _judge_range(value, schema, path)


def _widened(wanted: frozenset[str]) -> frozenset[str]:
    return wanted | {"integer"} if "number" in wanted else wanted


def _same(shown: Any, option: Any) -> bool:
    return bool(shown == option) and isinstance(shown, bool) == isinstance(option, bool)


def _judge_object(literal: Node, schema: JsonObject, root: JsonObject, path: tuple[str | int, ...]) -> list[_Wrong]:
    members = _members(literal)
    properties: JsonObject = schema.get("properties", {})
    found: list[_Wrong] = []
    for name in _required(schema):
        value = members.values.get(name)
        if (value is None and not members.open) or (value is not None and bare(value).kind == "undefined"):
            expected = describe(properties.get(name, True), root)
            found.append(_Wrong("program.argument_missing", literal, (*path, name), expected, "left out"))
    for name, value in members.values.items():
        rest = schema.get("additionalProperties", True)
        if name in properties:
            found.extend(_judge(value, properties[name], root, (*path, name)))
        elif rest is False:
            known = ", ".join(properties) or "nothing"
            expected = f"left out (known: {known})"
            found.append(_Wrong("program.argument_unknown", members.keys[name], (*path, name), expected, "given"))
        else:
            found.extend(_judge(value, rest, root, (*path, name)))
    return found


def _judge_array(literal: Node, schema: JsonObject, root: JsonObject, path: tuple[str | int, ...]) -> list[_Wrong]:
    elements = literal.named_children()
    if any(element.kind == "spread_element" for element in elements):
        elements = []
    found: list[_Wrong] = []
    first: Sequence[Any] = schema.get("prefixItems", [])
    for index, element in enumerate(elements):
        item = first[index] if index < len(first) else schema.get("items", True)
        found.extend(_judge(element, item, root, (*path, index)))
    return found


def _judge_range(value: Node, schema: JsonObject, path: tuple[str | int, ...]) -> list[_Wrong]:
    shown = literal_value(value)
    if shown is None or not isinstance(shown[0], int | float) or isinstance(shown[0], bool):
        return []
    number = shown[0]
    limits = (
        ("minimum", number < schema.get("minimum", number), "at least"),
        ("exclusiveMinimum", number <= schema.get("exclusiveMinimum", number - 1), "more than"),
        ("maximum", number > schema.get("maximum", number), "at most"),
        ("exclusiveMaximum", number >= schema.get("exclusiveMaximum", number + 1), "less than"),
    )
    return [
        _Wrong("program.argument_value", value, path, f"{words} {schema[name]}", words_for(value))
        for name, broken, words in limits
        if broken and isinstance(schema.get(name), int | float)
    ]
