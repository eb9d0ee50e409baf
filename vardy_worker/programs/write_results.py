"""Computing with the result of a write.

A write returns a placeholder: its result exists only after commit. It may be handed to
later writes, stored and returned. A condition on it would silently take a branch, because
JavaScript cannot trap truthiness, so this check is the only guard against that.

Placeholders are followed through variables, destructuring, `Promise.all`, helper functions
and callbacks, without regard to the order of statements.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from vardy_worker.contracts.functions import FunctionKind
from vardy_worker.programs.nodes import Node
from vardy_worker.programs.scopes import pattern_names
from vardy_worker.programs.subject import (
    ELEMENT_METHODS,
    JUDGING_METHODS,
    Subject,
    arguments_of,
    called_function,
    is_free,
    method_call,
)
from vardy_worker.programs.syntax import (
    FUNCTIONS,
    LOGICAL,
    bare,
    enclosing_function,
    operator,
    property_name,
    short_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vardy_worker.programs.codes import Findings


class _Holds(Enum):
    """What an expression is: a placeholder (or a part of one), or a real array of them."""

    RESULT = "result"
    LIST = "list"


_ROUNDS_MAX = 8
_DEPTH_MAX = 80
_ASSIGNMENTS_MAX = 40
_SAME_LIST = frozenset({"filter", "slice", "concat", "reverse", "flat", "toReversed", "values"})
_ELEMENTS = frozenset({"find", "findLast", "at", "pop", "shift"})
_COERCIONS = frozenset({"String", "Number", "Boolean", "BigInt", "parseInt", "parseFloat", "isNaN", "isFinite"})
_COMPARING = frozenset({"includes", "indexOf", "lastIndexOf", "has", "get"})
"""Methods of lists, sets and maps that look for their first argument."""
_COMPARISONS = frozenset({"==", "===", "!=", "!==", "<", ">", "<=", ">=", "in", "instanceof"})
_TYPE_TESTS = frozenset({"isArray", "isInteger", "isSafeInteger", "isFinite", "isNaN"})
_TAKES_APART = frozenset({"keys", "values", "entries", "assign", "fromEntries", "stringify"})
_HINT = (
    "A write is only planned here; its result exists after commit. Pass it, or a property of it, "
    "to a later write, or return it."
)


@dataclass(frozen=True, slots=True)
class _Assignment:
    """One place that gives a variable a value."""

    target: Node
    held: _Holds | None


class _Flow:
    """Which variables and expressions hold placeholders."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.names = subject.names
        self._writes = {
            id(call.node) for call in subject.calls if call.spec is not None and call.spec.kind is FunctionKind.WRITE
        }
        self._bindings: dict[int, _Holds] = {}
        self._assigned: dict[int, dict[int, _Assignment]] = {}
        self._returns: dict[int, _Holds] = {}
        self._memo: dict[int, _Holds | None] = {}
        self._depth = 0

    def settle(self) -> None:
        """Goes over the program until nothing new is learnt."""
        if not self._writes:
            return
        nodes = [node for node in self.subject.tree.nodes if node.kind in _STEPS]
        for _ in range(_ROUNDS_MAX):
            before = (len(self._bindings), len(self._returns))
            self._memo.clear()
            for node in nodes:
                self._step(node)
            self._memo.clear()
            if before == (len(self._bindings), len(self._returns)):
                return

    def _step(self, node: Node) -> None:
        if node.kind == "variable_declarator":
            name = node.get("name")
            if name is not None and node.get("value") is None:
                self._assign(name, None)
            self._bind(name, node.get("value"))
        elif node.kind in {"assignment_expression", "augmented_assignment_expression"}:
            self._bind(node.get("left"), node.get("right"))
        elif node.kind == "for_in_statement":
            right = node.get("right")
            left = node.get("left")
            if right is not None and left is not None and self.holds(right) is _Holds.LIST:
                self._mark(left, _Holds.RESULT)
        elif node.kind == "return_statement":
            value = next(iter(node.named_children()), None)
            self._return(enclosing_function(node), value)
        elif node.kind == "arrow_function":
            body = node.get("body")
            self._return(node, body if body is not None and body.kind != "statement_block" else None)
        elif node.kind == "call_expression":
            self._call(node)

    def _return(self, function: Node | None, value: Node | None) -> None:
        held = self.holds(value) if value is not None else None
        if function is not None and held is not None:
            self._returns.setdefault(id(function), held)

    def _call(self, call: Node) -> None:
        """Arguments become parameters of own functions; elements become those of callbacks."""
        function = called_function(self.names, call)
        if function is not None:
            for parameter, argument in zip(_parameters(function), arguments_of(call), strict=False):
                held = self.holds(argument)
                if held is not None:
                    self._mark(parameter, held)
        method = method_call(call)
        arguments = arguments_of(call)
        if method is None or not arguments:
            return
        receiver, name = method
        if name == "push" and self.holds(arguments[0]) is _Holds.RESULT:
            self._mark(bare(receiver), _Holds.LIST)
        held = self.holds(receiver)
        gives = None
        if held is _Holds.LIST and name in ELEMENT_METHODS:
            gives = _Holds.RESULT
        elif name == "then":
            gives = held
        callback = self.function(arguments[0])
        if gives is not None and callback is not None:
            for parameter in _parameters(callback)[:1]:
                self._mark(parameter, gives)

    def function(self, node: Node) -> Node | None:
        """The program's own function that an expression is."""
        node = bare(node)
        if node.kind in FUNCTIONS:
            return node
        binding = self.names.binding(node)
        return binding.function if binding is not None else None

    def _bind(self, target: Node | None, value: Node | None) -> None:
        if target is None or value is None:
            return
        target = bare(target)
        if target.kind == "array_pattern":
            self._bind_array(target, bare(value))
            return
        self._assign(target, self.holds(value))

    def _assign(self, target: Node, held: _Holds | None) -> None:
        if held is not None:
            self._mark(target, held)
            return
        binding = self.names.declared(target) or self.names.binding(target)
        if binding is not None:
            self._assigned.setdefault(id(binding), {})[id(target)] = _Assignment(target, None)

    def _bind_array(self, target: Node, value: Node) -> None:
        """`const [a, b] = await Promise.all([f(), g()])`: place by place."""
        elements = self.elements(value)
        if elements is None:
            if self.holds(value) is not None:
                self._mark(target, _Holds.RESULT)
            return
        for part, element in zip(target.named_children(), elements, strict=False):
            held = self.holds(element)
            if held is not None:
                self._mark(part, held)

    def elements(self, value: Node) -> list[Node] | None:
        """The elements of an array literal, also behind `await Promise.all(…)`."""
        while value.kind == "await_expression" and value.named_children():
            value = bare(value.named_children()[0])
        method = method_call(value)
        if method is not None and method[1] == "all" and is_free(self.names, method[0], "Promise"):
            value = bare(next(iter(arguments_of(value)), value))
        if value.kind != "array" or any(child.kind == "spread_element" for child in value.named_children()):
            return None
        return value.named_children()

    def _mark(self, target: Node, held: _Holds) -> None:
        if target.kind in {"member_expression", "subscript_expression"}:
            return
        plain = target.kind == "identifier" or (
            target.kind == "assignment_pattern" and (target.get("left") or target).kind == "identifier"
        )
        for name in pattern_names(target):
            binding = self.names.declared(name) or self.names.binding(name)
            if binding is not None:
                # What is taken out of a list or of a placeholder is a placeholder.
                taken = held if plain else _Holds.RESULT
                self._bindings.setdefault(id(binding), taken)
                self._assigned.setdefault(id(binding), {})[id(name)] = _Assignment(name, taken)

    def holds(self, node: Node) -> _Holds | None:
        """What an expression holds, as far as is known by now."""
        node = bare(node)
        if id(node) not in self._memo and self._depth < _DEPTH_MAX:
            self._memo[id(node)] = None
            self._depth += 1
            self._memo[id(node)] = self._find(node)
            self._depth -= 1
        return self._memo.get(id(node))

    def _find(self, node: Node) -> _Holds | None:
        if id(node) in self._writes:
            return _Holds.RESULT
        if node.kind in {"identifier", "shorthand_property_identifier"}:
            binding = self.names.binding(node)
            held = self._bindings.get(id(binding)) if binding is not None else None
            if held is None or binding is None:
                return None
            assigned = list(self._assigned.get(id(binding), {}).values())
            return held if any(a.held is not None for a in _reaching(assigned, node)) else None
        if node.kind == "await_expression":
            return self.holds(node.named_children()[0]) if node.named_children() else None
        if node.kind in {"member_expression", "subscript_expression"}:
            return self._of_member(node)
        if node.kind == "array":
            elements = node.named_children()
            return _Holds.LIST if any(self.holds(element) is _Holds.RESULT for element in elements) else None
        if node.kind == "call_expression":
            return self._of_call(node)
        return self._any(_outcomes(node))

    def _any(self, nodes: Iterable[Node]) -> _Holds | None:
        return next((held for held in map(self.holds, nodes) if held is not None), None)

    def _of_member(self, node: Node) -> _Holds | None:
        receiver = node.get("object")
        held = self.holds(receiver) if receiver is not None else None
        if held is _Holds.LIST:
            name = property_name(node)
            return _Holds.RESULT if node.kind == "subscript_expression" and name is None else None
        return held

    def _of_call(self, call: Node) -> _Holds | None:
        function = called_function(self.names, call)
        if function is not None:
            return self._returns.get(id(function))
        method = method_call(call)
        if method is None:
            return None
        receiver, name = method
        arguments = arguments_of(call)
        if is_free(self.names, receiver, "Promise"):
            first = self.holds(arguments[0]) if arguments else None
            return None if name == "allSettled" else _Holds.RESULT if name in {"race", "any"} and first else first
        held = self.holds(receiver)
        callback = self.function(arguments[0]) if arguments else None
        returned = self._returns.get(id(callback)) if callback is not None else None
        if name == "then":
            return returned
        if name in {"catch", "finally"}:
            return held
        if name in {"map", "flatMap"}:
            return _Holds.LIST if returned is not None else None
        if held is _Holds.LIST:
            return _Holds.LIST if name in _SAME_LIST else _Holds.RESULT if name in _ELEMENTS else None
        return None


