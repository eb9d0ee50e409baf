"""Which declaration each name of a program means.

Two passes over the tree: the first opens scopes and declares names (so that functions and
`var` are known before their text), the second resolves every identifier that is a use.
Property names, labels and keys are no names and never appear here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from vardy_worker.programs.nodes import Node
from vardy_worker.programs.syntax import CLASSES, FUNCTIONS, Tree, identifier_name, is_async

if TYPE_CHECKING:
    from collections.abc import Iterator


class BindingKind(StrEnum):
    """How a name was declared."""

    PARAM = "param"
    VAR = "var"
    LET = "let"
    CONST = "const"
    FUNCTION = "function"
    CLASS = "class"
    CATCH = "catch"
    IMPORT = "import"


class Use(StrEnum):
    """What a reference does with its name."""

    READ = "read"
    WRITE = "write"
    UPDATE = "update"
    """Both: `x += 1`, `x++`."""


@dataclass(eq=False, slots=True)
class Binding:
    """A declared name. `node` is the identifier, `scope` where it can be seen."""

    name: str
    kind: BindingKind
    node: Node
    scope: Scope
    references: list[Reference] = field(default_factory=list)
    hoisted: bool = False
    """A function of an inner block, seen from the whole function; any declaration replaces it."""

    @property
    def initial(self) -> Node | None:
        """What the name is declared with: the value of its declarator, or the function or class."""
        parent = self.node.parent
        if parent is None:
            return None
        if parent.kind == "variable_declarator" and self.node.field == "name":
            return parent.get("value")
        if self.node.field == "name" and (parent.kind in FUNCTIONS or parent.kind in CLASSES):
            return parent
        return None

    @property
    def function(self) -> Node | None:
        """The function the name stands for, when it is declared as one."""
        initial = self.initial
        return initial if initial is not None and initial.kind in FUNCTIONS else None


@dataclass(eq=False, slots=True)
class Reference:
    """One use of a name; `binding` is None when the program does not declare it."""

    name: str
    node: Node
    use: Use
    scope: Scope
    binding: Binding | None = None


@dataclass(eq=False, slots=True)
class Scope:
    """A stretch of text in which names are declared."""

    node: Node
    parent: Scope | None
    bindings: dict[str, Binding] = field(default_factory=dict)

    @property
    def takes_var(self) -> bool:
        """Whether `var` declares here: functions, static blocks of classes, and the program."""
        return self.node.kind in FUNCTIONS or self.node.kind in {"program", "class_static_block"}

    def find(self, name: str) -> Binding | None:
        """The declaration of a name as seen from here."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bindings:
                return scope.bindings[name]
            scope = scope.parent
        return None


@dataclass(frozen=True, slots=True)
class Clash:
    """A name declared twice where the language forbids it."""

    first: Binding
    again: Node


@dataclass(eq=False, slots=True)
class Names:
    """All scopes, declarations and uses of one tree."""

    tree: Tree
    top: Scope
    references: list[Reference] = field(default_factory=list)
    clashes: list[Clash] = field(default_factory=list)
    _by_node: dict[int, Reference] = field(default_factory=dict)
    _declared: dict[int, Binding] = field(default_factory=dict)
    _scopes: dict[int, Scope] = field(default_factory=dict)
    _vars: list[tuple[Node, Scope]] = field(default_factory=list)

    def inside(self, node: Node) -> dict[str, Binding]:
        """What a block, function or class declares for its inside alone."""
        scope = self._scopes.get(id(node))
        return scope.bindings if scope is not None else {}

    def reference(self, node: Node) -> Reference | None:
        """The use that an identifier node is; None for declarations and for other nodes."""
        return self._by_node.get(id(node))

    def declared(self, node: Node) -> Binding | None:
        """The declaration that an identifier node makes."""
        return self._declared.get(id(node))

    def binding(self, node: Node) -> Binding | None:
        """The declaration a used identifier means; None when free or no use."""
        reference = self.reference(node)
        return reference.binding if reference is not None else None

    def free_name(self, node: Node) -> str | None:
        """The name of an identifier that is used but not declared; None for all other nodes."""
        reference = self.reference(node)
        return reference.name if reference is not None and reference.binding is None else None

    @property
    def free(self) -> list[Reference]:
        """The uses of names that the program does not declare, in source order."""
        return [reference for reference in self.references if reference.binding is None]


_SCOPES = FUNCTIONS | {
    "program",
    "statement_block",
    "for_statement",
    "for_in_statement",
    "catch_clause",
    "switch_body",
    "class_static_block",
    "class",
    "class_declaration",
}
_BLOCKS_MAX = 100
"""A `var` is held against so many blocks around it."""
_LEXICAL = frozenset({BindingKind.LET, BindingKind.CONST, BindingKind.CLASS, BindingKind.IMPORT})
_DECLARATIONS = {"function_declaration": BindingKind.FUNCTION, "generator_function_declaration": BindingKind.FUNCTION}
_VARIABLE_KINDS = {"let": BindingKind.LET, "const": BindingKind.CONST}
_NAMES = frozenset(
    {"identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern", "undefined"}
)


