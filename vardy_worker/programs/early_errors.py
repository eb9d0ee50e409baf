"""Syntax errors: what the grammar does not understand, and what it lets pass but JavaScript refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.programs.syntax import FUNCTIONS, GENERATORS, Node, Tree, enclosing_function, is_async, short_text

if TYPE_CHECKING:
    from vardy_worker.programs.codes import Findings
    from vardy_worker.programs.scopes import Names

_ERRORS_MAX = 10
_LOOPS = frozenset({"for_statement", "for_in_statement", "while_statement", "do_statement"})
_CLOSERS = {"}": "{", ")": "(", "]": "["}


def check_grammar(tree: Tree, findings: Findings) -> None:
    """What the grammar does not understand."""
    outermost = [error for error in tree.errors if not any(above.kind == "ERROR" for above in error.ancestors())]
    for error in outermost[:_ERRORS_MAX]:
        if error.missing:
            findings.add("program.syntax", error, f"`{error.kind}` is missing here.", _unclosed(tree))
            continue
        place = _deepest(error)
        shown = short_text(place)
        message = f"JavaScript does not allow `{shown}` here." if shown else "The program ends too early."
        findings.add("program.syntax", place, message, _unclosed(tree))


def _deepest(error: Node) -> Node:
    """The token that broke the parse: the error inside of the error, or the last thing it swallowed."""
    inner = [node for node in error.walk() if node is not error and node.kind == "ERROR"]
    return inner[0] if inner else error


def _unclosed(tree: Tree) -> str:
    """A hint when brackets do not match, which is what a broken-off or mistyped program shows first."""
    opened: list[Node] = []
    for node in tree.root.walk(lambda n: n.kind not in {"string", "regex", "template_string"} or bool(n.children)):
        if node.children or node.named or node.missing:
            continue
        if node.kind in _CLOSERS.values() or node.kind == "${":
            opened.append(node)
        elif node.kind in _CLOSERS and opened:
            opened.pop()
        elif node.kind in _CLOSERS:
            return f"The `{node.kind}` in line {node.row + 1} closes nothing."
    if not opened:
        return ""
    return f"The `{opened[-1].kind}` in line {opened[-1].row + 1} is never closed."


def check_early_errors(names: Names, findings: Findings) -> None:
    """What JavaScript refuses when it loads a program, though the grammar lets it pass."""
    for clash in names.clashes:
        findings.add(
            "program.syntax",
            clash.again,
            f"`{clash.first.name}` is already declared in line {clash.first.node.row + 1}.",
            "Give one of them another name.",
        )
    for node in names.tree.root.walk():
        _check_node(node, findings)


def _check_node(node: Node, findings: Findings) -> None:
    kind = node.kind
    if kind == "await_expression" or (kind == "for_in_statement" and node.has_token("await")):
        _check_await(node, findings)
    elif kind == "yield_expression":
        function = enclosing_function(node)
        if function is None or not _is_generator(function):
            findings.add("program.syntax", node, "`yield` stands outside of a generator.", "Use `function*`.")
    elif kind == "return_statement" and enclosing_function(node) is None:
        findings.add("program.syntax", node, "`return` stands outside of `run`.", "Move it into `run(params)`.")
    elif kind in {"break_statement", "continue_statement"}:
        _check_jump(node, findings)
    elif kind.startswith("jsx_") and not (node.parent is not None and node.parent.kind.startswith("jsx_")):
        findings.add("program.syntax", node, "JSX is not JavaScript.", "Return plain values.")
    elif kind == "decorator":
        findings.add("program.syntax", node, "Decorators do not exist in programs.", "Call a helper function instead.")


def _is_generator(function: Node) -> bool:
    return function.kind in GENERATORS or (function.kind == "method_definition" and function.has_token("*"))


def _check_await(node: Node, findings: Findings) -> None:
    function = enclosing_function(node)
    if function is None:
        findings.add(
            "program.syntax", node, "`await` stands outside of `run`.", "Move it into `async function run(params)`."
        )
    elif not is_async(function):
        name = function.get("name")
        which = f"`{name.text}`" if name is not None else f"the function in line {function.row + 1}"
        findings.add("program.syntax", node, f"`await` is used, but {which} is not async.", "Put `async` before it.")


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
    message = f"There is no label `{label.text}`." if label is not None else f"`{word}` stands outside of a loop."
    findings.add("program.syntax", node, message, "")
