"""Makes a parsed program define exactly one `async function run(params)`.

The model's text stays where it is, line by line and column by column, as far as it can.
"""

from __future__ import annotations

from itertools import chain, count
from typing import TYPE_CHECKING

from vardy_worker.programs.bare_statements import printed_returns, wrap_statements
from vardy_worker.programs.entries import (
    Offers,
    is_definition,
    likely_entry,
    outside_functions,
    read_offers,
    top_functions,
)
from vardy_worker.programs.holders import block_with_run, hidden_run, holders_of, run_of
from vardy_worker.programs.nodes import Node
from vardy_worker.programs.scopes import Binding, BindingKind, Names, Use, analyse
from vardy_worker.programs.sheet import Edit, Sheet, blanked
from vardy_worker.programs.syntax import FUNCTIONS, GENERATORS, bare, is_async, parse_javascript, property_name

if TYPE_CHECKING:
    from collections.abc import Iterable

_HEAD = "async function run"


def shape(sheet: Sheet, exported: str | None = None) -> Sheet:
    """The program with its entry as `run`; unchanged where the text does not show which that is.

    `exported` is a name that an `export default` before its declaration gave.
    """
    names = analyse(parse_javascript(sheet.text))
    offers = read_offers(names)
    if offers.prefixes:
        blanks = [sheet.blank(start, end) for start, end in offers.prefixes]
        return shape(sheet.apply(blanks), offers.name)
    block = block_with_run(names)
    if block is not None:
        # What it declares is as good without the braces around it.
        return shape(sheet.apply([sheet.blank(block.start, block.start + 1), sheet.blank(block.end - 1, block.end)]))
    run = names.top.bindings.get("run")
    if run is not None:
        return _shape_run(sheet, names, run, offers)
    if offers.holder is not None:
        return _shape_unnamed(sheet.apply([*_blanks(sheet, offers.statements), *_named(sheet, names, *offers.holder)]))
    literal = offers.literal or _only_expression(names)
    if literal is not None:
        function, statement = literal
        cleaned = sheet.apply([*_blanks(sheet, offers.statements), *_as_declaration(sheet, statement, function)])
        return _finish(cleaned)
    name = offers.name or exported
    named = names.top.bindings.get(name) if name is not None else None
    if named is not None:
        blanks = _blanks(sheet, [*offers.statements, *_reports_of(named)])
        cleaned = sheet.apply([*blanks, *_missing_params(names, named.function)])
        return _finish(_delegate(cleaned, run_of(names, named) or named.name))
    return _shape_unnamed(sheet.apply(_blanks(sheet, offers.statements)))


def _blanks(sheet: Sheet, statements: Iterable[Node]) -> list[Edit]:
    places = {(node.start, node.end) for node in statements}
    return [sheet.blank(start, end) for start, end in places]


def _only_expression(names: Names) -> tuple[Node, Node] | None:
    """A function that is the whole program: `async (params) => {…}`."""
    statements = [node for node in names.tree.root.named_children() if node.kind != "empty_statement"]
    if len(statements) != 1 or statements[0].kind != "expression_statement":
        return None
    expression = bare(statements[0].named_children()[0])
    return (expression, statements[0]) if expression.kind in FUNCTIONS else None


def _shape_run(sheet: Sheet, names: Names, run: Binding, offers: Offers) -> Sheet:
    dropped = _statements_about(names, run, offers)
    if _goes_on(dropped, run):
        return wrap_statements(sheet, names)
    function = run.function
    statement = _top_statement(run.node)
    edits = [sheet.blank(node.start, node.end) for node in dropped]
    rest = [node for node in names.tree.root.named_children() if node not in dropped and node is not statement]
    whole = any(_must_move(node) for node in rest)
    if function is None or statement is None or whole or not _is_alone(statement):
        return _wrap_run(sheet.apply(edits))
    if function.kind in GENERATORS:
        return sheet.apply(edits)
    edits.extend(_missing_params(names, function))
    if function.kind == "function_declaration":
        if not is_async(function):
            edits.append(Edit(function.start, function.start, "async "))
        return sheet.apply(edits)
    return sheet.apply([*edits, *_as_declaration(sheet, statement, function)])