def pattern_names(pattern: Node) -> Iterator[Node]:
    """The identifiers that a binding pattern declares, without defaults and computed keys."""
    stack = [pattern]
    while stack:
        node = stack.pop()
        if node.kind in {"identifier", "shorthand_property_identifier_pattern", "undefined"}:
            yield node
        elif node.kind in {"assignment_pattern", "object_assignment_pattern"}:
            left = node.get("left")
            stack.extend([left] if left is not None else [])
        elif node.kind == "pair_pattern":
            value = node.get("value")
            stack.extend([value] if value is not None else [])
        elif node.kind in {"object_pattern", "array_pattern", "rest_pattern"}:
            stack.extend(reversed(node.named_children()))


def analyse(tree: Tree) -> Names:
    """Resolves every name of a JavaScript tree."""
    names = Names(tree, Scope(tree.root, None))
    scopes = _declare(names)
    _find_hidden_clashes(names)
    for node, scope in scopes:
        _resolve(names, node, scope)
    return names


def _declare(names: Names) -> list[tuple[Node, Scope]]:
    """Opens the scopes and declares; returns every identifier with the scope it stands in."""
    identifiers: list[tuple[Node, Scope]] = []
    stack: list[tuple[Node, Scope]] = [(child, names.top) for child in reversed(names.tree.root.children)]
    while stack:
        node, scope = stack.pop()
        _declare_node(names, node, scope)
        inner = scope
        if node.kind in _SCOPES and not _shares_function_scope(node):
            inner = names._scopes[id(node)] = Scope(node, scope)  # noqa: SLF001 - one unit with Names
            _declare_own(names, node, inner)
        if node.kind in _NAMES:
            identifiers.append((node, scope))
        stack.extend((child, _scope_of_child(node, child, scope, inner)) for child in reversed(node.children))
    return identifiers


def _shares_function_scope(node: Node) -> bool:
    # A function's body and a catch's body see the parameters as their own names.
    parent = node.parent
    return (
        node.kind == "statement_block"
        and parent is not None
        and (parent.kind in FUNCTIONS or parent.kind == "catch_clause")
    )


def _scope_of_child(node: Node, child: Node, outer: Scope, inner: Scope) -> Scope:
    """Names of declarations and computed keys of methods belong outside of the function."""
    if node.kind == "method_definition" and child.field == "name":
        return outer
    if node.kind in {"function_declaration", "generator_function_declaration", "class_declaration"}:
        return outer if child.field == "name" else inner
    return inner


def _declare_node(names: Names, node: Node, scope: Scope) -> None:
    if node.kind in _DECLARATIONS:
        name = node.get("name")
        if name is not None:
            _add(names, scope, name, BindingKind.FUNCTION)
            var_scope = _var_scope(scope)
            # Outside of strict code a plain function in a block can be called from the whole function.
            plain = node.kind == "function_declaration" and not is_async(node)
            if plain and var_scope is not scope and identifier_name(name) not in var_scope.bindings:
                _add(names, var_scope, name, BindingKind.VAR)
                var_scope.bindings[identifier_name(name)].hoisted = True
    elif node.kind == "class_declaration":
        _add_all(names, scope, node.get("name"), BindingKind.CLASS)
    elif node.kind in {"lexical_declaration", "variable_declaration"}:
        _declare_variables(names, node, scope)
    elif node.kind == "import_clause":
        for child in node.walk():
            if (child.kind == "identifier" and child.field != "name") or _plain_import(child):
                _add(names, scope, child, BindingKind.IMPORT)


def _plain_import(node: Node) -> bool:
    parent = node.parent
    return (
        node.kind == "identifier"
        and parent is not None
        and parent.kind == "import_specifier"
        and node.field == "name"
        and parent.get("alias") is None
    )


def _declare_variables(names: Names, node: Node, scope: Scope) -> None:
    keyword = node.children[0].kind if node.children else "var"
    kind = _VARIABLE_KINDS.get(keyword, BindingKind.VAR)
    where = _var_scope(scope) if kind is BindingKind.VAR else scope
    for declarator in node.named_children():
        pattern = declarator.get("name") if declarator.kind == "variable_declarator" else None
        _add_all(names, where, pattern, kind)
        if where is not scope and pattern is not None:
            names._vars.extend((name, scope) for name in pattern_names(pattern))  # noqa: SLF001 - one unit with Names


def _find_hidden_clashes(names: Names) -> None:
    """A `var` cannot pass a block that declares its name otherwise."""
    for node, inner in names._vars:  # noqa: SLF001 - one unit with Names
        scope: Scope | None = inner
        for _ in range(_BLOCKS_MAX):
            if scope is None or scope.takes_var:
                break
            known = scope.bindings.get(identifier_name(node))
            caught = known is not None and known.kind is BindingKind.CATCH and known.node.field != "parameter"
            if known is not None and (known.kind in _LEXICAL or known.kind is BindingKind.FUNCTION or caught):
                names.clashes.append(Clash(known, node))
                break
            scope = scope.parent


