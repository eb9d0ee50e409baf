"""Promises made by hand: `new Promise((resolve) => …)`, and callbacks that run later."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from vardy_worker.programs.scopes import pattern_names
from vardy_worker.programs.subject import arguments_of, is_free, method_call
from vardy_worker.programs.syntax import FUNCTIONS, bare

if TYPE_CHECKING:
    from vardy_worker.programs.nodes import Node
    from vardy_worker.programs.scopes import Names

_FUNCTIONS_MAX = 20
"""An executor is looked for in so many functions around a statement."""
_LINKS_MAX = 50

NO_MICROTASK = "`queueMicrotask` does not wait for its callback; `await` the call instead."


def executor_of(names: Names, node: Node) -> Node | None:
    """The function that `new Promise(…)` calls at once; None for other expressions."""
    if node.kind != "new_expression" or not is_free(names, node.get("constructor"), "Promise"):
        return None
    arguments = arguments_of(node)
    executor = bare(arguments[0]) if arguments else None
    return executor if executor is not None and executor.kind in FUNCTIONS else None


def executor_fed_by(names: Names, statement: Node) -> Node | None:
    """The `new Promise(…)` that a statement settles: `f().then(resolve)` inside of its executor."""
    functions = islice((node for node in statement.near() if node.kind in FUNCTIONS), _FUNCTIONS_MAX)
    for function in functions:
        arguments = function.parent
        while arguments is not None and arguments.kind == "parenthesized_expression":
            arguments = arguments.parent
        made = arguments.parent if arguments is not None else None
        if made is None or executor_of(names, made) is not function:
            continue
        parameters = function.get("parameters") or function.get("parameter")
        patterns = parameters.named_children() if parameters is not None else []
        given = patterns if parameters is not None and parameters.kind == "formal_parameters" else [parameters]
        for name in (name for pattern in given if pattern is not None for name in pattern_names(pattern)):
            binding = names.declared(name)
            if binding is not None and any(use.node.is_within(statement) for use in binding.references):
                return made
    return None


def settles_elsewhere(names: Names, chain: Node) -> bool:
    """Whether `p.then(done)` hands its outcome to a variable of which the text does not show who waits for it."""
    node: Node | None = chain
    for _ in range(_LINKS_MAX):
        method = method_call(node) if node is not None else None
        if node is None or method is None or method[1] not in {"then", "catch", "finally"}:
            break
        bindings = (names.binding(bare(argument)) for argument in arguments_of(node))
        if any(binding is not None and binding.function is None for binding in bindings):
            return True
        node = bare(method[0])
    return False


def drops_callback(names: Names, call: Node) -> bool:
    """Whether a call runs its callback later, with nobody to wait for it."""
    return is_free(names, call.get("function"), "queueMicrotask")
