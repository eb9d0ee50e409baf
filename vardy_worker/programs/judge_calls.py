"""Literal arguments of `classify` and `ai` against what they take.

Whatever the text does not show is taken for something that fits; the rest goes through
the same rules as the real values do when the call is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vardy_worker.contracts.base import JsonObject, JsonValue, make_pointer, pointer_parts
from vardy_worker.programs.arguments import CALLS_BY_POSITION, spread_out
from vardy_worker.programs.capabilities import close_names
from vardy_worker.programs.globals import JUDGE_GLOBALS
from vardy_worker.programs.judge_arguments import OPTIONS, SIGNATURES, BadJudgeCall, judge_call
from vardy_worker.programs.literals import literal_value
from vardy_worker.programs.subject import Call, Subject, arguments_of, method_call
from vardy_worker.programs.syntax import bare, key_name

if TYPE_CHECKING:
    from vardy_worker.programs.codes import Findings
    from vardy_worker.programs.nodes import Node

    Path = tuple[str | int, ...]

_POSITIONS: Final = {"classify": ("texts", "labels", "options"), "ai": ("instruction", "data", "options")}
_DEPTH_MAX: Final = 32
_ABSENT: Final = object()
"""In place of `undefined`, which crosses as nothing."""


def check_judge_calls(subject: Subject, findings: Findings) -> None:
    """Shape and literal values of the arguments of every call of the judge."""
    if not subject.judge:
        return
    for call in subject.calls:
        if call.spec is None:
            _check_call(call, findings)
    _check_passed_on(subject, findings)


def _check_passed_on(subject: Subject, findings: Findings) -> None:
    """`texts.map(classify)` would ask for each text by itself, with its index as labels."""
    for reference in subject.names.free:
        arguments = reference.node.parent
        call = arguments.parent if arguments is not None and arguments.kind == "arguments" else None
        method = method_call(call) if call is not None else None
        if reference.name not in JUDGE_GLOBALS or method is None or method[1] not in CALLS_BY_POSITION:
            continue
        takes = "all texts at once" if reference.name == "classify" else "an instruction, data and a type"
        findings.add(
            "program.arguments_shape",
            reference.node,
            f"`{method[1]}` calls `{reference.name}` with element, index and array; it takes {takes}.",
            f"Write `await {SIGNATURES[reference.name]}`.",
            details={"function": reference.name},
        )


def _check_call(call: Call, findings: Findings) -> None:
    names = _POSITIONS[call.name]
    arguments = spread_out(arguments_of(call.node))
    given = call.node.get("arguments")
    if given is not None and given.kind == "template_string":
        _shape(call, given, "a template", findings)
        return
    if len(arguments) > len(names) and not any(argument.kind == "spread_element" for argument in arguments):
        _shape(call, arguments[len(names)], f"{len(arguments)} arguments", findings)
        return
    if arguments and _is_named(bare(arguments[0]), names):
        _shape(call, arguments[0], "one object of named arguments", findings)
        return
    reader = _Reader(call.name)
    args: JsonObject = {}
    for position, name in enumerate(names):
        is_hidden = any(argument.kind == "spread_element" for argument in arguments[: position + 1])
        if is_hidden:
            args[name] = reader.fitting((name,))
        elif position < len(arguments):
            value = reader.value(arguments[position], (name,))
            if value is not _ABSENT:
                args[name] = value
    found = judge_call(call.name, args)
    if isinstance(found, BadJudgeCall):
        for problem in found.problems:
            _report(call, problem, reader, findings)


def _is_named(argument: Node, names: tuple[str, ...]) -> bool:
    """Whether an argument is what the call of a function would be given: `{texts, labels}`."""
    if argument.kind != "object":
        return False
    return any(_key(child) in names for child in argument.named_children())


def _key(child: Node) -> str | None:
    key = child.get("key") if child.kind == "pair" else child
    return key_name(key) if key is not None else None


class _Reader:
    """Reads argument values off the text, and remembers where each of them stands."""

    def __init__(self, function: str) -> None:
        self._function = function
        self.nodes: dict[str, Node] = {}

    def value(self, node: Node, path: Path) -> JsonValue:
        """What the text shows, with something that fits in place of what it does not show."""
        node = bare(node)
        self.nodes[make_pointer(path)] = node
        if node.kind == "undefined":
            return _ABSENT
        if path[0] == "data" or len(path) > _DEPTH_MAX:
            return self.fitting(path)
        if node.kind == "array":
            return self._array(node, path)
        if node.kind == "object":
            return self._object(node, path)
        if node.kind == "template_string" and path == ("texts",):
            return node.text
        shown = literal_value(node)
        return self.fitting(path) if shown is None else shown[0]

    def fitting(self, path: Path) -> JsonValue:
        """Something that fits at a place, and differs from what stands at others."""
        match path:
            case ("texts",):
                return []
            case ("labels",):
                return ["\0first", "\0second"]
            case ("options",):
                return {"type": "string"} if self._function == "ai" else {}
            case ("options", "type", *_):
                return "string"
            case _:
                return f"\0{path[-1]}"

    def _array(self, node: Node, path: Path) -> JsonValue:
        elements = node.named_children()
        if any(element.kind == "spread_element" for element in elements):
            return self.fitting(path)
        found = [self.value(element, (*path, index)) for index, element in enumerate(elements)]
        return [None if item is _ABSENT else item for item in found]

    def _object(self, node: Node, path: Path) -> JsonValue:
        found: JsonObject = {}
        for child in node.named_children():
            name = None if child.kind in {"spread_element", "method_definition"} else _key(child)
            if name is None:
                return self.fitting(path)
            inner = child.get("value") if child.kind == "pair" else child
            if inner is None:
                return self.fitting(path)
            value = self.value(inner, (*path, name))
            if value is not _ABSENT:
                found[name] = value
        return found


def _report(call: Call, problem: JsonObject, reader: _Reader, findings: Findings) -> None:
    at, message, expected = str(problem["at"]), str(problem["message"]), str(problem["expected"])
    parts = pointer_parts(at)
    node = next(
        (
            reader.nodes[place]
            for end in range(len(parts), 0, -1)
            if (place := make_pointer(parts[:end])) in reader.nodes
        ),
        call.node.get("function") or call.node,
    )
    code, hint = _code_and_hint(call.name, at, message, node)
    findings.add(
        code,
        node,
        f"`{'.'.join(parts)}` of `{call.name}` {message}{'' if message.endswith('?') else '.'}",
        hint,
        details={"function": call.name, "argument": at, "expected": expected},
    )


def _code_and_hint(function: str, at: str, message: str, node: Node) -> tuple[str, str]:
    form = f"Write it as `{SIGNATURES[function]}`."
    if message.startswith("is missing"):
        return "program.argument_missing", form
    if message.startswith("is not known"):
        known = list(OPTIONS[function])
        close = close_names(pointer_parts(at)[-1], known)
        return "program.argument_unknown", f"Did you mean `{close[0]}`?" if close else f"The option is `{known[0]}`."
    if at == "/texts" and node.kind in {"string", "template_string"}:
        return "program.argument_type", "Put it into brackets: `[…]`."
    if at == "/options":
        is_type = function == "ai" and node.kind == "string"
        return "program.argument_type", f"Write `{{type: {node.text}}}`." if is_type else form
    fits = {"/labels": {"array", "string", "template_string"}}.get(at, {"string", "template_string"})
    if node.kind in fits or at.startswith("/options/type"):
        return "program.argument_value", "" if "did you mean" in message else form
    return "program.argument_type", form


def _shape(call: Call, node: Node, found: str, findings: Findings) -> None:
    findings.add(
        "program.arguments_shape",
        node,
        f"`{call.name}` takes its arguments by position, not {found}.",
        f"Write it as `{SIGNATURES[call.name]}`.",
        details={"function": call.name},
    )