def _declare_own(names: Names, node: Node, scope: Scope) -> None:
    """Declares what only the inside of a node can see: parameters, loop variables, own names."""
    if node.kind in FUNCTIONS:
        if node.kind in {"function_expression", "generator_function"}:
            _add_all(names, scope, node.get("name"), BindingKind.FUNCTION)
        parameters = node.get("parameters")
        for pattern in parameters.named_children() if parameters is not None else ():
            _add_all(names, scope, pattern, BindingKind.PARAM)
        _add_all(names, scope, node.get("parameter"), BindingKind.PARAM)
    elif node.kind == "class":
        _add_all(names, scope, node.get("name"), BindingKind.CLASS)
    elif node.kind == "catch_clause":
        _add_all(names, scope, node.get("parameter"), BindingKind.CATCH)
    elif node.kind == "for_in_statement":
        keyword = node.get("kind")
        if keyword is not None:
            kind = _VARIABLE_KINDS.get(keyword.text, BindingKind.VAR)
            _add_all(names, _var_scope(scope) if kind is BindingKind.VAR else scope, node.get("left"), kind)


def _add_all(names: Names, scope: Scope, pattern: Node | None, kind: BindingKind) -> None:
    for name in pattern_names(pattern) if pattern is not None else ():
        _add(names, scope, name, kind)


def _var_scope(scope: Scope) -> Scope:
    while not scope.takes_var and scope.parent is not None:
        scope = scope.parent
    return scope


def _add(names: Names, scope: Scope, node: Node, kind: BindingKind) -> None:
    name = identifier_name(node)
    known = scope.bindings.get(name)
    if known is None or (known.hoisted and known.node is not node):
        known = scope.bindings[name] = Binding(name, kind, node, scope)
    elif known.node is not node and _clashes(known, kind):
        names.clashes.append(Clash(known, node))
    elif kind is BindingKind.FUNCTION and known.kind in {BindingKind.VAR, BindingKind.FUNCTION}:
        # The last function of a name is the one that is called.
        known.node, known.kind = node, kind
    names._declared.setdefault(id(node), known)  # noqa: SLF001 - one unit with Names


def _clashes(known: Binding, kind: BindingKind) -> bool:
    declares = known.node.parent
    if declares is not None and declares.kind in {"function_expression", "generator_function", "class"}:
        # The own name of an expression lies outside of its body, which may declare it again.
        return declares.get("name") is not known.node
    return kind in _LEXICAL or known.kind in _LEXICAL


def _resolve(names: Names, node: Node, scope: Scope) -> None:
    use = _use_of(names, node)
    if use is None:
        return
    name = identifier_name(node)
    reference = Reference(name, node, use, scope, scope.find(name) or _implicit(scope, name, node))
    if reference.binding is not None:
        reference.binding.references.append(reference)
    names.references.append(reference)
    names._by_node[id(node)] = reference  # noqa: SLF001 - one unit with Names


def _implicit(scope: Scope, name: str, node: Node) -> Binding | None:
    """`arguments` exists in every function that is not an arrow."""
    if name != "arguments":
        return None
    inner: Scope | None = scope
    while inner is not None:
        if inner.node.kind in FUNCTIONS and inner.node.kind != "arrow_function":
            return inner.bindings.setdefault(name, Binding(name, BindingKind.PARAM, node, inner))
        inner = inner.parent
    return None


def _use_of(names: Names, node: Node) -> Use | None:
    """What an identifier does; None where it declares or names something else."""
    if names.declared(node) is not None:
        return None
    parent = node.parent
    if parent is None or parent.kind in {"import_specifier", "namespace_import", "import_clause", "namespace_export"}:
        return None
    if parent.kind == "export_specifier":
        return Use.READ if node.field == "name" else None
    if node.field == "name" and (parent.kind in FUNCTIONS or parent.kind in CLASSES):
        return None
    target = _assignment_above(node)
    if target is None:
        return Use.READ
    return Use.UPDATE if target.kind in {"augmented_assignment_expression", "update_expression"} else Use.WRITE


def _assignment_above(node: Node) -> Node | None:
    """The assignment, update or loop that this identifier is a target of."""
    child, parent = node, node.parent
    while parent is not None:
        if parent.kind in {"assignment_expression", "augmented_assignment_expression", "for_in_statement"}:
            return parent if child.field == "left" else None
        if parent.kind == "update_expression":
            return parent
        if parent.kind in {"assignment_pattern", "object_assignment_pattern"} and child.field == "right":
            return None
        if parent.kind == "pair_pattern" and child.field != "value":
            return None
        if parent.kind not in _PATTERN_PARTS:
            return None
        child, parent = parent, parent.parent
    return None


_PATTERN_PARTS = frozenset(
    {
        "assignment_pattern",
        "object_assignment_pattern",
        "pair_pattern",
        "object_pattern",
        "array_pattern",
        "rest_pattern",
        "parenthesized_expression",
    }
)