def _missing_params(names: Names, function: Node | None) -> list[Edit]:
    """An entry without parameters that uses `params` all the same gets it."""
    parameters = function.get("parameters") if function is not None else None
    if function is None or parameters is None or parameters.named_children():
        return []
    used = any(reference.name == "params" and reference.node.is_within(function) for reference in names.free)
    return [Edit(parameters.start + 1, parameters.end - 1, "params")] if used else []


def _goes_on(statements: list[Node], run: Binding) -> bool:
    """Whether the top of the program returns something made of what `run(params)` gave."""
    calls = [reference.node.parent for reference in run.references if reference.node.field == "function"]
    given = [call.get("arguments") for call in calls if call is not None]
    if not all(arguments is not None and arguments.text == "(params)" for arguments in given):
        return False
    return any(_is_more_than_a_call(node) for node in statements if node.kind == "return_statement")


def _is_more_than_a_call(statement: Node) -> bool:
    value = next(iter(statement.named_children()), None)
    while value is not None and value.kind == "await_expression":
        value = next(iter(value.named_children()), None)
    callee = value.get("function") if value is not None and value.kind == "call_expression" else None
    return value is not None and value.kind != "identifier" and (callee is None or callee.text != "run")


def _is_alone(statement: Node) -> bool:
    """Whether a statement declares one name only."""
    return statement.kind in FUNCTIONS or len(statement.named_children()) == 1


def _must_move(statement: Node) -> bool:
    """Whether a statement waits or returns at the top, which only a function can."""
    return any(
        node.kind in {"await_expression", "return_statement"}
        or (node.kind == "for_in_statement" and node.has_token("await"))
        for node in outside_functions(statement)
    )


def _wrap_run(sheet: Sheet) -> Sheet:
    opening = f"{_HEAD}(params) {{\n"
    closing = "\nreturn await run(params);\n}"
    return sheet.apply([Edit(0, 0, opening), Edit(len(sheet.text), len(sheet.text), closing)])


def _top_statement(node: Node) -> Node | None:
    current: Node | None = node
    while current is not None and current.parent is not None and current.parent.kind != "program":
        current = current.parent
    return current


def _statements_about(names: Names, run: Binding, offers: Offers) -> list[Node]:
    """The statements that only call or export `run`, and those that need what they declare."""
    dropped = list(offers.statements)
    if offers.literal is not None:
        dropped.append(offers.literal[1])
    home = _top_statement(run.node)
    gone = [run]
    while gone:
        binding = gone.pop()
        for reference in binding.references:
            statement = _top_statement(reference.node)
            if statement is None or statement is home or statement in dropped or reference.use is not Use.READ:
                continue
            if not _is_about(statement, home, names):
                continue
            dropped.append(statement)
            gone.extend(b for b in names.top.bindings.values() if _top_statement(b.node) is statement)
    return dropped


def _is_about(statement: Node, home: Node | None, names: Names) -> bool:
    """Whether a statement can go: it is no helper that `run` itself needs."""
    declared = [b for b in names.top.bindings.values() if _top_statement(b.node) is statement]
    used = (reference.node for b in declared for reference in b.references)
    return home is None or not any(node.is_within(home) for node in used)


def _as_declaration(sheet: Sheet, statement: Node, function: Node) -> list[Edit]:
    """A function expression in a statement as the declaration of `run`, every column kept where it fits."""
    parameters = function.get("parameters") or function.get("parameter")
    body = function.get("body")
    if parameters is None or body is None:
        return []
    generator = function.kind in GENERATORS or function.has_token("*")
    head = f"{_HEAD}*" if generator else _HEAD
    before = blanked(sheet.text[statement.start : parameters.start])
    last = before.rpartition("\n")[2]
    kept = before[: len(before) - min(len(last), len(head))]
    edits = [Edit(statement.start, parameters.start, kept + head)]
    if parameters.kind != "formal_parameters":
        edits.append(Edit(parameters.start, parameters.end, f"({parameters.text})"))
    edits.append(sheet.blank(parameters.end, body.start))
    if body.kind != "statement_block":
        edits.append(Edit(body.start, body.start, f"{{\nreturn (\n{' ' * body.column}"))
        edits.append(Edit(body.end, body.end, "\n);\n}\n"))
    edits.append(sheet.blank(body.end, statement.end))
    return edits


