"""Stretches of a text that may be its program, and how much they look like one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from vardy_worker.programs.entries import outside_functions, read_offers, top_functions
from vardy_worker.programs.holders import block_with_run, hidden_run, holders_of
from vardy_worker.programs.scopes import analyse
from vardy_worker.programs.syntax import FUNCTIONS, bare

if TYPE_CHECKING:
    from vardy_worker.programs.scopes import Names
    from vardy_worker.programs.sheet import Sheet
    from vardy_worker.programs.syntax import Tree

TIER_RUN = 4.0
TIER_ENTRY = 3.0
TIER_BROKEN_RUN = 2.5
TIER_SKELETON = 2.25
TIER_FUNCTIONS = 2.0
TIER_WAITING = 1.5
TIER_STATEMENTS = 1.0
TIER_BROKEN = 0.5
TIER_NONE = 0.0


class Place(Enum):
    """Where in a text a stretch stands, which says how much it is meant to be run."""

    WHOLE = auto()
    """The text is nothing else."""
    SCRIPT = auto()
    """A fence that says it holds JavaScript or TypeScript."""
    FENCE = auto()
    """Any other fence."""
    JSON = auto()
    """A text inside of JSON."""
    PROSE = auto()
    """Lines of their own, beside prose."""
    SPAN = auto()
    """A few words inside of a sentence."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stretch that may be the program. `tier` ranks how much it looks like one."""

    sheet: Sheet
    tier: float
    parsed: bool
    closed: bool
    place: Place


def _is_skeleton(names: Names) -> bool:
    """Whether `run` is declared with nothing in it, as in a description of what a program looks like."""
    run = names.top.bindings.get("run")
    body = run.function.get("body") if run is not None and run.function is not None else None
    return body is not None and body.kind == "statement_block" and not body.named_children()


def tier_of(tree: Tree) -> float:
    """How much a parsed text looks like a program: defines `run`, exports, has functions, calls."""
    names = analyse(tree)
    offers = read_offers(names)
    statements = tree.root.named_children()
    if "run" in names.top.bindings or offers.name == "run" or block_with_run(names) is not None:
        return TIER_SKELETON if _is_skeleton(names) else TIER_RUN
    single = statements[0].named_children() if len(statements) == 1 else []
    offered = offers.literal or offers.name or offers.holder or holders_of(names)
    if offered or (single and bare(single[0]).kind in FUNCTIONS):
        return TIER_ENTRY
    if top_functions(names):
        return TIER_FUNCTIONS
    if any(statement.kind == "class_declaration" for statement in statements) or hidden_run(tree) is not None:
        return TIER_FUNCTIONS
    nodes = [node for statement in statements for node in outside_functions(statement)]
    if any(node.kind == "await_expression" for node in nodes):
        return TIER_WAITING
    works = any(
        node.kind == "call_expression" or (node.kind == "return_statement" and node.named_children()) for node in nodes
    )
    return TIER_STATEMENTS if works else TIER_NONE
