"""The program as a whole: one `run`, nothing that happens outside of it, a value at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.programs.completion import can_complete
from vardy_worker.programs.nodes import Node
from vardy_worker.programs.scopes import BindingKind
from vardy_worker.programs.subject import Subject, function_binding
from vardy_worker.programs.syntax import FUNCTIONS, GENERATORS, bare, enclosing_function

if TYPE_CHECKING:
    from vardy_worker.programs.codes import Findings
_CONTRACT = "Define `async function run(params)` once, at the top of the program."


def check_run(subject: Subject, findings: Findings) -> None:
    """Exactly one usable `run`; Vardy alone calls it; all other calls are inside of functions."""
    runs = run_functions(subject)
    root = subject.tree.root
    if not runs:
        others = [name for name, b in subject.names.top.bindings.items() if b.function is not None]
        known = f" The program defines {', '.join(f'`{name}`' for name in others)}." if others else ""
        findings.add("program.no_run", root, f"There is no function `run`.{known}", _CONTRACT)
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
    if len([p for p in required if p.kind != "rest_pattern"]) > 1:
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
                "Return a small result on every path.",
                severity="warning",
            )


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
    callee = bare(value).get("function")
    binding = subject.names.binding(bare(callee)) if callee is not None else None
    return binding.function if binding is not None else None


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