def _finish(sheet: Sheet) -> Sheet:
    """Shapes once more what has a `run` now: calls of it and awaits at the top."""
    names = analyse(parse_javascript(sheet.text))
    run = names.top.bindings.get("run")
    return _shape_run(sheet, names, run, Offers()) if run is not None else sheet


def _delegate(sheet: Sheet, name: str) -> Sheet:
    """Adds a `run` that hands its params to another function."""
    text = f"\n{_HEAD}(params) {{\nreturn await {name}(params);\n}}"
    return sheet.apply([Edit(len(sheet.text), len(sheet.text), text)])


def _named(sheet: Sheet, names: Names, value: Node, statement: Node) -> list[Edit]:
    """`export default {…}` as a constant, in the same columns where it fits."""
    used = {*names.top.bindings, *(reference.name for reference in names.references)}
    name = next(name for name in chain(["program"], (f"program{n}" for n in count(2))) if name not in used)
    head = f"const {name}="
    width = value.start - statement.start
    fits = "\n" not in sheet.text[statement.start : value.start] and len(head) <= width
    text = head.ljust(width) if fits else f"{head}\n{' ' * value.column}"
    return [Edit(statement.start, value.start, text), sheet.blank(value.end, statement.end)]


def _shape_unnamed(sheet: Sheet) -> Sheet:
    """A program without `run` or exports: the one function meant, or statements to wrap."""
    names = analyse(parse_javascript(sheet.text))
    statements = [s for s in names.tree.root.named_children() if not is_definition(names, s)]
    functions = top_functions(names)
    holders = holders_of(names)
    for name, path in holders.items() if len(holders) == 1 else ():
        reports = _reports_of(names.top.bindings[name])
        if all(any(s is report for report in reports) or not _acts([s]) for s in statements):
            return _finish(_delegate(sheet.apply(_blanks(sheet, reports)), path))
    entry = likely_entry(names)
    hidden = hidden_run(names.tree)
    inner = entry is not None and hidden is not None and hidden.is_within(entry.function or entry.node)
    if not _acts(statements) and (holders or hidden is not None) and not inner:
        return sheet
    if not functions or not statements:
        if entry is not None and not statements:
            return _finish(_delegate(sheet.apply(_missing_params(names, entry.function)), entry.name))
        classes = any(binding.kind is BindingKind.CLASS for binding in names.top.bindings.values())
        return sheet if functions or (classes and not statements) else wrap_statements(sheet, names)
    for function in functions:
        reports = _reports_of(function)
        if reports and all(any(s is report for report in reports) for s in statements):
            body = function.function.get("body") if function.function is not None else None
            printed = printed_returns(sheet, body, names) if body is not None else []
            edits = [*_blanks(sheet, reports), *printed, *_missing_params(names, function.function)]
            return _finish(_delegate(sheet.apply(edits), function.name))
    return wrap_statements(sheet, names)


def _acts(statements: Iterable[Node]) -> bool:
    """Whether statements call or wait for something when they run."""
    kinds = {"call_expression", "await_expression", "return_statement"}
    return any(node.kind in kinds for statement in statements for node in outside_functions(statement))


def _reports_of(binding: Binding) -> list[Node]:
    """The top statements that call a function, or its `run`, with nothing but `params` and look at the outcome."""
    found = []
    for reference in binding.references:
        statement = _top_statement(reference.node)
        call = _call_of(reference.node)
        if statement is not None and statement.kind == "expression_statement" and call is not None:
            arguments = call.get("arguments")
            given = [argument.text for argument in arguments.named_children()] if arguments is not None else []
            if given in ([], ["params"], ["{}"]) and not any(n.kind in FUNCTIONS for n in call.ancestors()):
                found.append(statement)
    return found


def _call_of(name: Node) -> Node | None:
    """The call in `f(…)`, `api.run(…)` and `new Program().run(…)` of a name."""
    node, above = name, name.parent
    if above is not None and above.kind == "new_expression" and node.field == "constructor":
        node, above = above, above.parent
        while above is not None and above.kind == "parenthesized_expression":
            node, above = above, above.parent
    if above is not None and above.kind == "member_expression" and property_name(above) == "run":
        node, above = above, above.parent
    plain = above is not None and above.kind == "call_expression" and node.field == "function"
    return above if plain else None
