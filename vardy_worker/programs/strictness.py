"""Which code is strict: in classes, and behind `"use strict"`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.programs.syntax import CLASSES, FUNCTIONS

if TYPE_CHECKING:
    from vardy_worker.programs.nodes import Node


def is_strict(node: Node) -> bool:
    """Whether the strict rules of the language hold for a node."""
    return any(
        above.kind in CLASSES
        or (above.kind in FUNCTIONS and directive(above) is not None)
        or (above.kind == "program" and _directive_in(above) is not None)
        for above in (node, *node.near())
    )


def directive(function: Node) -> Node | None:
    """The `"use strict"` at the start of a function's body."""
    body = function.get("body")
    return _directive_in(body) if body is not None and body.kind == "statement_block" else None


def _directive_in(body: Node) -> Node | None:
    for statement in body.named_children():
        text = statement.named_children()[0] if statement.kind == "expression_statement" else None
        if text is None or text.kind != "string":
            return None
        if text.text[1:-1] == "use strict":
            return statement
    return None
