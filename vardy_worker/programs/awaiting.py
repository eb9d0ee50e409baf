"""Calls whose promise nobody waits for.

A promise starts at a call of a registered function, or of one of the program's own async
functions that reaches one. From there its way through the program is followed: through
arrays, variables, callbacks of `map`, `return`, until it is awaited, returned or handed
on. Where the text does not show what happens (a helper gets it as an argument), it passes.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from vardy_worker.programs.executors import (
    NO_MICROTASK,
    drops_callback,
    executor_fed_by,
    executor_of,
    settles_elsewhere,
)
from vardy_worker.programs.globals import ALLOWED_GLOBALS
from vardy_worker.programs.nodes import Node
from vardy_worker.programs.scopes import Binding, BindingKind, Use, pattern_names
from vardy_worker.programs.subject import (
    COMPARING_METHODS,
    JUDGING_METHODS,
    Subject,
    called_function,
    function_binding,
    is_free,
    method_call,
)
from vardy_worker.programs.syntax import (
    FUNCTIONS,
    LOGICAL,
    around,
    bare,
    enclosing_function,
    is_async,
    is_generator,
    operator,
    property_name,
)

if TYPE_CHECKING:
    from vardy_worker.programs.codes import Findings

_COMBINATORS = frozenset({"all", "allSettled", "any", "race", "resolve"})
_CHAINS = frozenset({"then", "catch", "finally"})
_WAITS_FOR_NONE = {
    **{
        name: f"`{name}` cannot wait for its callback; await the calls first."
        for name in JUDGING_METHODS | COMPARING_METHODS
    },
    "forEach": "`forEach` does not wait for its callback; use `for (const x of …)` with `await`.",
    "filter": "`filter` cannot wait for its callback; await the calls first, then filter the results.",
}
_KEEPS = frozenset(
    {"map", "flatMap", "concat", "flat", "slice", "reverse", "toReversed", "values", "entries", "reduce"}
)
_PICKS = frozenset({"get", "at", "pop", "shift", "find", "findLast"})
_STORES = frozenset({"push", "unshift", "add", "set", "fill", "splice"})
_VARIABLES_MAX = 60
"""A promise handed through more variables than these counts as waited for."""
_WRAPPERS = frozenset({"parenthesized_expression", "spread_element"})
_HOLDERS = frozenset({"array", "object", "pair"})
_CHOICES = frozenset({"ternary_expression", "sequence_expression", "binary_expression"})
_MEMBERS = frozenset({"member_expression", "subscript_expression"})
_TAKERS = frozenset(
    {
        "await_expression",
        "yield_expression",
        "field_definition",
        "throw_statement",
        "assignment_pattern",
        "for_in_statement",
        "arrow_function",
    }
)
_COLLECTIONS = frozenset({"Array", "Object", "Map", "Set"})


class _Fate(Enum):
    """What becomes of a promise at one place."""

    WAITED = "waited"
    LOST = "lost"


class _Held(Enum):
    """Whether an expression is the promise itself, or an array, object or collection that holds it."""

    NO = "no"
    YES = "yes"
    MAYBE = "maybe"


class _Watch:
    """Follows promises through one program."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.names = subject.names
        self._on_the_way: set[int] = set()
        self.hint = ""

    def lost(self, node: Node) -> bool:
        """Whether the promise that this expression makes is waited for nowhere."""
        self.hint = ""
        self._on_the_way.clear()
        return self._follow(node, held=_Held.NO) is _Fate.LOST

    def loses_callback(self, call: Node, receiver: Node, name: str) -> bool:
        """Whether the promises that a method's callback returns are waited for nowhere."""
        self.hint = ""
        self._on_the_way.clear()
        return self._returned_to(call, receiver, name) is _Fate.LOST

    def _follow(self, node: Node, *, held: _Held) -> _Fate:
        """Goes up from an expression until the promise ends somewhere."""
        while True:
            parent = node.parent
            if parent is None:
                return _Fate.LOST
            outcome: _Fate | tuple[Node, _Held]
            if parent.kind in _WRAPPERS:
                outcome = _Fate.LOST if _is_condition(parent) else (parent, held)
            elif parent.kind in _HOLDERS:
                outcome = parent, _Held.YES
            elif parent.kind in _CHOICES:
                outcome = (parent, held) if _is_result_of(node, parent) else _Fate.LOST
            elif parent.kind == "arguments":
                outcome = self._as_argument(parent.parent)
            elif parent.kind in _MEMBERS:
                outcome = self._as_receiver(node, parent, held=held)
            else:
                outcome = self._at_end(node, parent, held=held)
            if isinstance(outcome, _Fate):
                return outcome
            node, held = outcome

    def _at_end(self, node: Node, parent: Node, *, held: _Held) -> _Fate | tuple[Node, _Held]:
        kind = parent.kind
        if kind == "return_statement" or (kind == "arrow_function" and node.field == "body"):
            function = parent if kind == "arrow_function" else enclosing_function(parent)
            return self._returned_from(function, held=held)
        if kind == "variable_declarator":
            return self._stored(parent.get("name"), held=held)
        if kind in {"assignment_expression", "augmented_assignment_expression"} and node.field == "right":
            fate = self._stored(parent.get("left"), held=held)
            # What is assigned is the value of the assignment too: `return cache[id] ??= load(id)`.
            return fate if fate is _Fate.WAITED or _is_pattern(parent.get("left")) else (parent, held)
        if kind == "for_in_statement" and node.field == "right" and not parent.has_token("await"):
            return _Fate.LOST if held is _Held.NO else self._stored(parent.get("left"), held=_Held.MAYBE)
        if kind == "await_expression" and held is _Held.YES:
            self.hint = "`await` does not wait for promises inside an array or object; use `await Promise.all(…)`."
            return _Fate.LOST
        made = executor_fed_by(self.names, parent) if kind == "expression_statement" else None
        if made is not None:
            return made, _Held.NO
        passed_on = kind == "expression_statement" and settles_elsewhere(self.names, node)
        return _Fate.WAITED if passed_on or kind in _TAKERS else _Fate.LOST

    def _as_argument(self, call: Node | None) -> _Fate | tuple[Node, _Held]:
        if call is None:
            return _Fate.LOST
        method = method_call(call)
        if method is not None:
            return self._as_argument_of_method(call, *method)
        callee = call.get("function") or call.get("constructor")
        free = self.names.free_name(bare(callee)) if callee is not None else None
        if call.kind == "new_expression" and free in _COLLECTIONS:
            return call, _Held.YES
        return _Fate.LOST if free in ALLOWED_GLOBALS and free != "Promise" else _Fate.WAITED

    def _as_argument_of_method(self, call: Node, receiver: Node, name: str) -> _Fate | tuple[Node, _Held]:
        free = self.names.free_name(bare(receiver))
        if free == "Promise" and name in _COMBINATORS:
            return call, _Held.NO
        if free in {"console", "JSON", "Math"}:
            return _Fate.LOST
        if free in _COLLECTIONS or name == "concat":
            return call, _Held.YES
        return self._stored(receiver, held=_Held.YES) if name in _STORES else _Fate.WAITED

    def _as_receiver(self, node: Node, member: Node, *, held: _Held) -> _Fate | tuple[Node, _Held]:
        if node.field != "object":
            return _Fate.LOST
        call = member.parent
        name = property_name(member)
        called = call is not None and call.kind == "call_expression" and member.field == "function"
        if held is not _Held.YES and called and call is not None and name in _CHAINS:
            return call, _Held.NO
        if held is _Held.NO:
            self.hint = "Await it first: `(await …).name`."
            return _Fate.LOST
        if called and call is not None:
            if name in _PICKS:
                return call, _Held.MAYBE
            return (call, _Held.YES) if name in _KEEPS else _Fate.LOST
        return (member, _Held.MAYBE) if name != "length" else _Fate.LOST

    def _stored(self, target: Node | None, *, held: _Held) -> _Fate:
        """The promise goes into a variable: one use that waits is enough."""
        if target is None:
            return _Fate.WAITED
        if _is_pattern(target):
            if held is _Held.NO:
                self.hint = "Await it before taking it apart."
                return _Fate.LOST
            bindings = [self.names.declared(name) or self.names.binding(name) for name in pattern_names(target)]
            fates = [self._used(binding, held=_Held.MAYBE) for binding in bindings if binding is not None]
            return _Fate.LOST if fates and all(fate is _Fate.LOST for fate in fates) else _Fate.WAITED
        root = bare(target)
        inside = held
        while root.kind in {"member_expression", "subscript_expression"}:
            inner = root.get("object")
            if inner is None:
                return _Fate.WAITED
            root, inside = bare(inner), _Held.YES
        binding = self.names.declared(root) or self.names.binding(root)
        # A parameter, `this` or a call holds it: the text does not show who else looks at it.
        return self._used(binding, held=inside) if binding is not None else _Fate.WAITED

    def _used(self, binding: Binding, *, held: _Held) -> _Fate:
        if binding.kind is BindingKind.PARAM:
            return _Fate.WAITED
        if id(binding) in self._on_the_way:
            return _Fate.LOST
        if len(self._on_the_way) > _VARIABLES_MAX:
            return _Fate.WAITED
        self._on_the_way.add(id(binding))
        reads = [reference for reference in binding.references if reference.use is not Use.WRITE]
        for reference in reads:
            if _is_store_target(reference.node):
                continue
            if self._follow(reference.node, held=held) is _Fate.WAITED:
                return _Fate.WAITED
        return _Fate.LOST

    def _returned_from(self, function: Node | None, *, held: _Held) -> _Fate:
        """The promise is what a function returns: its callers, or whoever got it as a callback, have it."""
        binding = function_binding(self.names, function) if function is not None else None
        if binding is not None and binding.name == "run" and binding.scope is self.names.top and held is _Held.YES:
            self.hint = "Promises inside a returned array or object are not waited for; use `await Promise.all(…)`."
            return _Fate.LOST
        if function is None or binding is not None:
            return _Fate.WAITED
        holder = around(function)
        parent = holder.parent
        if parent is not None and parent.kind == "call_expression" and holder.field == "function":
            return self._follow(parent, held=_Held.NO)
        call = parent.parent if parent is not None and parent.kind == "arguments" else None
        method = method_call(call) if call is not None else None
        if call is not None and drops_callback(self.names, call):
            self.hint = NO_MICROTASK
            return _Fate.LOST
        return self._returned_to(call, *method) if call is not None and method is not None else _Fate.WAITED

    def _returned_to(self, call: Node, receiver: Node, name: str) -> _Fate:
        """The promise is what a callback of a method returns."""
        if name in _WAITS_FOR_NONE:
            self.hint = _WAITS_FOR_NONE[name]
            return _Fate.LOST
        if name in _CHAINS or name == "reduce":
            return self._follow(call, held=_Held.NO)
        if name in {"map", "flatMap"} or (name == "from" and is_free(self.names, receiver, "Array")):
            return self._follow(call, held=_Held.YES)
        return _Fate.WAITED