def _reaching(assigned: list[_Assignment], use: Node) -> list[_Assignment]:
    """The assignments whose value a use of the variable can see.

    Going back through the text from the use, the first assignment that lies on every way
    to it hides those before. In a loop, and from inside of another function, later ones
    count too.
    """
    function = enclosing_function(use)
    if len(assigned) > _ASSIGNMENTS_MAX or any(enclosing_function(a.target) is not function for a in assigned):
        return assigned
    seen = [a for a in assigned if a.target.start > use.start and _share_loop(a.target, use)]
    for assignment in sorted(assigned, key=lambda a: -a.target.start):
        if assignment.target.start > use.start:
            continue
        seen.append(assignment)
        block = next((n for n in assignment.target.ancestors() if n.kind in _BRANCHES or n.kind in FUNCTIONS), None)
        if block is None or block.kind in FUNCTIONS or use.is_within(block):
            break
    return seen


def _share_loop(first: Node, second: Node) -> bool:
    return any(node.kind in _LOOPS and second.is_within(node) for node in first.ancestors())


_LOOPS = frozenset({"for_statement", "for_in_statement", "while_statement", "do_statement"})
_BRANCHES = _LOOPS | {
    "if_statement",
    "else_clause",
    "try_statement",
    "catch_clause",
    "switch_case",
    "switch_default",
    "ternary_expression",
    "binary_expression",
}
_STEPS = frozenset(
    {
        "variable_declarator",
        "assignment_expression",
        "augmented_assignment_expression",
        "for_in_statement",
        "return_statement",
        "arrow_function",
        "call_expression",
    }
)


