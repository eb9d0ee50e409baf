"""Programs told in several fences: helpers beside the one that has `run`, or one step after the other."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from vardy_worker.programs.candidates import (
    TIER_FUNCTIONS,
    TIER_NONE,
    TIER_RUN,
    TIER_STATEMENTS,
    TIER_WAITING,
    Candidate,
)
from vardy_worker.programs.entries import is_definition
from vardy_worker.programs.globals import ALLOWED_GLOBALS
from vardy_worker.programs.holders import hidden_run
from vardy_worker.programs.scopes import Names, analyse
from vardy_worker.programs.sheet import Sheet
from vardy_worker.programs.syntax import bare, is_javascript, parse_javascript, string_value

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from vardy_worker.programs.nodes import Node
    from vardy_worker.programs.sheet import Edit

_DEFINED = re.compile(r"^[ \t]{0,99}(?:export\s)?(?:async\s)?(?:function|const|let|var|class)\s+([\w$]+)", re.MULTILINE)
_GIVEN = ALLOWED_GLOBALS | {"params", "run"}


def steps_joined(found: Sequence[Candidate]) -> Candidate | None:
    """Statements told step by step, in several blocks, as one program; None when they are no steps.

    Each block must use a name that one before it declares, and none may declare one again.
    """
    steps = [candidate for candidate in found if candidate.parsed and TIER_NONE < candidate.tier <= TIER_WAITING]
    declared: set[str] = set()
    whole: Sheet | None = None
    for step in steps:
        names = _names(step)
        own = set(names.top.bindings)
        if whole is not None and (own & declared or not declared & _free(names)):
            return None
        declared |= own
        whole = step.sheet if whole is None else whole.join(step.sheet)
    if whole is None or len(steps) == 1:
        return None
    return Candidate(whole, TIER_WAITING, parsed=True, closed=steps[-1].closed, place=steps[-1].place)


def statements_with_helpers(found: Sequence[Candidate]) -> Candidate | None:
    """The block of statements that uses what other blocks declare; None when there is none.

    It must call something from outside itself, or use `params`: otherwise it only shows
    how a helper would be called.
    """
    declared = {name for other in found if other.parsed and other.tier == TIER_FUNCTIONS for name in _declared(other)}
    for candidate in reversed(found):
        if not candidate.parsed or not TIER_STATEMENTS <= candidate.tier <= TIER_WAITING:
            continue
        names = _names(candidate)
        free = _free(names)
        calls = {
            names.free_name(bare(callee))
            for node in names.tree.nodes
            if node.kind == "call_expression" and (callee := node.get("function")) is not None
        }
        works = "params" in free or bool(calls - declared - ALLOWED_GLOBALS - {None})
        if free & declared and works:
            return candidate
    return None


def with_helpers(chosen: Candidate, found: Sequence[Candidate], functions: Collection[str] = ()) -> Candidate:
    """The chosen block with the definitions it needs from other blocks; itself when it needs none.

    A block that has a `run` of its own is an illustration, and so is one that defines one of
    the registered `functions`. Of several that define a name the last one counts. The blocks
    stay in the order of the text.
    """
    own = _names(chosen)
    modules = _module_names(own)
    missing = (_free(own) | set(modules)) - _GIVEN - set(functions)
    declared = set(own.top.bindings) - set(modules)
    others = [
        other for other in found if other is not chosen and other.parsed and not _is_illustration(other, functions)
    ]
    taken: list[Candidate] = []
    while missing:
        name = missing.pop()
        home = next((other for other in reversed(others) if name in _declared(other)), None)
        if home is None or home in taken:
            continue
        names = _names(home)
        if set(names.top.bindings) & declared:
            continue
        taken.append(home)
        declared |= set(names.top.bindings)
        missing |= _free(names) - _GIVEN - declared - set(functions)
    if not taken:
        return chosen
    return _joined(chosen, [other for other in found if other is chosen or other in taken], modules, declared)


def defines_what_is_missing(lost: Candidate, chosen: Candidate) -> bool:
    """Whether a block that was cut off begins to define what the chosen one uses and does not have."""
    missing = _free(_names(chosen)) - _GIVEN if chosen.parsed else set()
    return not missing.isdisjoint(_DEFINED.findall(lost.sheet.text))


def _is_illustration(other: Candidate, functions: Collection[str]) -> bool:
    """Whether a block has a `run` of its own, or stands in for a registered function."""
    names = _names(other)
    return (
        other.tier == TIER_RUN or hidden_run(names.tree) is not None or bool(set(names.top.bindings) & set(functions))
    )


def _joined(chosen: Candidate, parts: list[Candidate], modules: dict[str, Node], declared: set[str]) -> Candidate:
    gone = {id(statement): statement for name, statement in modules.items() if name in declared}
    kept = [
        part.sheet.apply(part.sheet.blank(node.start, node.end) for node in gone.values())
        if part is chosen
        else _definitions(part)
        for part in parts
    ]
    whole = kept[0]
    for sheet in kept[1:]:
        whole = whole.join(sheet)
    if not is_javascript(whole.text) or analyse(parse_javascript(whole.text)).clashes:
        return chosen
    return replace(chosen, sheet=whole, parsed=True, closed=all(part.closed for part in parts))


def _names(candidate: Candidate) -> Names:
    return analyse(parse_javascript(candidate.sheet.text))


def _free(names: Names) -> set[str]:
    return {reference.name for reference in names.free}


def _declared(candidate: Candidate) -> set[str]:
    names = _names(candidate)
    return set(names.top.bindings) - set(_module_names(names))


def _module_names(names: Names) -> dict[str, Node]:
    """The names that a program takes from files beside it, each with the statement that does."""
    found: dict[str, Node] = {}
    for name, binding in names.top.bindings.items():
        statement = next(
            (n for n in binding.node.ancestors() if n.parent is not None and n.parent.kind == "program"), None
        )
        if statement is None:
            continue
        texts = [string_value(node) or "" for node in statement.walk() if node.kind == "string"]
        loads = statement.kind == "import_statement" or "require(" in statement.text
        if loads and len(texts) == 1 and texts[0].startswith("."):
            found[name] = statement
    return found


def _definitions(candidate: Candidate) -> Sheet:
    """A block without what it does besides defining: examples of calls, exports, imports of types."""
    sheet, names = candidate.sheet, _names(candidate)
    modules = {id(statement) for statement in _module_names(names).values()}
    edits: list[Edit] = []
    for statement in names.tree.root.named_children():
        declaration = statement.get("declaration")
        if statement.kind == "export_statement" and declaration is not None:
            edits.append(sheet.blank(statement.start, declaration.start))
        elif id(statement) in modules or not is_definition(names, statement):
            edits.append(sheet.blank(statement.start, statement.end))
    return sheet.apply(edits)
