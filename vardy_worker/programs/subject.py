"""What the checks look at: a parsed program, its names, and its calls of registered functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vardy_worker.programs.globals import JUDGE_GLOBALS
from vardy_worker.programs.line_ends import plain_lines
from vardy_worker.programs.nodes import Node
from vardy_worker.programs.scopes import Binding, BindingKind, Names, analyse
from vardy_worker.programs.syntax import (
    FUNCTIONS,
    Tree,
    around,
    bare,
    parse_javascript,
    property_name,
    readable,
)

if TYPE_CHECKING:
    from vardy_worker.contracts.functions import Catalogue, FunctionSpec


JUDGING_METHODS = frozenset({"filter", "some", "every", "find", "findIndex", "findLast", "findLastIndex"})
"""Methods of lists that look at what their callback gives for each element."""
ELEMENT_METHODS = JUDGING_METHODS | {"map", "flatMap", "forEach"}
"""Methods of lists that call their callback with each element."""
COMPARING_METHODS = frozenset({"sort", "toSorted"})
"""Methods of lists that look at what their callback gives for two elements."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a registered function, or of `ai` or `classify` (then `spec` is None)."""

    node: Node
    name: str
    spec: FunctionSpec | None


@dataclass(frozen=True, slots=True)
class Subject:
    """A program under check."""

    tree: Tree
    names: Names
    specs: dict[str, FunctionSpec]
    judge: bool
    reads_only: bool
    calls: tuple[Call, ...] = field(default=())


def subject_of(source: str, catalogue: Catalogue, *, judge: bool = False, reads_only: bool = False) -> Subject:
    """Parses a program and finds its calls."""
    tree = parse_javascript(readable(plain_lines(source)))
    names = analyse(tree)
    specs = {spec.name: spec for spec in catalogue.functions}
    calls = tuple(_calls(tree, names, specs))
    return Subject(tree, names, specs, judge, reads_only, calls)


def _calls(tree: Tree, names: Names, specs: dict[str, FunctionSpec]) -> list[Call]:
    found = []
    for node in tree.nodes:
        if node.kind != "call_expression":
            continue
        callee = node.get("function")
        name = registered_name(names, callee) if callee is not None else None
        if name in specs:
            found.append(Call(node, name, specs[name]))
        elif name in JUDGE_GLOBALS and name is not None:
            found.append(Call(node, name, None))
    return found


def registered_name(names: Names, node: Node) -> str | None:
    """The free name an expression stands for: `f`, `globalThis.f`, or a constant that is one of them."""
    seen: set[int] = set()
    while id(node) not in seen:
        seen.add(id(node))
        node = bare(node)
        if node.kind in {"member_expression", "subscript_expression"}:
            return property_name(node) if is_global_object(names, node.get("object")) else None
        name = names.free_name(node)
        if name is not None:
            return name
        binding = names.binding(node)
        if binding is None or binding.kind is not BindingKind.CONST or binding.initial is None:
            return None
        node = binding.initial
    return None


def is_global_object(names: Names, node: Node | None) -> bool:
    """Whether an expression is `globalThis` itself."""
    return node is not None and names.free_name(bare(node)) == "globalThis"


def is_free(names: Names, node: Node | None, name: str) -> bool:
    """Whether an expression is the global of that name."""
    return node is not None and names.free_name(bare(node)) == name


def called_function(names: Names, call: Node) -> Node | None:
    """The program's own function that a call expression calls, when the text shows which."""
    callee = call.get("function")
    if callee is None:
        return None
    callee = bare(callee)
    if callee.kind in FUNCTIONS:
        return callee
    binding = names.binding(callee)
    return binding.function if binding is not None else None


def method_call(call: Node) -> tuple[Node, str] | None:
    """Receiver and method name of a call like `rows.map(…)`."""
    callee = call.get("function")
    if call.kind != "call_expression" or callee is None:
        return None
    name = property_name(callee)
    receiver = callee.get("object")
    return (receiver, name) if name is not None and receiver is not None else None


def arguments_of(call: Node) -> list[Node]:
    """The argument expressions of a call or `new`."""
    arguments = call.get("arguments")
    return arguments.named_children() if arguments is not None and arguments.kind == "arguments" else []


def function_binding(names: Names, function: Node) -> Binding | None:
    """The name a function is declared under: by itself, or as the value of a variable."""
    name = function.get("name")
    if name is not None and function.kind in {"function_declaration", "generator_function_declaration"}:
        return names.declared(name)
    parent = around(function).parent
    if parent is not None and parent.kind == "variable_declarator":
        target = parent.get("name")
        return names.declared(target) if target is not None else None
    return None