def _parameters(function: Node) -> list[Node]:
    single = function.get("parameter")
    if single is not None:
        return [single]
    parameters = function.get("parameters")
    return parameters.named_children() if parameters is not None else []


def _outcomes(node: Node) -> list[Node]:
    """The parts that a choosing expression can result in."""
    if node.kind == "ternary_expression":
        return [part for part in (node.get("consequence"), node.get("alternative")) if part is not None]
    if node.kind == "sequence_expression":
        return node.named_children()[-1:]
    if node.kind == "binary_expression" and operator(node) in LOGICAL:
        return [part for part in (node.get("left"), node.get("right")) if part is not None]
    if node.kind == "assignment_expression":
        right = node.get("right")
        return [right] if right is not None else []
    return []


def check_write_results(subject: Subject, findings: Findings) -> None:
    """No condition, comparison, arithmetic, spread or text depends on a placeholder."""
    flow = _Flow(subject)
    flow.settle()
    for node in subject.tree.nodes:
        for part, how in _uses(flow, node):
            held = flow.holds(part)
            if held is _Holds.RESULT or (held is _Holds.LIST and how in _LOOKS_INTO_LISTS):
                findings.add(
                    "program.write_result_used",
                    part,
                    f"`{short_text(part)}` is what a write returned, and it is {how}.",
                    _HINT,
                )


def _uses(flow: _Flow, node: Node) -> list[tuple[Node, str]]:
    """The parts of a node whose value it looks at, and in which way."""
    if node.kind in _LOOKED_AT:
        part, how = _LOOKED_AT[node.kind]
        return _some(node.get(part), how)
    if node.kind in _TAKEN_IN:
        return [(part, _TAKEN_IN[node.kind]) for part in node.named_children()]
    if node.kind == "binary_expression":
        return _binary(node)
    if node.kind == "augmented_assignment_expression":
        return [*_some(node.get("left"), "computed with"), *_some(node.get("right"), "computed with")]
    if node.kind == "unary_expression" and not node.has_token("void") and not node.has_token("delete"):
        return _some(node.get("argument"), "used as a condition" if node.has_token("!") else "computed with")
    if node.kind in {"call_expression", "new_expression"}:
        return _calls(flow, node)
    return _patterns(flow, node) if node.kind in {"variable_declarator", "assignment_expression"} else []


