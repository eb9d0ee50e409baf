"""The program as a whole: one `run`, nothing that happens outside of it, a value at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.programs.completion import can_complete
from vardy_worker.programs.holders import hidden_run
from vardy_worker.programs.nodes import Node
from vardy_worker.programs.scopes import BindingKind, pattern_names
from vardy_worker.programs.subject import Subject, called_function, function_binding, is_free, method_call
from vardy_worker.programs.syntax import CLASSES, FUNCTIONS, GENERATORS, bare, enclosing_function

if TYPE_CHECKING:
    from vardy_worker.programs.codes import Findings
_CONTRACT = "Define `async function run(params)` once, at the top of the program."


def check_run(subject: Subject, findings: Findings) -> None:
    """Exactly one usable `run`; Vardy alone calls it; all other calls are inside of functions."""
    runs = run_functions(subject)
    if not runs:
        _report_no_run(subject, findings)
    for again in runs[1:]:
        findings.add(
            "program.several_runs", again, f"`run` is already defined in line {findings.line_of(runs[0])}.", _CONTRACT
        )
    for run in runs[:1]:
        _check_shape(subject, run, findings)
    for call in subject.calls:
        if enclosing_function(call.node) is None:
            findings.add(
                "program.top_level_call",
                call.node,
                f"`{call.name}` is called outside of `run`.",
                "Move the call into `run`.",
                details={"function": call.name},
            )
    _check_not_called(subject, findings)


def _report_no_run(subject: Subject, findings: Findings) -> None:
    """Says where `run` is when it only stands at the wrong place, else what is there instead."""
    bindings = subject.names.top.bindings
    named, hidden = bindings.get("run"), hidden_run(subject.tree)
    if named is not None and not named.hoisted and named.kind is not BindingKind.IMPORT:
        message = "The name `run` is declared, but the text does not show that it is a function."
        findings.add("program.no_run", named.node, message, _CONTRACT)
        return
    if hidden is not None:
        findings.add("program.no_run", hidden, f"`run` is {_place_of(hidden)}, where Vardy cannot call it.", _CONTRACT)
        return
    others = [name for name, binding in bindings.items() if binding.function is not None]
    known = f" The program defines {', '.join(f'`{name}`' for name in others)}." if others else ""
    findings.add("program.no_run", subject.tree.root, f"There is no function `run`.{known}", _CONTRACT)


def _place_of(run: Node) -> str:
    """In what a function called `run` stands, in words."""
    for above in run.ancestors():
        if above.kind in FUNCTIONS:
            return "defined inside of another function"
        if above.kind in CLASSES:
            return "a method of a class"
        if above.kind == "object":
            return "a property of an object"
        if above.kind == "statement_block" and (above.parent is None or above.parent.kind not in FUNCTIONS):
            return "defined inside of a block"
    return "not at the top"


def run_functions(subject: Subject) -> list[Node]:
    """The functions that the top of the program defines as `run`, in source order."""
    found = []
    for node in subject.tree.root.walk(lambda n: n.kind not in FUNCTIONS):
        if node.kind not in FUNCTIONS:
            continue
        binding = function_binding(subject.names, node)
        if binding is not None and binding.name == "run" and binding.scope is subject.names.top:
            found.append(node)
    return found


def _check_shape(subject: Subject, run: Node, findings: Findings) -> None:
    if run.kind in GENERATORS:
        findings.add("program.run_shape", run, "`run` is a generator and would not be executed.", _CONTRACT)
        return
    parameters = run.get("parameters")
    required = [p for p in parameters.named_children() if p.kind != "assignment_pattern"] if parameters else []
    given = [p for p in required if p.kind != "rest_pattern"]
    if any(_is_used(subject, parameter) for parameter in given[1:]):
        findings.add(
            "program.run_shape",
            required[1],
            "`run` gets one argument, `params`.",
            "Take values out of it: `run({ a, b })`.",
        )
    body = run.get("body")
    inner = _delegate(subject, run)
    for function in [run, *([inner] if inner is not None else [])]:
        body = function.get("body")
        if body is not None and body.kind == "statement_block" and can_complete(body):
            findings.add(
                "program.no_return",
                function.get("name") or function,
                "`run` can end without `return`; the output would be null.",
                _hint_for(subject, body),
                severity="warning",
            )


def _hint_for(subject: Subject, body: Node) -> str:
    """What to do about a path without `return`; what is only printed is the likeliest to be meant."""
    own = list(body.walk(lambda node: node.kind not in FUNCTIONS))
    returns = any(node.kind == "return_statement" and node.named_children() for node in own)
    prints = any(
        method is not None and is_free(subject.names, method[0], "console") for method in map(method_call, own)
    )
    if prints and not returns:
        return "What `console.log` prints is no output: `return` it instead."
    return "Return a small result on every path."


def _is_used(subject: Subject, parameter: Node) -> bool:
    """Whether anything looks at a parameter; one that nobody looks at may be left out."""
    bindings = (subject.names.declared(name) for name in pattern_names(parameter))
    return any(binding is not None and bool(binding.references) for binding in bindings)


def _delegate(subject: Subject, run: Node) -> Node | None:
    """The function that `run` does nothing but call, as extraction writes it."""
    body = run.get("body")
    statements = body.named_children() if body is not None else []
    if len(statements) != 1 or statements[0].kind != "return_statement":
        return None
    value = next(iter(statements[0].named_children()), None)
    while value is not None and value.kind == "await_expression":
        value = next(iter(value.named_children()), None)
    if value is None or bare(value).kind != "call_expression":
        return None
    return called_function(subject.names, bare(value))


def _check_not_called(subject: Subject, findings: Findings) -> None:
    run = subject.names.top.bindings.get("run")
    if run is None:
        return
    for reference in run.references:
        parent = reference.node.parent
        called = parent is not None and parent.kind == "call_expression" and reference.node.field == "function"
        if called and enclosing_function(reference.node) is None:
            findings.add(
                "program.run_called",
                reference.node,
                "The program calls `run` itself.",
                "Leave the call out; Vardy calls `run`.",
            )
    if run.kind is BindingKind.IMPORT:
        findings.add("program.no_run", run.node, "`run` is imported, not defined.", _CONTRACT)
