"""Syntax errors: what the grammar does not understand, and what it lets pass but JavaScript refuses."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from vardy_worker.programs.nodes import Node
from vardy_worker.programs.syntax import (
    FUNCTIONS,
    NESTING_MAX,
    Tree,
    enclosing_function,
    is_async,
    is_generator,
    short_text,
)

if TYPE_CHECKING:
    from vardy_worker.programs.codes import Findings
    from vardy_worker.programs.scopes import Names

_ERRORS_MAX = 10
_LOOPS = frozenset({"for_statement", "for_in_statement", "while_statement", "do_statement"})
_UNLABELLED = frozenset(
    {"function_declaration", "generator_function_declaration", "lexical_declaration", "class_declaration"}
)
_CLOSERS = MappingProxyType({"{": "}", "${": "}", "(": ")", "[": "]"})
"""Each opening bracket with the one that closes it."""


def check_depth(tree: Tree, findings: Findings) -> bool:
    """Whether the program is too deeply nested to be looked at."""
    if tree.too_deep is None:
        return False
    message = f"The program is nested more than {NESTING_MAX} levels deep here."
    findings.add("program.syntax", tree.too_deep, message, "Write smaller functions, and build long values in a loop.")
    return True


def check_grammar(tree: Tree, findings: Findings) -> None:
    """What the grammar does not understand."""
    if tree.too_deep is not None:
        message = f"The program is nested more than {NESTING_MAX} levels deep here."
        findings.add(
            "program.syntax", tree.too_deep, message, "Write smaller functions, and build long values in a loop."
        )
        return
    outermost = [error for error in tree.errors if not any(above.kind == "ERROR" for above in error.ancestors())]
    bracket, left_open = _unmatched(tree)
    hint = _bracket_hint(bracket, findings)
    for error in outermost[:_ERRORS_MAX]:
        if error.missing:
            findings.add("program.syntax", error, f"{_missing_words(error)} is missing here.", hint or "Add it.")
        elif bracket is not None and left_open and error.start <= bracket.start:
            findings.add("program.syntax", _end_of(tree), "The program ends too early.", hint)
        else:
            place = _deepest(error)
            message = f"JavaScript does not allow `{short_text(place)}` here."
            findings.add("program.syntax", place, message, hint or "Something is wrong here or missing just before it.")


def _missing_words(error: Node) -> str:
    return f"`{error.kind}`" if not error.named else "A name or value"


def _deepest(error: Node) -> Node:
    """The innermost thing that broke the parse."""
    inner = [node for node in error.walk() if node is not error and node.kind == "ERROR"]
    return inner[0] if inner else error


def _end_of(tree: Tree) -> Node:
    """The last character of the program, as a place."""
    text = tree.source.rstrip()
    last = max(len(text) - 1, 0)
    column = last - (text.rfind("\n", 0, last) + 1)
    return Node(tree.source, "end", last, last + 1, row=text.count("\n"), column=column, named=False, missing=False)


def _unmatched(tree: Tree) -> tuple[Node | None, bool]:
    """The first bracket that has no partner; and whether the program ends before it is closed."""
    opened: list[Node] = []
    for node in tree.nodes:
        if node.children or node.named or node.missing:
            continue
        if node.kind in _CLOSERS:
            opened.append(node)
        elif node.kind in _CLOSERS.values():
            if not any(_CLOSERS[bracket.kind] == node.kind for bracket in reversed(opened)):
                return node, False
            if _CLOSERS[opened[-1].kind] != node.kind:
                return opened[-1], False
            opened.pop()
    return (opened[-1], True) if opened else (None, False)


def _bracket_hint(bracket: Node | None, findings: Findings) -> str:
    if bracket is None:
        return ""
    what = "is never closed" if bracket.kind in _CLOSERS else "closes nothing"
    return f"The `{bracket.kind}` in line {findings.line_of(bracket)} {what}."


def check_early_errors(names: Names, findings: Findings) -> None:
    """What JavaScript refuses when it loads a program, though the grammar lets it pass."""
    for clash in names.clashes:
        findings.add(
            "program.syntax",
            clash.again,
            f"`{clash.first.name}` is already declared in line {findings.line_of(clash.first.node)}.",
            "Give one of them another name.",
        )
    for node in names.tree.nodes:
        _check_node(node, findings)


def _check_node(node: Node, findings: Findings) -> None:
    kind = node.kind
    if kind == "await_expression" or (kind == "for_in_statement" and node.has_token("await")):
        _check_await(node, findings)
    elif kind == "yield_expression":
        function = enclosing_function(node)
        if function is None or not is_generator(function):
            findings.add("program.syntax", node, "`yield` stands outside of a generator.", "Use `function*`.")
    elif kind == "return_statement" and enclosing_function(node) is None:
        findings.add("program.syntax", node, "`return` stands outside of `run`.", "Move it into `run(params)`.")
    elif kind in {"break_statement", "continue_statement"}:
        _check_jump(node, findings)
    elif kind == "labeled_statement":
        _check_label(node, findings)
    elif kind.startswith("jsx_") and not (node.parent is not None and node.parent.kind.startswith("jsx_")):
        findings.add("program.syntax", node, "JSX is not JavaScript.", "Return plain values.")
    elif kind == "decorator":
        findings.add("program.syntax", node, "Decorators do not exist in programs.", "Call a helper function instead.")


def _check_await(node: Node, findings: Findings) -> None:
    function = enclosing_function(node)
    if function is None:
        findings.add(
            "program.syntax", node, "`await` stands outside of `run`.", "Move it into `async function run(params)`."
        )
    elif not is_async(function):
        name = function.get("name")
        which = f"`{name.text}`" if name is not None else f"the function in line {findings.line_of(function)}"
        findings.add("program.syntax", node, f"`await` is used, but {which} is not async.", "Put `async` before it.")


def _check_label(node: Node, findings: Findings) -> None:
    body, label = node.get("body"), node.get("label")
    if body is not None and label is not None and body.kind in _UNLABELLED:
        message = f"`{label.text}:` cannot stand before a declaration."
        findings.add("program.syntax", node, message, "Leave it out, or make it a comment.")


def _check_jump(node: Node, findings: Findings) -> None:
    label = node.get("label")
    is_break = node.kind == "break_statement"
    for ancestor in node.ancestors():
        if ancestor.kind in FUNCTIONS or ancestor.kind == "class_static_block":
            break
        if label is not None:
            if ancestor.kind == "labeled_statement" and (ancestor.get("label") or label).text == label.text:
                return
        elif ancestor.kind in _LOOPS or (is_break and ancestor.kind == "switch_statement"):
            return
    word = "break" if is_break else "continue"
    if label is not None:
        message, hint = f"There is no label `{label.text}`.", f"Put `{label.text}:` before the loop that is meant."
    else:
        message, hint = f"`{word}` stands outside of a loop.", "Use `return` to leave a function."
    findings.add("program.syntax", node, message, hint)