_LOOKED_AT = {
    "if_statement": ("condition", "used as a condition"),
    "while_statement": ("condition", "used as a condition"),
    "do_statement": ("condition", "used as a condition"),
    "for_statement": ("condition", "used as a condition"),
    "ternary_expression": ("condition", "used as a condition"),
    "switch_statement": ("value", "compared"),
    "switch_case": ("value", "compared"),
    "update_expression": ("argument", "computed with"),
    "for_in_statement": ("right", "looped over"),
    "subscript_expression": ("index", "used as a key"),
}
_WITH_DEFAULT = frozenset({"object_assignment_pattern", "assignment_pattern"})
_SIFTED = "sifted by its truth"
_LOOKS_INTO_LISTS = frozenset({"put into a text", "asked for `join()`", "asked for `toString()`", _SIFTED})
_TAKEN_IN = {
    "spread_element": "spread",
    "template_substitution": "put into a text",
    "computed_property_name": "used as a key",
}


def _some(node: Node | None, how: str) -> list[tuple[Node, str]]:
    return [(node, how)] if node is not None else []


def _binary(node: Node) -> list[tuple[Node, str]]:
    left, right = node.get("left"), node.get("right")
    if operator(node) in LOGICAL:
        return _some(left, "used as a condition")
    how = "compared" if operator(node) in _COMPARISONS else "computed with"
    return [*_some(left, how), *_some(right, how)]


def _calls(flow: _Flow, node: Node) -> list[tuple[Node, str]]:
    callee = node.get("function") or node.get("constructor")
    if callee is None:
        return []
    arguments = arguments_of(node)
    if flow.names.free_name(bare(callee)) in _COERCIONS:
        return [(argument, "computed with") for argument in arguments[:1]]
    method = method_call(node)
    if method is None:
        return []
    receiver, name = method
    of_language = _language_calls(flow, receiver, name, arguments)
    if of_language or name in {"then", "catch", "finally"}:
        return of_language
    if name in JUDGING_METHODS and arguments and flow.names.free_name(bare(arguments[0])) == "Boolean":
        return [(receiver, _SIFTED)]
    judged = _judged_by(flow, arguments[0]) if name in JUDGING_METHODS and arguments else []
    sought = arguments[:1] if name in _COMPARING else []
    return [
        (receiver, f"asked for `{name}()`"),
        *((part, "used as a condition") for part in judged),
        *((part, "compared") for part in sought),
    ]


def _language_calls(flow: _Flow, receiver: Node, name: str, arguments: list[Node]) -> list[tuple[Node, str]]:
    """What the functions of `Math`, `Object`, `JSON`, `Array` and `Number` look at."""

    def of(*names: str) -> bool:
        return any(is_free(flow.names, receiver, one) for one in names)

    if of("Math"):
        return [(argument, "computed with") for argument in arguments]
    if name in _TAKES_APART and of("Object", "JSON"):
        return [(argument, "taken apart") for argument in arguments]
    if name == "is" and of("Object"):
        return [(argument, "compared") for argument in arguments]
    if name in _TYPE_TESTS and of("Array", "Number"):
        return [(argument, "asked what it is") for argument in arguments[:1]]
    return []


def _judged_by(flow: _Flow, callback: Node) -> list[Node]:
    """The values that a callback returns."""
    function = flow.function(callback)
    body = function.get("body") if function is not None else None
    if body is None:
        return []
    if body.kind != "statement_block":
        return [body]
    returns = [node for node in body.walk(lambda n: n.kind not in FUNCTIONS) if node.kind == "return_statement"]
    return [part for node in returns for part in node.named_children()]


def _patterns(flow: _Flow, node: Node) -> list[tuple[Node, str]]:
    """Taking an array or the rest out of a placeholder looks at all of it."""
    target = node.get("name") or node.get("left")
    value = node.get("value") or node.get("right")
    if target is None or value is None:
        return []
    if target.kind == "array_pattern" and flow.elements(bare(value)) is None:
        return [(value, "looped over")]
    if target.kind == "object_pattern" and any(child.kind == "rest_pattern" for child in target.named_children()):
        return [(value, "spread")]
    if target.kind == "object_pattern" and any(node.kind in _WITH_DEFAULT for node in target.walk()):
        return [(value, "looked into for a default")]
    return []