def _is_pattern(target: Node | None) -> bool:
    return target is not None and target.kind in {"object_pattern", "array_pattern"}


def _is_condition(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.kind in {"if_statement", "while_statement", "do_statement", "switch_statement"}


def _is_result_of(node: Node, parent: Node) -> bool:
    """Whether the value of a choosing expression can be this part of it."""
    if parent.kind == "ternary_expression":
        return node.field != "condition"
    if parent.kind == "sequence_expression":
        return parent.named_children()[-1] is node
    return node.field == "right" and operator(parent) in LOGICAL


def _is_store_target(node: Node) -> bool:
    """Whether a use of a collection only puts something in: `list.push(…)`, `map[key] = …`."""
    member = node.parent
    if member is None or member.kind not in {"member_expression", "subscript_expression"} or node.field != "object":
        return False
    above = member.parent
    if above is not None and above.kind == "assignment_expression" and member.field == "left":
        return True
    return (
        above is not None
        and above.kind == "call_expression"
        and member.field == "function"
        and property_name(member) in _STORES
    )


def check_awaited(subject: Subject, findings: Findings) -> None:
    """Every promise of a registered call, and of own functions that reach one, is waited for."""
    watch = _Watch(subject)
    for call in subject.calls:
        if watch.lost(call.node):
            _report(call.name, call.node, watch.hint, findings)
    reaching = functions_reaching_calls(subject)
    registered = {id(call.node) for call in subject.calls}
    for node in subject.tree.nodes:
        if node.kind == "call_expression" and id(node) not in registered:
            _check_own_call(watch, node, reaching, findings)
        elif id(executor_of(subject.names, node)) in reaching and watch.lost(node):
            _report("new Promise", node, watch.hint or "Write `await new Promise(…)`.", findings)
        elif node.kind in FUNCTIONS and id(node) in reaching and is_async(node):
            _check_callback(watch, node, findings)
    for reference in subject.names.references:
        function = reference.binding.function if reference.binding is not None else None
        if function is not None and id(function) in reaching:
            _check_callback(watch, reference.node, findings)


def _check_own_call(watch: _Watch, call: Node, reaching: set[int], findings: Findings) -> None:
    """A call of one of the program's own functions, when its promise covers registered calls."""
    function = called_function(watch.names, call)
    if function is None or id(function) not in reaching:
        return
    run = watch.names.top.bindings.get("run")
    if run is not None and run.function is function and enclosing_function(call) is None:
        return  # that it is called at all is a finding of its own
    if watch.lost(call):
        callee = call.get("function")
        name = callee.text if callee is not None and callee.kind == "identifier" else "async function"
        _report(name, call, watch.hint, findings)


def _check_callback(watch: _Watch, callback: Node, findings: Findings) -> None:
    """A callback that calls functions, given to a method whose result nobody waits for."""
    arguments = callback.parent
    call = arguments.parent if arguments is not None and arguments.kind == "arguments" else None
    method = method_call(call) if call is not None else None
    if call is not None and drops_callback(watch.names, call):
        watch.hint, name = NO_MICROTASK, "queueMicrotask"
    elif call is not None and method is not None and watch.loses_callback(call, *method):
        name = method[1]
    else:
        return
    findings.add(
        "program.unawaited_call",
        callback,
        f"Nobody waits for the calls in this callback of `{name}`.",
        watch.hint or f"Write `await Promise.all(….{name}(…))`.",
        details={"function": name},
    )


def functions_reaching_calls(subject: Subject) -> set[int]:
    """Ids of the function nodes whose promise covers registered calls.

    Those are the async functions around a call, and the others that return its promise;
    then whatever calls one of them in the same way.
    """
    reaching: set[int] = set()
    callers: dict[int, list[Node]] = {}
    for node in subject.tree.nodes:
        if node.kind == "call_expression":
            function = called_function(subject.names, node)
            if function is not None:
                callers.setdefault(id(function), []).append(node)
    pending = [call.node for call in subject.calls]
    while pending:
        source = pending.pop()
        function = enclosing_function(source)
        if function is None or id(function) in reaching:
            continue
        # What a generator yields is waited for where it is read, if at all.
        if not is_generator(function) and (is_async(function) or _is_returned(source, function)):
            reaching.add(id(function))
            pending.extend(callers.get(id(function), []))
            if _is_inline(function):
                pending.append(function)
    return reaching


def _is_inline(function: Node) -> bool:
    """Whether a function works for the one around it: called where it stands, or a callback."""
    parent = around(function).parent
    return parent is not None and parent.kind in {"call_expression", "arguments"}


def _is_returned(node: Node, function: Node) -> bool:
    """Whether an expression is part of what a function returns."""
    for ancestor in node.ancestors():
        if ancestor is function:
            body = function.get("body")
            return body is not None and body.kind != "statement_block" and node.is_within(body)
        if ancestor.kind == "return_statement":
            return True
    return False


def _report(name: str, node: Node, hint: str, findings: Findings) -> None:
    findings.add(
        "program.unawaited_call",
        node,
        f"`{name}(…)` is neither awaited, returned, nor passed to a `Promise` combinator.",
        hint or f"Write `await {name}(…)`.",
        details={"function": name},
    )
