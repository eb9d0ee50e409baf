"""Whether control can reach the end of a statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.programs.syntax import FUNCTIONS

if TYPE_CHECKING:
    from vardy_worker.programs.nodes import Node

_DEPTH_MAX = 80
"""Statements nested deeper count as completing: the answer is used for a warning only."""

_LEAVES = frozenset({"return_statement", "throw_statement", "break_statement", "continue_statement"})
_LOOPS = frozenset({"while_statement", "do_statement", "for_statement"})
_BREAKABLE = _LOOPS | {"for_in_statement", "switch_statement"}


def can_complete(statement: Node, depth: int = 0) -> bool:
    """Whether control can reach the end of a statement; true where the text does not show it.

    A `break` or `continue` does not: it ends an enclosing statement, which asks for its jumps.
    """
    if statement.kind in _LEAVES:
        return False
    judge = _JUDGES.get(statement.kind)
    return judge is None or depth > _DEPTH_MAX or judge(statement, depth + 1)


def _block_completes(block: Node, depth: int) -> bool:
    return all(can_complete(child, depth) for child in block.named_children())


def _if_completes(statement: Node, depth: int) -> bool:
    chain: Node | None = statement
    while chain is not None and chain.kind == "if_statement":
        consequence = chain.get("consequence")
        otherwise = chain.get("alternative")
        if consequence is None or otherwise is None or can_complete(consequence, depth):
            return True
        # `else if` goes on in this loop, so that a long chain is no deep nesting.
        chain = next(iter(otherwise.named_children()), None)
    return chain is None or can_complete(chain, depth)


def _label_completes(statement: Node, depth: int) -> bool:
    body = statement.get("body")
    return body is None or can_complete(body, depth) or _breaks(statement)


def _try_completes(statement: Node, depth: int) -> bool:
    body, handler, finalizer = statement.get("body"), statement.get("handler"), statement.get("finalizer")
    last = finalizer.get("body") if finalizer is not None else None
    if last is not None and not can_complete(last, depth):
        return False
    caught = handler.get("body") if handler is not None else None
    return any(part is not None and can_complete(part, depth) for part in (body, caught))


def _switch_completes(statement: Node, depth: int) -> bool:
    body = statement.get("body")
    cases = body.named_children() if body is not None else []
    if not any(case.kind == "switch_default" for case in cases) or _breaks(statement):
        return True
    return all(can_complete(child, depth) for child in cases[-1].named_children() if child.field == "body")


def _loop_completes(loop: Node, depth: int) -> bool:
    body = loop.get("body")
    if _breaks(loop):
        return True
    if loop.kind == "do_statement" and body is not None and not can_complete(body, depth):
        return any(node.kind == "continue_statement" for node in body.walk(lambda n: n.kind not in FUNCTIONS))
    return not _is_endless(loop)


def _is_endless(loop: Node) -> bool:
    condition = loop.get("condition")
    if condition is None or condition.kind == "empty_statement":
        return loop.kind == "for_statement"
    parts = [node for node in condition.walk() if node.named and not node.children]
    return len(parts) == 1 and not condition.text.startswith("!") and parts[0].text in {"true", "1"}


def _breaks(statement: Node) -> bool:
    """Whether a `break` inside a statement, with its label or without one, ends that statement."""
    labels = set()
    if statement.kind == "labeled_statement":
        label = statement.get("label")
        labels = {label.text} if label is not None else set()
    elif statement.parent is not None and statement.parent.kind == "labeled_statement":
        return _plain_break(statement) or _breaks(statement.parent)
    for node in statement.walk(lambda n: n.kind not in FUNCTIONS):
        target = node.get("label") if node.kind == "break_statement" else None
        if target is not None and target.text in labels:
            return True
    return _plain_break(statement)


def _plain_break(statement: Node) -> bool:
    for node in statement.walk(lambda n: n.kind not in FUNCTIONS):
        if node.kind == "break_statement" and node.get("label") is None:
            inner = next((above for above in node.ancestors() if above.kind in _BREAKABLE), None)
            if inner is statement:
                return True
    return False


_JUDGES = {
    "statement_block": _block_completes,
    "else_clause": _block_completes,
    "if_statement": _if_completes,
    "try_statement": _try_completes,
    "switch_statement": _switch_completes,
    "while_statement": _loop_completes,
    "do_statement": _loop_completes,
    "for_statement": _loop_completes,
    "labeled_statement": _label_completes,
}
